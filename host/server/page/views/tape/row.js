// One row of the timeline.
import { h } from '../../lib/html.js';
import { nameOf, summary } from '../../lib/entry.js';
import { language, t, when } from '../../lib/i18n.js';
import { lookUp, oneLine } from '../../lib/text.js';

const HUES = { message: 0, system: 7, tool_call: 1, tool_result: 5, anchor: 3, error: 4, event: 6 };

/**
 * The number of the colour of a kind.
 * @param {string} kind
 * @returns {number}
 */
export const hueOf = (kind) => lookUp(HUES, kind, 7);

const texts = new WeakMap();
const NO_TEXTS = { name: '', summary: '', date: '' };

// Texts are made once for each entry, because a row is rendered at each step of scrolling.
function textsOf(entry) {
  let found = texts.get(entry);
  if (!found || found.language !== language.value) {
    found = { language: language.value, name: oneLine(nameOf(entry), 60), summary: summary(entry), date: when(entry.date) };
    texts.set(entry, found);
  }
  return found;
}

const MARKS = {
  next: { sign: '●', name: 'both', get text() { return t('in the next request'); } },
  both: { sign: '●', name: 'both', get text() { return t('in both requests'); } },
  first: { sign: '◐', name: 'first', get text() { return t('only with the first selector'); } },
  second: { sign: '◑', name: 'second', get text() { return t('only with the second selector'); } },
  out: { sign: '○', name: 'out', get text() { return t('left out'); } },
};

/**
 * Whether an entry is in a selection, as a mark with its words; the same object for the same mark.
 * @param {number} id
 * @param {object|undefined} a the selection
 * @param {object|null} b the one beside it
 */
export function markOf(id, a, b) {
  const isInA = a?.entries.has(id);
  const isInB = b?.entries.has(id);
  if (!a) return null;
  if (b) {
    if (isInA && isInB) return MARKS.both;
    if (isInA) return MARKS.first;
    if (isInB) return MARKS.second;
    return a.leftOut.has(id) || b.leftOut.has(id) ? MARKS.out : null;
  }
  if (isInA) return MARKS.next;
  return a.leftOut.has(id) ? MARKS.out : null;
}

/**
 * What a row shows. `entry` is `undefined` while it is fetched and `null` where the tape has none.
 * @param {object|null|undefined} entry
 * @param {number} id
 * @param {object|null} mark
 */
export const itemOf = (entry, id, mark) => [entry, id, mark, language.value];

/** The class of a row. */
export const classOf = ([entry]) => (entry ? `is-${entry.kind}` : '');

/**
 * The content of a row.
 * @param {unknown[]} item
 * @param {() => boolean} isAffordable whether an entry that was not drawn yet may be drawn now
 */
export function Row([found, id, mark], isAffordable) {
  const entry = found && !texts.has(found) && !isAffordable() ? undefined : found;
  // All rows have the same elements, so that those that pass by and those that come to be known change texts alone.
  const { name, summary: text, date } = entry ? textsOf(entry) : NO_TEXTS;
  const isDamaged = entry && !entry.payload;
  const state = entry ? '' : entry === null ? 't-none' : 't-wait';
  return [
    h('span', { class: `t-mark is-${mark?.name ?? 'none'}`, title: mark?.text }, mark?.sign ?? '', mark && h('span', { class: 'sr' }, ` ${mark.text} `)),
    h('span', { class: 't-id' }, entry?.id ?? id ?? ''),
    h('span', { class: 't-kind' }, h('i', { class: entry ? `swatch hue-${hueOf(entry.kind)}` : '' }), entry ? oneLine(entry.kind, 24) : ''),
    h('span', { class: `t-text ${state}` },
      isDamaged && h('b', { class: 'is-error' }, t('damaged'), ' '),
      h('bdi', { class: 't-name', dir: 'auto' }, name ?? ''), ' ',
      h('bdi', { dir: 'auto' }, entry === null ? t('no entry with this ID') : text)),
    h('span', { class: 't-date' }, date),
  ];
}
