// The list of sessions.
import { html, useEffect, useMemo, useRef, useState } from '../../lib/html.js';
import { archive, exportSession, loadSessions, rename, sessions, titleOf } from '../../lib/events.js';
import { useSignal } from '../../lib/signal.js';
import { approvals } from '../../lib/approvals.js';
import { notify } from '../../lib/notices.js';
import { short, t, tn } from '../../lib/i18n.js';
import { go, hrefOf } from '../../lib/route.js';
import { Busy, Button, Confirm, Dialog, Empty, Failure, Icon, Menu, Others, Time, useAction, useKeys } from '../../lib/ui.js';
import { unbegun } from '../../lib/prefs.js';
import { clip, oneLine, randomId } from '../../lib/text.js';

const FIRST = 120;

/**
 * An id for a session that does not exist yet.
 * @param {object} me
 * @returns {string}
 */
export function newSession(me) {
  const id = `${me?.session_prefix ?? ''}http:${Date.now().toString(36)}-${randomId(5)}`;
  unbegun.add(id);
  return id;
}

/**
 * The sessions, with a search and what can be done with each.
 * @param {{current?: string, me: object}} props
 */
export function SessionList({ current, me }) {
  const { list, error, isLoaded, hasMore } = useSignal(sessions);
  const waiting = useSignal(approvals).list;
  const [search, setSearch] = useState('');
  const [max, setMax] = useState(FIRST);
  const field = useRef(null);
  useEffect(() => { loadSessions(); }, []);
  useKeys({ '/': () => field.current?.focus(), n: () => go('talk', newSession(me)) }, [me]);

  const found = useMemo(() => {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (one) => `${one.name ?? ''} ${one.first_words ?? ''} ${one.session_id}`.toLowerCase();
    return words.length ? list.filter((one) => words.every((word) => text(one).includes(word))) : list;
  }, [list, search]);

  return html`<section class="sessions" aria-label=${t('Sessions')}>
    <div class="sessions-head">
      <label class="search"><span class="sr">${t('Search sessions')}</span><${Icon} name="search" />
        <input ref=${field} type="search" value=${search} placeholder=${t('Search sessions')} onInput=${(event) => { setSearch(event.currentTarget.value); setMax(FIRST); }} /></label>
      <${Button} icon="plus" label=${t('New session')} kind="primary" onClick=${() => go('talk', newSession(me))} />
    </div>
    ${error && !list.length && html`<${Failure} error=${error} retry=${loadSessions} what=${t('Sessions could not be loaded')} />`}
    ${!isLoaded && !error && html`<${Busy} rows=${6} />`}
    ${isLoaded && !list.length && html`<${Empty} title=${t('No sessions yet')}>${t('A session begins with its first message.')}</${Empty}>`}
    ${isLoaded && list.length > 0 && !found.length && html`<${Empty} title=${t('No matches')}>${t('No session has these words in its name, ID or first message.')}</${Empty}>`}
    <ul class="session-list">${found.slice(0, max).map((one) => html`<${Row} key=${one.session_id} session=${one} isCurrent=${one.session_id === current}
      asks=${waiting.filter((question) => question.session_id === one.session_id).length} />`)}</ul>
    ${found.length > max && html`<button type="button" class="show-all" onClick=${() => setMax(max + 500)}>${t('Show more ({n})', { n: found.length - max })}</button>`}
    ${hasMore && html`<p class="muted small pad">${t('Only the first {n} sessions by ID are listed.', { n: list.length })}</p>`}
  </section>`;
}

function Row({ session, isCurrent, asks }) {
  const id = session.session_id;
  const title = titleOf(session);
  return html`<li class=${`session ${isCurrent ? 'is-current' : ''}`}>
    <a href=${hrefOf('talk', id)} aria-current=${isCurrent ? 'page' : undefined}>
      <span class="session-title"><${Others}>${clip(oneLine(title, 120), 120)}</${Others}></span>
      <span class="session-sub">${session.running && html`<span class="running">${t('running')}</span>`}
        ${asks > 0 && html`<span class="asks">${tn(asks, '{n} question', '{n} questions')}</span>`}
        <${Time} at=${session.last_date} /><span>${tn(session.entries, '{n} entry', '{n} entries')}</span>
        ${session.tokens > 0 && html`<span>${t('{n} tokens', { n: short(session.tokens) })}</span>`}</span>
    </a>
    <${SessionMenu} session=${session} />
  </li>`;
}

/**
 * What can be done with a session as a whole.
 * @param {{session: object, label?: string}} props
 */
export function SessionMenu({ session, label }) {
  const [open, setOpen] = useState(null);
  const id = session.session_id;
  const name = oneLine(titleOf(session), 60);
  return html`<${Menu} label=${label ?? t('Actions for {name}', { name })} items=${[
      { label: t('Rename'), icon: 'edit', run: () => setOpen('rename') },
      { label: t('Show the tape'), icon: 'tape', run: () => go('tape', id) },
      { label: t('Save as Markdown'), icon: 'file', run: () => exportSession(id, 'markdown') },
      { label: t('Save as JSON lines'), icon: 'file', run: () => exportSession(id, 'jsonl') },
      { label: t('Archive'), icon: 'out', danger: true, run: () => setOpen('archive') },
    ]} />
    ${open === 'rename' && html`<${Rename} session=${session} onClose=${() => setOpen(null)} />`}
    ${open === 'archive' && html`<${Archive} session=${session} onClose=${() => setOpen(null)} />`}`;
}

function Rename({ session, onClose }) {
  const [name, setName] = useState(session.name ?? '');
  const action = useAction(async () => { await rename(session.session_id, name.trim()); onClose(); });
  return html`<${Dialog} title=${t('Rename the session')} onClose=${onClose} actions=${html`
      <${Button} onClick=${onClose}>${t('Cancel')}</${Button}>
        <${Button} kind="primary" busy=${action.isBusy} onClick=${() => action.start()}>${t('Rename')}</${Button}>`}>
    <form onSubmit=${(event) => { event.preventDefault(); action.start(); }}>
      <label class="field"><span>${t('Name')}</span>
        <input type="text" dir="auto" maxlength="120" value=${name} onInput=${(event) => setName(event.currentTarget.value)} /></label>
      <p class="muted">${t('Without a name the session is called by its first words.')}</p>
      ${action.error && html`<p class="form-error" role="alert" dir="auto">${action.error.message}</p>`}
    </form>
  </${Dialog}>`;
}

function Archive({ session, onClose }) {
  const action = useAction(async () => {
    const { archive: name } = await archive(session.session_id);
    notify(t('Archived as {name}', { name: oneLine(name ?? '', 80) }));
    onClose();
    go('talk');
  });
  return html`<${Confirm} title=${t('Archive the session?')} action=${t('Archive')} danger onClose=${onClose} onYes=${() => action.start()} busy=${action.isBusy} error=${action.error}>
    <p>${t('The tape moves to an archive beside the tapes, and the session leaves the list.')}</p>
    <p><${Others}>${clip(titleOf(session), 160)}</${Others}></p>
  </${Confirm}>`;
}
