// The difference between two texts, shown.
import { html, useMemo } from './html.js';
import { diffLines } from './diff.js';
import { t, tn } from './i18n.js';
import { clip, visible } from './text.js';

const CONTEXT = 2;
const MAX_LINES = 400;

/**
 * Lines that were added and removed, with some around them.
 * @param {{before: string, after: string}} props
 */
export function Difference({ before, after }) {
  const lines = useMemo(() => around(diffLines(before ?? '', after ?? '')), [before, after]);
  if (!lines.some((line) => line.type !== 'same')) return html`<p class="muted">${t('No difference')}</p>`;
  const signs = { added: ['+', t('added')], removed: ['−', t('removed')], same: [' ', ''] };
  return html`<ul class="diff">${lines.slice(0, MAX_LINES).map((line, n) => (line.type === 'gap'
    ? html`<li key=${n} class="is-gap">${tn(line.count, '{n} line is the same', '{n} lines are the same')}</li>`
    : html`<li key=${n} class=${`is-${line.type}`}>
      <span aria-hidden="true">${signs[line.type][0]}</span>${signs[line.type][1] && html`<span class="sr">${signs[line.type][1]}: </span>`}<bdi dir="auto">${visible(clip(line.text, 2000)) || '\u00a0'}</bdi></li>`))}
    ${lines.length > MAX_LINES && html`<li class="is-gap">${tn(lines.length - MAX_LINES, '{n} more line', '{n} more lines')}</li>`}</ul>`;
}

function around(lines) {
  const near = new Set();
  lines.forEach((line, n) => {
    if (line.type !== 'same') for (let k = n - CONTEXT; k <= n + CONTEXT; k += 1) near.add(k);
  });
  const shown = [];
  lines.forEach((line, n) => {
    if (near.has(n)) shown.push(line);
    else if (shown.at(-1)?.type === 'gap') shown.at(-1).count += 1;
    else shown.push({ type: 'gap', count: 1 });
  });
  return shown;
}
