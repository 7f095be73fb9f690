// The tape: a timeline of entries, and which of them the model sees next.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { get, path, query } from '../lib/api.js';
import { exportSession, loadSessions, onEvent, sessions, titleOf } from '../lib/events.js';
import { useSignal } from '../lib/signal.js';
import { number, short, t, tn } from '../lib/i18n.js';
import { go, hrefOf, replace } from '../lib/route.js';
import { Busy, Empty, Failure, Heading, Icon, Loaded, Menu, Others, Time, VirtualList, useAsync, useKeys, useNarrow, useRem } from '../lib/ui.js';
import { clip, oneLine } from '../lib/text.js';
import { Fork, Handoff } from './tape/actions.js';
import { Detail } from './tape/detail.js';
import { Request, useSelection } from './tape/request.js';
import { Row, classOf, hueOf, itemOf, markOf } from './tape/row.js';
import { sourceOf } from './tape/source.js';

export default function Tape({ route, me }) {
  const [session, entry] = route.parts;
  return session ? html`<${Timeline} key=${session} session=${session} target=${Number(entry) || null} me=${me} />` : html`<${Sessions} />`;
}

function Sessions() {
  const { list, error, isLoaded } = useSignal(sessions);
  const [search, setSearch] = useState('');
  useEffect(() => { loadSessions(); }, []);
  const words = search.toLowerCase();
  const found = list.filter((one) => `${titleOf(one)} ${one.session_id}`.toLowerCase().includes(words)).slice(0, 300);
  return html`<div class="view"><${Heading}>${t('Tape')}</${Heading}><div class="view-body is-column">
    <label class="search"><span class="sr">${t('Search sessions')}</span><${Icon} name="search" />
      <input type="search" placeholder=${t('Search sessions')} value=${search} onInput=${(event) => setSearch(event.currentTarget.value)} /></label>
    ${error && html`<${Failure} error=${error} retry=${loadSessions} />`}${!isLoaded && !error && html`<${Busy} />`}
    ${isLoaded && !found.length && html`<${Empty} title=${t('No tapes')}>${t('Every session has a tape from its first message on.')}</${Empty}>`}
    <ul class="rows">${found.map((one) => html`<li key=${one.session_id}><a href=${hrefOf('tape', one.session_id)}>
      <${Others}>${clip(oneLine(titleOf(one), 120), 120)}</${Others}>
      <span class="muted">${tn(one.entries, '{n} entry', '{n} entries')} · <${Time} at=${one.last_date} /></span></a></li>`)}</ul>
  </div></div>`;
}

/** The outline of a tape; where the server has none, what its newest entries and anchors tell. */
async function outlineOf(session, signal) {
  try {
    return await get(path`/v1/sessions/${session}/outline`, { signal });
  } catch (error) {
    if (!error.isMissing) throw error;
    let entries;
    try {
      ({ entries } = await get(path`/v1/sessions/${session}/entries` + query({ max: 1 }), { signal }));
    } catch (failure) {
      if (failure.status !== 404) throw failure;
      return { entries: 0, first: 0, last: 0, kinds: {}, anchors: [] };
    }
    const { anchors } = await get(path`/v1/sessions/${session}/anchors` + query({ max: 256 }), { signal });
    const last = entries.at(-1)?.id ?? 0;
    return { entries: last, first: 1, last, kinds: {}, anchors: anchors.map((one) => ({ id: one.id, name: one.payload?.name ?? '', date: one.date })) };
  }
}

function Timeline({ session, target, me }) {
  const info = useSignal(sessions).list.find((one) => one.session_id === session) ?? { session_id: session };
  const [version, setVersion] = useState(0);
  const outline = useAsync((signal) => outlineOf(session, signal), [session, version]);
  const [kinds, setKinds] = useState([]);
  const [search, setSearch] = useState('');
  const [dialog, setDialog] = useState(null);
  const [chosen, setChosen] = useState('');
  const [other, setOther] = useState(null);
  const [prompt, setPrompt] = useState('');
  const first = useSelection(session, chosen, prompt, version);
  const second = useSelection(session, other, prompt, version);
  const field = useRef(null);
  const reload = useCallback(() => setVersion((n) => n + 1), []);

  useEffect(() => { if (!sessions.value.isLoaded) loadSessions(); }, []);
  useEffect(() => onEvent((name, data) => { if (name === 'turn-ends' && data.session_id === session) reload(); }), [session]);
  useKeys({ '/': () => field.current?.focus() }, []);

  const open = useCallback((id) => replace('tape', ...(id ? [session, id] : [session])), [session]);
  const mark = useCallback((id) => markOf(id, first.value, other ? second.value : null), [first.value, second.value, other]);

  const tools = html`<label class="search"><span class="sr">${t('Search the tape')}</span><${Icon} name="search" />
      <input ref=${field} type="search" dir="auto" placeholder=${t('Search the tape')} value=${search} onInput=${(event) => setSearch(event.currentTarget.value)} /></label>
    <a class="button" href=${hrefOf('talk', session)}><${Icon} name="talk" />${t('Talk')}</a>
    <${Menu} label=${t('Actions for this tape')} items=${[
      { label: t('Hand off'), icon: 'anchor', run: () => setDialog({ kind: 'handoff' }) },
      outline.value?.last && { label: t('Fork at the end'), icon: 'fork', run: () => setDialog({ kind: 'fork', id: outline.value.last }) },
      { label: t('Save as Markdown'), icon: 'file', run: () => exportSession(session, 'markdown') },
      { label: t('Save as JSON lines'), icon: 'file', run: () => exportSession(session, 'jsonl') },
      { label: t('All tapes'), icon: 'tape', run: () => go('tape') },
    ]} />`;
  return html`<div class="view tape"><${Heading} tools=${tools}><${Others}>${clip(oneLine(titleOf(info), 100), 100)}</${Others}></${Heading}>
    <${Loaded} from=${outline}>${(value) => html`
      <${Request} session=${session} version=${version} first=${first} second=${second} selectors=${me?.selectors ?? []} active=${me?.selector ?? ''} chosen=${chosen} other=${other}
        onChoose=${(name) => setChosen(name === me?.selector ? '' : name)} onOther=${setOther} prompt=${prompt} onPrompt=${setPrompt} />
      <${Kinds} outline=${value} kinds=${kinds} onChange=${setKinds} />
      ${value.last ? html`<${Entries} session=${session} outline=${value} kinds=${kinds} search=${search.trim()} target=${target} mark=${mark} open=${open}
          onFork=${(id) => setDialog({ kind: 'fork', id })} onLeaveSearch=${() => setSearch('')} />`
        : html`<${Empty} title=${t('The tape is empty')}>${t('The first message creates the first entries.')}</${Empty}>`}`}</${Loaded}>
    ${dialog?.kind === 'handoff' && html`<${Handoff} session=${session} onClose=${() => setDialog(null)} onDone=${reload} />`}
    ${dialog?.kind === 'fork' && html`<${Fork} session=${session} through=${dialog.id} onClose=${() => setDialog(null)} />`}
  </div>`;
}

function Kinds({ outline, kinds, onChange }) {
  const all = Object.entries(outline.kinds ?? {}).sort((a, b) => b[1] - a[1]);
  if (!all.length) return null;
  const toggle = (kind) => onChange(kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind]);
  return html`<div class="kinds" role="group" aria-label=${t('Kinds of entries')}>
    <button type="button" class="chip" aria-pressed=${kinds.length === 0} onClick=${() => onChange([])}>${t('all')} <span class="muted">${number(outline.entries)}</span></button>
    ${all.map(([kind, n]) => html`<button type="button" class="chip" key=${kind} aria-pressed=${kinds.includes(kind)} onClick=${() => toggle(kind)}>
      <i class=${`swatch hue-${hueOf(kind)}`}></i>${oneLine(kind, 24)} <span class="muted">${short(n)}</span></button>`)}</div>`;
}

// The section is marked once the list stands still.
const SETTLE_MS = 120;

function Entries({ session, outline, kinds, search, target, mark, open, onFork, onLeaveSearch }) {
  const isNarrow = useNarrow();
  const [, draw] = useState(0);
  const changed = useCallback(() => draw((n) => n + 1), []);
  const control = useRef(null);
  const [active, setActive] = useState(target);
  const [section, setSection] = useState(null);
  const shown = useRef(false);
  const settling = useRef(0);
  const height = useRem(isNarrow ? 2.85 : 2);

  const kindKey = kinds.join(',');
  // A filter keeps the place: the window opens around the active entry.
  const source = useMemo(() => sourceOf(session, outline, kinds, active, changed), [session, kindKey]);
  useEffect(() => { shown.current = false; return () => source.close(); }, [source]);
  useEffect(() => { source.grow(outline.last); }, [source, outline.last]);

  useLayoutEffect(() => {
    if (source.shifted && control.current) {
      control.current.box.scrollTop += source.shifted * height;
      source.shifted = 0;
    }
    if (!shown.current && source.count > 0 && control.current) {
      shown.current = true;
      const at = active ? source.indexOf(active) : -1;
      if (at >= 0) control.current.show(at, 'center'); else control.current.show(source.count - 1, 'end');
    }
  });

  const jump = useCallback((id) => {
    onLeaveSearch();
    setActive(id);
    requestAnimationFrame(() => {
      const at = source.indexOf(id);
      if (at >= 0) control.current?.show(at, 'start');
    });
  }, [source]);

  const range = useCallback((from, end) => {
    source.want(from, end);
    clearTimeout(settling.current);
    settling.current = setTimeout(() => setSection(sectionOf(outline.anchors, source.idAt(Math.min(end - 1, from + 4)) ?? 0)), SETTLE_MS);
  }, [source, outline.anchors]);
  useEffect(() => () => clearTimeout(settling.current), []);

  const anchors = outline.anchors ?? [];
  const step = (by) => {
    const at = anchors.findIndex((one) => one.id === section);
    const next = anchors[Math.max(0, Math.min(anchors.length - 1, (at < 0 ? anchors.length : at) + by))];
    if (next) jump(next.id);
  };
  useKeys({ '[': () => step(-1), ']': () => step(1), Escape: () => (target ? open(null) : false) }, [section, source, target]);

  const activeIndex = active === null ? -1 : source.indexOf(active);
  const select = (index, how) => {
    const id = source.idAt(index);
    setActive(id);
    if (how === 'click' || (target && !isNarrow)) open(id);
  };
  const item = (index) => itemOf(source.at(index), source.idAt(index), mark(source.idAt(index)));
  const isSearching = search.length > 1;
  return html`<div class=${`tape-body ${target ? 'has-detail' : ''} ${anchors.length ? 'has-anchors' : ''}`}>
    <${Anchors} anchors=${anchors} section=${section} jump=${jump} />
    <div class="entries">
      ${isNarrow && anchors.length > 0 && html`<label class="field is-inline anchor-select"><span>${t('Anchor')}</span>
        <select value=${section ?? ''} onChange=${(event) => jump(Number(event.currentTarget.value))}>
        ${anchors.map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === section}>${oneLine(one.name, 60)}</option>`)}</select></label>`}
      ${source.error && html`<${Failure} error=${source.error} retry=${() => { source.error = null; changed(); source.want(0, source.count); }} what=${t('Entries could not be loaded')} />`}
      ${isSearching ? html`<${Hits} session=${session} text=${search} kinds=${kinds} height=${height} mark=${mark} active=${target} open=${open} />`
        : source.count === 0 && !source.error ? (source.isLoaded ? html`<${Empty} title=${t('No entries of these kinds')} />` : html`<${Busy} rows=${8} />`)
          : html`<${VirtualList} class="timeline" label=${t('Entries')} count=${source.count} height=${height} control=${control} active=${activeIndex} onActive=${select}
              onOpen=${(index) => open(source.idAt(index))} onRange=${range} rowClass=${classOf} item=${item} row=${Row} />`}
    </div>
    ${target && html`<${Detail} session=${session} id=${target} known=${known(source, target)} mark=${mark(target)} onClose=${() => open(null)} onFork=${onFork}
      onShow=${isSearching ? () => jump(target) : null} />`}
  </div>`;
}

function Anchors({ anchors, section, jump }) {
  const box = useRef(null);
  useEffect(() => {
    if (!box.current?.matches(':hover, :focus-within')) box.current?.querySelector('.is-current')?.scrollIntoView({ block: 'nearest' });
  }, [section]);
  // Hundreds of buttons are not made again for each step of scrolling.
  return useMemo(() => (anchors.length ? html`<nav class="anchors" ref=${box} aria-label=${t('Anchors')}><h2 class="label">${t('Anchors')}</h2>
    <ol>${anchors.map((one) => html`<li key=${one.id}>
      <button type="button" class=${one.id === section ? 'is-current' : ''} aria-current=${one.id === section ? 'true' : undefined} onClick=${() => jump(one.id)}>
        <bdi dir="auto">${oneLine(one.name, 80)}</bdi><span class="muted">${number(one.id)}</span></button></li>`)}</ol>
          </nav>` : null), [anchors, section, jump]);
}

function known(source, id) {
  const index = source.indexOf(id);
  return index >= 0 && source.idAt(index) === id ? source.at(index) : undefined;
}

function sectionOf(anchors = [], id) {
  let [low, high] = [0, anchors.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (anchors[middle].id <= id) low = middle + 1; else high = middle;
  }
  return anchors[low - 1]?.id ?? null;
}

function Hits({ session, text, kinds, height, mark, active, open }) {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const from = useAsync((signal) => get(path`/v1/sessions/${session}/search` + query({ q: settled, kind: kinds.join(','), max: 200 }), { signal }), [session, settled, kinds.join(',')]);
  const [at, setAt] = useState(-1);
  return html`<${Loaded} from=${from} label=${t('Searching')}>${({ hits }) => (hits.length === 0
    ? html`<${Empty} title=${t('Nothing found')}>${t('Every word must match. Typing errors are tolerated where few entries match literally.')}</${Empty}>`
    : html`<p class="hits-count muted small" role="status" aria-busy=${from.isBusy}>${tn(hits.length, '{n} entry found, the best first', '{n} entries found, the best first')}</p>
      <${VirtualList} class="timeline" label=${t('Found entries')} count=${hits.length} height=${height} active=${active ? hits.findIndex((hit) => hit.entry.id === active) : at}
        onActive=${(index, how) => { setAt(index); if (how === 'click' || active) open(hits[index].entry.id); }} onOpen=${(index) => open(hits[index].entry.id)}
        rowClass=${classOf} item=${(index) => itemOf(hits[index]?.entry, hits[index]?.entry.id, mark(hits[index]?.entry.id))} row=${Row} />`)}</${Loaded}>`;
}
