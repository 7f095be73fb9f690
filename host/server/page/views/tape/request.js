// What the model sees next: the selection of one selector, and of another beside it.
import { html, useEffect, useState } from '../../lib/html.js';
import { get, path, query } from '../../lib/api.js';
import { contentOf } from '../../lib/entry.js';
import { duration, number, short, t, tn } from '../../lib/i18n.js';
import { Bar, Busy, Button, Failure, Missing, Others, Select, useAsync, useNarrow } from '../../lib/ui.js';
import { clip, visible } from '../../lib/text.js';

/**
 * The selection of a selector, with its ids as sets; `null` where none is asked for.
 * @param {string} session
 * @param {string|null} selector
 * @param {string} prompt
 * @param {number} version
 */
export function useSelection(session, selector, prompt, version) {
  return useAsync(async (signal) => {
    if (selector === null) return null;
    const found = await get(path`/v1/sessions/${session}/selection` + query({ selector, prompt }), { signal });
    return { ...found, entries: new Set(found.entries), leftOut: new Set(found.left_out), own: found.own ?? [] };
  }, [session, selector, prompt, version]);
}

/**
 * @param {{session: string, version: number, first: object, second: object, selectors: string[], active: string, chosen: string, other: string|null,
 *   onChoose: (name: string) => void, onOther: (name: string|null) => void, prompt: string, onPrompt: (text: string) => void}} props
 */
export function Request({ session, version, first, second, selectors, active, chosen, other, onChoose, onOther, prompt, onPrompt }) {
  const [isOpen, setOpen] = useState(false);
  const isNarrow = useNarrow();
  if (first.error?.isMissing) return html`<div class="request"><${Missing} what=${t('what the model sees')} /></div>`;
  const names = selectors.map((name) => [name, name === active ? t('{name} (active)', { name }) : name]);
  const a = first.value;
  const b = second.value;
  return html`<section class="request" aria-label=${t('The next request')}>
    <div class="request-head">
      <h2>${t('The next request')}</h2>
      ${selectors.length > 0 && (isOpen || !isNarrow) && html`<${Select} label=${t('Selector')} value=${chosen || active} options=${names} onChange=${onChoose} />
        <${Select} label=${t('beside')} value=${other ?? ''} options=${[['', t('none')], ...selectors.filter((name) => name !== (chosen || active)).map((name) => [name, name])]}
          onChange=${(name) => onOther(name || null)} />`}
      ${(isOpen || !isNarrow) && html`<${Prompt} value=${prompt} onChange=${onPrompt} />`}
      <${Button} kind="quiet" icon=${isOpen ? 'down' : 'right'} aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${t('Details')}</${Button}>
    </div>
    <${One} from=${first} isOpen=${isOpen} name=${chosen || active} />
    ${other && html`<${One} from=${second} isOpen=${isOpen} name=${other} />`}
    ${isOpen && html`<${Sources} session=${session} selector=${chosen || null} prompt=${prompt} version=${version} />`}
    ${a && html`<p class="request-legend">${b ? html`<span><b>●</b> ${t('in both requests')}</span><span><b>◐</b> ${t('only with the first selector')}</span>
      <span><b>◑</b> ${t('only with the second selector')}</span>`
      : html`<span><b>●</b> ${t('in the next request')}</span>`}<span><b>○</b> ${t('left out')}</span>${b && html`<${Difference} a=${a} b=${b} />`}</p>`}
  </section>`;
}

/** Who wrote what of the request, once it is asked for: the texts are many. */
function Sources(of) {
  const [found, setFound] = useState(null);
  return found ? html`<${found.Blame} ...${of} />`
    : html`<${Button} kind="quiet" onClick=${async () => setFound({ Blame: (await import('./blame.js')).default })}>${t('Who wrote what')}</${Button}>`;
}

function Prompt({ value, onChange }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => onChange(text.trim()), 600);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<label class="field is-inline request-prompt"><span class="sr">${t('The next message')}</span>
    <input type="text" dir="auto" placeholder=${t('if the next message is …')} value=${text} onInput=${(event) => setText(event.currentTarget.value)} /></label>`;
}

function partsOf({ tokens }) {
  const names = { system_prompt: t('system prompt'), before: t('before'), history: t('history'), current_input: t('message'), after: t('after'), tools: t('tools') };
  return Object.entries(names).map(([key, name]) => ({ name, value: tokens?.[key] ?? 0 }));
}

function One({ from, isOpen, name }) {
  const { value, error, isBusy, reload } = from;
  if (!value) return error ? html`<${Failure} error=${error} retry=${reload} what=${t('The selection failed')} />` : isBusy ? html`<${Busy} rows=${1} />` : null;
  return html`<div class="request-one" aria-busy=${isBusy}>
    <p class="request-sum"><${Others} class="request-name">${clip(name || value.selector, 60)}</${Others}> <b>${short(value.total)}</b> ${t('tokens')} · ${tn(value.messages, '{n} message', '{n} messages')} · ${tn(value.leftOut.size, '{n} left out', '{n} left out')}
      ${value.own.length > 0 && html` · ${tn(value.own.length, '{n} made by the selector', '{n} made by the selector')}`}
      ${value.micros !== null && value.micros !== undefined && html` · ${duration(value.micros / 1000)}`}
      ${value.window_cut && html` <span class="tag is-warn">${t('cut to the context window')}</span>`}
      ${value.fallback && html` <span class="tag is-danger" dir="auto">${t('fell back: {why}', { why: visible(clip(String(value.fallback), 200)) })}</span>`}</p>
    <${Bar} parts=${partsOf(value)} total=${value.total} label=${t('Tokens of the next request')} />
    ${isOpen && html`<div class="request-own">
      ${value.fuel ? html`<p class="muted small">${t('{n} fuel', { n: number(value.fuel) })}</p>` : null}
      <h3 class="label">${t('Made by the selector')}</h3>
      ${value.own.length === 0 ? html`<p class="muted">${t('Nothing: all messages are entries of the tape.')}</p>`
        : html`<ol>${value.own.slice(0, 50).map((message, n) => html`<li key=${n}><span class="tag">${visible(clip(message.role ?? '?', 20))}</span>
          <${Others}>${clip(contentOf(message.content).text, 800)}</${Others}></li>`)}</ol>`}</div>`}
  </div>`;
}

function Difference({ a, b }) {
  const onlyA = [...a.entries].filter((id) => !b.entries.has(id)).length;
  const onlyB = [...b.entries].filter((id) => !a.entries.has(id)).length;
  const tokens = b.total - a.total;
  return html`<span class="request-diff">${t('Difference: {gone} gone, {added} added, {tokens} tokens', { gone: number(onlyA), added: number(onlyB), tokens: `${tokens > 0 ? '+' : ''}${number(tokens)}` })}</span>`;
}
