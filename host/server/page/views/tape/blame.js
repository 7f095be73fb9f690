// Who wrote which part of the next request. Texts and names are strangers', and shown as text.
import { html, useState } from '../../lib/html.js';
import { get, path, query } from '../../lib/api.js';
import { number, t } from '../../lib/i18n.js';
import { hrefOf } from '../../lib/route.js';
import { Loaded, Others, useAsync } from '../../lib/ui.js';
import { clip, oneLine, visible } from '../../lib/text.js';

const MAX_TEXT = 4_000;
const MAX_SPANS = 400;

/** @param {{session: string, selector: string|null, prompt: string, version: number}} props */
export default function Blame({ session, selector, prompt, version }) {
  const [chosen, choose] = useState(null);
  const from = useAsync((signal) => get(path`/v1/sessions/${session}/blame` + query({ selector, prompt }), { signal }), [session, selector, prompt, version]);
  return html`<section class="blame" aria-label=${t('Who wrote what')}>
    <${Loaded} from=${from} missing=${t('who wrote what')} label=${t('Who wrote what')}>${(found) => html`
      <p class="blame-source" role="status">${chosen === null ? html`<span class="muted">${t('Choose a text to see its source.')}</span>` : html`<${Source} source=${found.sources[chosen]} session=${session} />`}</p>
      ${partsOf(found).map((part, n) => html`<${Part} key=${n} part=${part} chosen=${chosen} choose=${choose} />`)}`}</${Loaded}>
  </section>`;
}

/** The parts with the texts of their values, each with the number of its source. */
function partsOf({ body, spans, parts }) {
  const bytes = new TextEncoder().encode(body);
  const decoder = new TextDecoder();
  const shown = parts.map((part) => ({ ...part, texts: [], more: 0 }));
  for (const { start, end, source, part, path: place } of spans) {
    if (place === undefined || part === undefined || /\.role$/.test(place)) continue;
    const { texts } = shown[part];
    if (texts.length >= MAX_SPANS) { shown[part].more += 1; continue; }
    const raw = decoder.decode(bytes.subarray(start, Math.min(end, start + MAX_TEXT * 4)));
    texts.push({ source, place, text: clip(unquoted(raw), MAX_TEXT) });
  }
  return shown;
}

function unquoted(raw) {
  try { return JSON.parse(`"${raw}"`); } catch { return raw; }
}

function Part({ part: { kind, name, entry, texts, more }, chosen, choose }) {
  const title = kind === 'message' ? t('Message: {role}', { role: oneLine(name ?? '?', 40) }) : kind === 'tool' ? t('Tool {name}', { name: oneLine(name ?? '?', 80) }) : t('Settings');
  return html`<details class="blame-part" open=${kind === 'message'}><summary>${title}${entry !== undefined && html` · ${t('Entry {id}', { id: entry })}`}</summary>
    <p class="blame-text">${texts.map(({ source, place, text }, n) => html`<button key=${n} type="button" class=${`blame-span s${source % 6}`} dir="auto" aria-pressed=${chosen === source}
      title=${place} onMouseEnter=${() => choose(source)} onFocus=${() => choose(source)} onClick=${() => choose(source)}>${visible(text)}</button>`)}</p>
    ${more > 0 && html`<p class="muted">${t('{n} more', { n: number(more) })}</p>`}</details>`;
}

/** A source in words. */
function Source({ source, session }) {
  const { kind, plugin, digest, hook, name, entry, turn } = source;
  const of = (text) => html`<${Others}>${oneLine(text ?? '', 80)}</${Others}>`;
  switch (kind) {
    case 'plugin': return html`${t('Plugin')} ${of(plugin)} <code>${oneLine(digest ?? '', 8)}</code> ${of(hook)} ${name && of(name)}`;
    case 'entry': return html`<a href=${hrefOf('tape', session, entry)}>${t('Entry {id}', { id: entry })}</a> ${of(name)} ${plugin && of(plugin)} ${turn && of(turn)}`;
    case 'sender': return html`${t('The sender of the message')} ${of(name)}`;
    case 'model': return t('The model');
    case 'configuration': return t('The configuration');
    default: return t('The program itself');
  }
}
