// One session: its history, the turn that runs, and the field for the next message.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../lib/html.js';
import { path, post } from '../../lib/api.js';
import { approvals } from '../../lib/approvals.js';
import { fork, loadSessions, patch, sessions, titleOf } from '../../lib/events.js';
import { toItems } from '../../lib/entry.js';
import { announce, notify } from '../../lib/notices.js';
import { useSignal } from '../../lib/signal.js';
import { t } from '../../lib/i18n.js';
import { go, hasNavigated, hrefOf } from '../../lib/route.js';
import { Busy, Button, Dialog, Failure, Icon, Others, useAction } from '../../lib/ui.js';
import { clip, oneLine } from '../../lib/text.js';
import { Question } from '../decide/question.js';
import { Composer } from './composer.js';
import { fromTape, toMedia } from './attachments.js';
import { Item, Pending } from './messages.js';
import { Live, useLive } from './live.js';
import { drop, onFinished, outbox, send } from './outbox.js';
import { SessionMenu, newSession } from './sessions.js';
import { useHistory } from './history.js';

const NEAR_END = 80;
const STEER_MS = 300;

/**
 * A session.
 * @param {{session: string, me: object}} props
 */
export function Conversation({ session, me }) {
  const history = useHistory(session);
  const info = useSignal(sessions).list.find((one) => one.session_id === session) ?? { session_id: session };
  const pending = useSignal(outbox).filter((one) => one.session === session);
  const questions = useSignal(approvals).list.filter((one) => one.session_id === session);
  const [editing, setEditing] = useState(null);
  const composer = useRef(null);
  const scroll = useScroll(history);

  const refresh = history.refresh;
  const settle = useCallback(async (turn) => {
    // What cannot be read now stays as it was streamed.
    if (await refresh()) live.forget(turn);
  }, [refresh]);
  const live = useLive(session, settle);
  const isSending = pending.some((one) => one.state === 'sending');
  const isRunning = Boolean(live.turn && !live.turn.isDone) || (!live.turn && (Boolean(info.running) || isSending));

  // The answer to a message comes over the stream; its response says that the tape has it, also without a stream.
  useEffect(() => onFinished((message) => { if (message.session === session) refresh(); }), [session, refresh]);
  // What was missed while the connection was broken is on the tape.
  useEffect(() => {
    if (live.state !== 'open') return;
    const { turn } = live;
    refresh(false).then((isRead) => { if (isRead && turn?.isDone) live.forget(turn); });
  }, [live.state]);
  useEffect(() => { if (hasNavigated() && matchMedia('(pointer: fine)').matches) composer.current?.focus(); }, []);

  const items = useMemo(() => markLast(toItems(history.entries)), [history.entries]);
  // A message that the tape has is shown from there.
  const last = useRef(0);
  last.current = history.entries.at(-1)?.id ?? 0;
  const users = useMemo(() => items.filter((item) => item.type === 'user' || item.type === 'command').slice(-24), [items]);
  const unsaved = pending.filter((one) => !isOnTape(one, users));
  useEffect(() => {
    for (const one of pending) if (one.state === 'done' && !unsaved.includes(one)) drop(one.key);
  });

  const act = useMemo(() => ({
    edit: (item) => setEditing(item),
    again: (item) => sendInFork(session, item, item.text),
    regenerate: () => { const last = users.findLast((item) => item.type === 'user'); if (last) sendInFork(session, last, last.text); },
    tape: (item) => go('tape', session, item.id),
  }), [session, users]);

  const submit = useCallback((text, media) => {
    scroll.toEnd();
    send(session, text, media, last.current).then(() => loadSessions());
  }, [session]);

  const stop = useCallback(async () => {
    try {
      const { stopped } = await post(path`/v1/sessions/${session}/stop`, {});
      announce(stopped ? t('The turn is stopped') : t('No turn runs'));
      if (!stopped) patch(session, { running: false });
    } catch (error) {
      notify(error.message, 'error');
    }
  }, [session]);

  // What is sent while a turn runs stands below what the turn has said.
  const isSteering = (one) => Boolean(live.turn) && Date.parse(one.sent) > live.turn.began + STEER_MS;
  const shownPending = (one) => html`<${Pending} key=${one.key} message=${one} onRetry=${() => send(one.session, one.content, one.media, one.after, one.key)}
    onDrop=${() => { composer.current.set(one.content, one.media.map((file) => ({ ...file, size: Math.round(file.url.length * 0.75) }))); drop(one.key); }} />`;
  const canSend = !me?.scopes || me.scopes.includes('turns') || me.scopes.includes('admin');
  const isEmpty = !history.isBusy && !history.error && !items.length && !unsaved.length && !live.turn;
  return html`<section class="conversation" aria-label=${t('Conversation')} ...${dropTarget(composer)}>
    <header class="conversation-head">
      <a class="button quiet is-icon back" href=${hrefOf('talk')} aria-label=${t('All sessions')}><${Icon} name="back" /></a>
      <h2><${Others}>${clip(oneLine(titleOf(info), 120), 120)}</${Others}></h2>
      ${live.state === 'waiting' && html`<span class="muted small" role="status">${t('Reconnecting')}</span>`}
      <${SessionMenu} session=${info} label=${t('Actions for this session')} />
    </header>
    <div class="scroll" ref=${scroll.box} onScroll=${scroll.scrolled} tabindex="0" role="group" aria-label=${t('Messages')}>
      <div class="thread">
        ${history.hasOlder && html`<div class="older" ref=${scroll.top}><${Button} kind="quiet" onClick=${scroll.older}>${t('Load older messages')}</${Button}></div>`}
        ${history.isBusy && !items.length && html`<${Busy} rows=${5} />`}
        ${history.error && html`<${Failure} error=${history.error} retry=${() => history.reload()} what=${t('Messages could not be loaded')} />`}
        ${isEmpty && html`<${Welcome} me=${me} onPick=${(text) => composer.current.set(text)} />`}
        <${Items} items=${items} act=${act} />
        ${unsaved.filter((one) => !isSteering(one)).map(shownPending)}
        ${live.turn && html`<${Live} turn=${live.turn} version=${live.version} />`}
        ${unsaved.filter(isSteering).map(shownPending)}
        ${!live.turn && isRunning && html`<p class="working"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> ${t('A turn runs')}</p>`}
        ${questions.map((one) => html`<${Question} key=${one.id} question=${one} isHere />`)}
        <${Follow} scroll=${scroll} version=${`${live.version} ${items.length} ${unsaved.length} ${questions.length}`} />
      </div>
    </div>
    ${!scroll.isAtEnd && html`<${Button} icon="down" class="to-end" label=${t('To the newest message')} onClick=${scroll.toEnd} />`}
    <${Composer} key=${session} session=${session} isRunning=${isRunning} onSend=${submit} onStop=${stop} control=${composer}
      disabled=${canSend ? '' : t('This token can only read')} />
    ${editing && html`<${Edit} item=${editing} session=${session} onClose=${() => setEditing(null)} />`}
  </section>`;
}

// Entries of one block of messages. A browser lays out the blocks in sight only, so that thousands of messages cost a key
// that is typed nothing. Blocks follow from ids, so older and newer messages leave the others where they are.
const BLOCK = 128;

function Items({ items, act }) {
  // Rendered again only for other items, not for each piece of an answer.
  return useMemo(() => {
    const blocks = new Map();
    for (const item of items) {
      const key = Math.floor(item.id / BLOCK);
      if (!blocks.has(key)) blocks.set(key, []);
      blocks.get(key).push(html`<${Item} key=${item.key} item=${item} act=${act} />`);
    }
    return html`<div class="items">${[...blocks].map(([key, list]) => html`<div key=${key} class="block">${list}</div>`)}</div>`;
  }, [items, act]);
}

function markLast(items) {
  const last = items.findLastIndex((item) => item.type === 'assistant');
  if (last >= 0) items[last] = { ...items[last], isLast: true };
  return items;
}

function isOnTape(message, users) {
  const said = (item) => (item.type === 'command' ? `,${item.raw}` : item.text).trim();
  return message.state !== 'failed' && users.some((item) => item.id > (message.after ?? 0) && said(item).includes(message.content.trim()));
}

async function sendInFork(session, item, text, media = fromTape(item.media)) {
  try {
    const { session_id: id } = await fork(session, item.before);
    go('talk', id);
    send(id, text, toMedia(media)).then(() => loadSessions());
  } catch (error) {
    notify(error.isMissing ? t('This server does not offer {what}.', { what: t('forks') }) : error.message, 'error');
  }
}

function Edit({ item, session, onClose }) {
  const [text, setText] = useState(item.text);
  const action = useAction(async () => { await sendInFork(session, item, text); onClose(); });
  return html`<${Dialog} title=${t('Edit in a fork')} onClose=${onClose} class="is-wide" actions=${html`<${Button} onClick=${onClose}>${t('Cancel')}</${Button}>
      <${Button} kind="primary" busy=${action.isBusy} disabled=${!text.trim()} onClick=${() => action.start()}>${t('Send in the fork')}</${Button}>`}>
    <p class="muted">${t('A new session starts with everything before this message. This session does not change.')}</p>
    <label class="field"><span>${t('Message')}</span><textarea rows="8" dir="auto" value=${text} onInput=${(event) => setText(event.currentTarget.value)}></textarea></label>
  </${Dialog}>`;
}

function Welcome({ me, onPick }) {
  return html`<div class="welcome"><h3>${t('What should the agent do?')}</h3>
    <p class="muted">${me?.model ? html`<span dir="auto">${oneLine(me.model, 80)}</span>` : ''}${me?.workspace && html` · <bdi dir="auto">${oneLine(me.workspace, 120)}</bdi>`}</p>
    <div class="welcome-picks">${[',help', ',usage', ',memory.show'].map((text) => html`<button type="button" class="chip" key=${text} onClick=${() => onPick(text)}>
      <code>${text}</code></button>`)}</div></div>`;
}

function dropTarget(composer) {
  const has = (event) => event.dataTransfer?.types?.includes('Files');
  return {
    onDragOver: (event) => { if (has(event)) { event.preventDefault(); event.currentTarget.classList.add('is-drop'); } },
    onDragLeave: (event) => { if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.classList.remove('is-drop'); },
    onDrop: (event) => {
      event.currentTarget.classList.remove('is-drop');
      if (!has(event)) return;
      event.preventDefault();
      composer.current?.add([...event.dataTransfer.files]);
    },
  };
}

/** Scrolling: the end is followed while it is in sight, and older messages keep what is read where it is. */
function useScroll(history) {
  const box = useRef(null);
  const top = useRef(null);
  const follows = useRef(true);
  const held = useRef(null);
  const [isAtEnd, setAtEnd] = useState(true);

  const scrolled = useCallback(() => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
    setAtEnd(follows.current);
  }, []);
  const toEnd = useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    requestAnimationFrame(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; });
  }, []);
  const older = useCallback(async () => {
    const first = box.current?.querySelector('.items .msg');
    held.current = first && { first, y: first.getBoundingClientRect().top };
    await history.older();
  }, [history.older]);

  useLayoutEffect(() => {
    if (!held.current?.first.isConnected) return;
    box.current.scrollTop += held.current.first.getBoundingClientRect().top - held.current.y;
    held.current = null;
  }, [history.entries]);

  useEffect(() => {
    if (!top.current) return undefined;
    const observer = new IntersectionObserver(([seen]) => { if (seen.isIntersecting && !follows.current) older(); }, { root: box.current, rootMargin: '600px 0px 0px' });
    observer.observe(top.current);
    return () => observer.disconnect();
  }, [history.hasOlder, history.entries, older]);

  // Messages get their height when they come into sight; the end stays in sight meanwhile.
  useEffect(() => {
    const observer = new ResizeObserver(() => { if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight; });
    observer.observe(box.current.firstElementChild);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  return { box, top, follows, isAtEnd, scrolled, toEnd, older };
}

function Follow({ scroll, version }) {
  useLayoutEffect(() => {
    if (scroll.follows.current && scroll.box.current) scroll.box.current.scrollTop = scroll.box.current.scrollHeight;
  }, [version]);
  return null;
}

export { newSession };
