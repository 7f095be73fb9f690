// Controls and states that all views share.
import { html, useEffect, useRef, useState } from './html.js';
import { Icon } from './icons.js';
import { useVars } from './hooks.js';
import { moment, number, short, t, when } from './i18n.js';
import { clip, visible } from './text.js';
import { announce, notify } from './notices.js';

export { Icon } from './icons.js';
export { Dialog, Confirm, Menu } from './dialog.js';
export { VirtualList } from './list.js';
export * from './hooks.js';

/** A button. With `icon` and `label` it shows the icon only. */
export function Button({ icon, label, kind = '', children, busy, class: extra = '', ...rest }) {
  const isIcon = icon && !children;
  return html`<button type="button" class=${`button ${kind} ${isIcon ? 'is-icon' : ''} ${extra}`} aria-label=${label}
    title=${isIcon ? label : undefined} aria-busy=${busy ? 'true' : undefined} ...${rest} disabled=${rest.disabled || busy}>
    ${icon && html`<${Icon} name=${icon} />`}${children}</button>`;
}

/**
 * What stands where nothing is.
 * @param {{title: string, children?: unknown}} props
 */
export function Empty({ title, children }) {
  return html`<div class="state"><p class="state-title">${title}</p>${children && html`<div class="state-text">${children}</div>`}</div>`;
}

/**
 * A failed request, with a way to try again.
 * @param {{error: Error|null, retry?: () => void, what?: string}} props
 */
export function Failure({ error, retry, what }) {
  if (!error) return null;
  const isOffline = error.isOffline;
  const title = isOffline ? t('The server is unreachable') : what ?? t('This could not be loaded');
  return html`<div class="state is-failure" role="alert">
    <p class="state-title"><${Icon} name="warn" /> ${title}</p>
    <p class="state-text" dir="auto">${isOffline ? t('The page retries when the connection is back.') : visible(clip(error.message, 600))}</p>
    ${retry && html`<${Button} icon="again" onClick=${retry}>${t('Try again')}</${Button}>`}
  </div>`;
}

/** One line for a part that this server does not offer. */
export function Missing({ what }) {
  return html`<p class="missing">${t('This server does not offer {what}.', { what })}</p>`;
}

/** A placeholder while something is loaded. Short waits show nothing. */
export function Busy({ label, rows = 3 }) {
  return html`<div class="busy" role="status"><span class="sr">${label ?? t('Loading')}</span>
    ${Array.from({ length: rows }, () => html`<div class="busy-row"></div>`)}</div>`;
}

/** The states of a request around its value. */
export function Loaded({ from, missing, label, children }) {
  const { value, error, isBusy, reload } = from;
  if (value !== undefined) return children(value);
  if (error) return error.isMissing && missing ? html`<${Missing} what=${missing} />` : html`<${Failure} error=${error} retry=${reload} />`;
  return isBusy ? html`<${Busy} label=${label} />` : null;
}

function Part({ part, total, at }) {
  const ref = useVars({ '--share': `${(100 * part.value) / total}%` });
  return html`<span ref=${ref} class=${`bar-part hue-${at}`} title=${`${part.name}: ${number(part.value)}`}></span>`;
}

/**
 * A stacked bar with its legend. Parts are `{name, value}`.
 * @param {{parts: {name: string, value: number, hue?: number}[], total?: number, label: string, unit?: string}} props
 */
export function Bar({ parts, total, label, unit = '' }) {
  const sum = Math.max(total ?? 0, parts.reduce((all, part) => all + part.value, 0), 1);
  const hue = (part) => part.hue ?? parts.indexOf(part);
  const shown = parts.filter((part) => part.value > 0);
  const said = parts.map((part) => `${part.name} ${number(part.value)}`).join(', ');
  return html`<div class="bar-box">
    <div class="bar" role="img" aria-label=${`${label}: ${said}`}>
      ${shown.map((part) => html`<${Part} key=${part.name} part=${part} total=${sum} at=${hue(part)} />`)}
    </div>
    <ul class="legend" aria-hidden="true">${parts.map((part) => html`<li key=${part.name} class=${part.value ? '' : 'is-zero'}>
      <span class=${`swatch hue-${hue(part)}`}></span>${part.name} <b>${short(part.value)}${unit}</b></li>`)}</ul>
  </div>`;
}

/**
 * A share of a limit, which warns near it; with `isShare` a share of the whole.
 * @param {{value: number, limit: number, label: string, isShare?: boolean}} props
 */
export function Meter({ value, limit, label, isShare }) {
  const share = limit > 0 ? value / limit : 0;
  const percent = Math.round(Math.min(100, 100 * share));
  const ref = useVars({ '--share': `${Math.min(100, 100 * share)}%` });
  return html`<div class=${`meter ${isShare ? 'is-share' : share >= 1 ? 'is-over' : share > 0.8 ? 'is-near' : ''}`} role="meter" aria-label=${label}
    aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent}><span ref=${ref}></span></div>`;
}

/**
 * A date, with all of it as its title.
 * @param {{at: string, full?: boolean}} props
 */
export function Time({ at, full }) {
  if (!at) return null;
  return html`<time datetime=${at} title=${moment(at)}>${full ? moment(at) : when(at)}</time>`;
}

/**
 * A sequence of values that the user copies.
 * @param {string} text
 * @returns {Promise<void>}
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    notify(t('Copied'));
  } catch {
    notify(t('The browser does not allow copying'), 'error');
  }
}

const CLAMP = 6000;

/**
 * Preformatted text of others: long ones are cut until the reader asks for all of it.
 * @param {{text: string, label?: string, lang?: string, max?: number}} props
 */
export function Code({ text, label, lang, max = CLAMP, raw }) {
  const [isWhole, setWhole] = useState(false);
  const all = raw ? String(text) : visible(text);
  const shown = isWhole ? all : clip(all, max);
  return html`<div class="code">
    <div class="code-tools">${lang && html`<span class="code-lang">${visible(clip(lang, 24))}</span>`}
      <${Button} icon="copy" label=${t('Copy')} kind="quiet" onClick=${() => copy(String(text))} /></div>
    <pre tabindex="0" role="group" aria-label=${label ?? t('Code')} dir="auto"><code>${shown}</code></pre>
    ${all.length > max && html`<${ShowAll} isWhole=${isWhole} set=${setWhole} size=${all.length} />`}
  </div>`;
}

/** The button below a text that was cut. */
export function ShowAll({ isWhole, set, size }) {
  return html`<button type="button" class="show-all" aria-expanded=${isWhole} onClick=${() => set(!isWhole)}>
    ${isWhole ? t('Show less') : t('Show all ({n} characters)', { n: number(size) })}</button>`;
}

/** Text of others in one place: isolated, in its own direction. */
export function Others({ children, class: extra = '', as: Tag = 'bdi' }) {
  return html`<${Tag} class=${`others ${extra}`} dir="auto">${visible(children ?? '')}</${Tag}>`;
}

/**
 * Alternatives of which one is chosen. Options are `[value, name]`.
 * @param {{label: string, value: string, options: [string, string][], onChange: (value: string) => void, class?: string}} props
 */
export function Choice({ label, value, options, onChange, class: extra = '' }) {
  return html`<div class=${`choice ${extra}`} role="group" aria-label=${label}>
    ${options.map(([key, name]) => html`<button type="button" key=${key} aria-pressed=${key === value} onClick=${() => onChange(key)}>${name}</button>`)}
  </div>`;
}

/**
 * A labelled select.
 * @param {{label: string, value: string, options: [string, string][], onChange: (value: string) => void, hidden?: boolean}} props
 */
export function Select({ label, value, options, onChange, hidden }) {
  return html`<label class="field is-inline"><span class=${hidden ? 'sr' : ''}>${label}</span>
    <select value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
      ${options.map(([key, name]) => html`<option key=${key} value=${key} selected=${key === value}>${name}</option>`)}
    </select></label>`;
}

/** The heading of a view, which takes the focus when the view is opened. */
export function Heading({ children, tools }) {
  return html`<header class="view-head"><h1 tabindex="-1">${children}</h1>${tools && html`<div class="view-tools">${tools}</div>`}</header>`;
}

/**
 * Says a text to screen readers once it changes.
 * @param {string} text
 */
export function useAnnounce(text) {
  const last = useRef('');
  useEffect(() => {
    if (text && text !== last.current) announce(text);
    last.current = text;
  }, [text]);
}
