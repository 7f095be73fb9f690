// The messages of a conversation.
import { html, useMemo, useState } from '../../lib/html.js';
import { Markdown } from '../../lib/markdown.js';
import { Button, Code, Icon, Menu, Others, Time, copy } from '../../lib/ui.js';
import { bytes, duration, t, tn } from '../../lib/i18n.js';
import { route } from '../../lib/route.js';
import { clip, oneLine, pretty, visible } from '../../lib/text.js';
import { timeOf } from '../../lib/turns.js';

// A long text that the user pasted is not what the conversation is read for.
const USER_CLAMP = 3000;

/**
 * An item of a conversation; `act` has what its buttons do.
 * @param {{item: object, act: object}} props
 */
export function Item({ item, act }) {
  return useMemo(() => html`<${Shown} item=${item} act=${act} />`, [item, act]);
}

function Shown({ item, act }) {
  switch (item.type) {
    case 'user': return html`<${User} item=${item} act=${act} />`;
    case 'assistant': return html`<${Assistant} item=${item} act=${act} />`;
    case 'tools': return html`<div class="msg tools"><${Calls} calls=${item.calls} elapsed=${item.elapsed} /></div>`;
    case 'command': return html`<${Command} item=${item} />`;
    case 'anchor': return html`<div class="msg divider" role="separator" aria-label=${t('Anchor {name}', { name: oneLine(item.name, 60) })}>
      <span><${Icon} name="anchor" /> <${Others}>${clip(item.name, 80)}</${Others}></span></div>`;
    case 'error': return html`<div class="msg note is-error"><${Icon} name="warn" /><span dir="auto">${visible(clip(item.text, 2000))}</span></div>`;
    case 'damage': return html`<div class="msg note is-error"><${Icon} name="warn" />
      <span>${t('This entry is damaged:')} <code dir="auto">${visible(clip(item.text, 400))}</code></span></div>`;
    default: return html`<div class="msg note">${item.isTaint && html`<b>${t('Untrusted text was read')}</b>`}<span dir="auto">${visible(clip(item.text, 2000))}</span></div>`;
  }
}

function User({ item, act }) {
  const actions = act && [
    { label: t('Copy'), icon: 'copy', run: () => copy(item.text) },
    { label: t('Edit in a fork'), icon: 'edit', run: () => act.edit(item) },
    { label: t('Retry in a fork'), icon: 'again', run: () => act.again(item) },
    { label: t('Show on the tape'), icon: 'tape', run: () => act.tape(item) },
  ];
  return html`<article class="msg user" aria-label=${t('You')}>
    <div class="bubble">${item.text && html`<${Markdown} text=${item.text} max=${USER_CLAMP} />`}<${Media} media=${item.media} /></div>
    ${actions && html`<footer class="msg-foot"><${Menu} label=${t('Actions for this message')} items=${actions} /><${Time} at=${item.date} /></footer>`}
  </article>`;
}

function Assistant({ item, act }) {
  return html`<article class="msg assistant" aria-label=${t('Agent')}>
    <${Markdown} text=${item.text} /><${Media} media=${item.media ?? []} />
    ${act && html`<footer class="msg-foot"><${Time} at=${item.date} />
      <${Button} icon="copy" kind="quiet" label=${t('Copy the answer')} onClick=${() => copy(item.text)} />
      ${item.isLast && html`<${Button} icon="again" kind="quiet" label=${t('Regenerate in a fork')} onClick=${() => act.regenerate()} />`}</footer>`}
  </article>`;
}

function Command({ item }) {
  return html`<article class="msg command" aria-label=${t('Command')}>
    <div class="command-line"><code dir="auto">,${visible(clip(item.raw, 2000))}</code>
      <span class="muted">${item.elapsed !== undefined && duration(item.elapsed)}</span></div>
    ${item.text && html`<${Code} text=${item.text} label=${t('Output')} max=${2000} />`}
    ${item.isError && html`<p class="muted is-error"><${Icon} name="warn" /> ${t('The command failed.')}</p>`}
  </article>`;
}

/** A message of this page that is not on the tape yet. */
export function Pending({ message, onRetry, onDrop }) {
  const failed = message.state === 'failed';
  return html`<article class=${`msg user is-pending ${failed ? 'is-failed' : ''}`} aria-label=${t('You')}>
    <div class="bubble"><${Markdown} text=${message.content} max=${USER_CLAMP} />
      <${Media} media=${message.media.map((one) => ({ name: one.filename, mime: one.mime_type, url: one.url }))} /></div>
    <footer class="msg-foot">
      ${message.state === 'waiting' && html`<span class="muted">${t('Waiting for the connection to retry.')}</span>`}
      ${failed && html`<span class="is-error" role="alert" dir="auto"><${Icon} name="warn" /> ${visible(clip(message.error?.message ?? '', 300))}</span>
        <${Button} kind="quiet" icon="again" onClick=${onRetry}>${t('Send again')}</${Button}>
        <${Button} kind="quiet" icon="edit" onClick=${onDrop}>${t('Back to the draft')}</${Button}>`}
    </footer>
  </article>`;
}

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/;
const AUDIO = /^data:audio\//;

function Media({ media }) {
  if (!media?.length) return null;
  return html`<ul class="media">${media.map((one, n) => html`<li key=${n}><${Attachment} media=${one} /></li>`)}</ul>`;
}

function Attachment({ media: { name, mime, url } }) {
  const title = oneLine(name || mime || t('Attachment'), 80);
  if (IMAGE.test(url)) return html`<img src=${url} alt=${name ? title : t('An attached image')} loading="lazy" decoding="async" />`;
  const size = url.startsWith('data:') ? Math.round((url.length - url.indexOf(',')) * 0.75) : null;
  const isWeb = /^https:\/\//.test(url);
  return html`<span class="chip">${AUDIO.test(url) ? '' : ''}<${Icon} name="file" />
    ${isWeb ? html`<a href=${url} rel="noopener noreferrer nofollow" target="_blank"><bdi dir="auto">${title}</bdi></a>` : html`<bdi dir="auto">${title}</bdi>`}
    ${size !== null && html`<span class="muted">${bytes(size)}</span>`}</span>`;
}

/** Calls of tools, folded. */
export function Calls({ calls, elapsed }) {
  return html`${calls.map((call, n) => html`<${Call} key=${call.id ?? n} call=${call} />`)}
    ${elapsed !== undefined && html`<p class="muted small">${tn(calls.length, '{n} call', '{n} calls')} · ${t('{time} with the model', { time: duration(elapsed) })}</p>`}`;
}

/**
 * One call: its name and state, and what it was given and answered when it is unfolded.
 * @param {{call: object, isRunning?: boolean}} props
 */
export function Call({ call, isRunning }) {
  const [isOpen, setOpen] = useState(false);
  const isError = call.failed || call.result?.isError;
  const took = call.took ?? timeOf(call.id);
  const state = isRunning ? t('running') : isError ? t('failed') : call.result ? t('done') : t('no result');
  return html`<details class=${`call ${isError ? 'is-error' : ''} ${isRunning ? 'is-running' : ''}`} open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><${Icon} name=${isError ? 'warn' : 'tool'} /><${Others} class="call-name">${clip(call.name, 80)}</${Others}>
      <span class="call-args" dir="auto">${gist(call.args)}</span>
      <span class="call-state">${state}${took !== undefined && html` · ${duration(took)}`}</span></summary>
    ${isOpen && html`<div class="call-body"><h3 class="label">${t('Arguments')}</h3><${Arguments} text=${call.args} />
      ${call.result && html`<h3 class="label">${isError ? t('Error') : t('Result')}</h3><${Code} text=${call.result.text} label=${t('Result')} max=${3000} />`}
      ${call.failed && !call.result && html`<p class="is-error" dir="auto">${visible(clip(String(call.failed), 500))}</p>`}
      ${isError && call.id && html`<${Reasons} id=${call.id} entry=${call.entry} />`}</div>`}
  </details>`;
}

/** Why a call was denied, once it is asked for. */
function Reasons({ id, entry }) {
  const [found, setFound] = useState(null);
  const [session] = route.value.parts;
  if (!session) return null;
  return found ? html`<${found.Why} session=${session} id=${id} entry=${entry} />`
    : html`<${Button} kind="quiet" onClick=${async () => setFound({ Why: (await import('../../lib/why.js')).default })}>${t('Why?')}</${Button}>`;
}

function gist(text) {
  try {
    const values = Object.values(JSON.parse(text));
    return oneLine(values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(' · '), 120);
  } catch {
    return oneLine(text, 120);
  }
}

/**
 * Arguments of a call: each by its name where they are an object.
 * @param {{text: string}} props
 */
export function Arguments({ text }) {
  let given = null;
  try { given = JSON.parse(text); } catch { /* Shown as it is. */ }
  if (!given || typeof given !== 'object' || Array.isArray(given)) return html`<${Code} text=${pretty(text)} label=${t('Arguments')} max=${3000} />`;
  const entries = Object.entries(given);
  if (!entries.length) return html`<p class="muted">${t('No arguments')}</p>`;
  return html`<dl class="args">${entries.slice(0, 40).map(([name, value]) => html`<div key=${name}>
    <dt><${Others}>${clip(name, 80)}</${Others}></dt><dd><${Value} value=${value} /></dd></div>`)}
    ${entries.length > 40 && html`<div><dt></dt><dd><${Code} text=${pretty(text)} label=${t('All arguments')} max=${3000} /></dd></div>`}</dl>`;
}

function Value({ value }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  if (text.length > 100 || text.includes('\n')) return html`<${Code} text=${text} max=${3000} />`;
  return html`<code dir="auto">${visible(text)}</code>`;
}
