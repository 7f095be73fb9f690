// One entry: what it says, and its raw JSON.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { get, path, query } from '../../lib/api.js';
import { callOf, contentOf, nameOf, resultOf } from '../../lib/entry.js';
import { t } from '../../lib/i18n.js';
import { Button, Choice, Code, Loaded, Others, Time, useAsync } from '../../lib/ui.js';
import { clip, oneLine } from '../../lib/text.js';
import { Arguments } from '../talk/messages.js';
import { hueOf } from './row.js';

/** @param {{session: string, id: number, known: object|null|undefined, mark: object|null, onClose: () => void, onFork: (id: number) => void}} props */
export function Detail({ session, id, known, mark, onClose, onFork, onShow }) {
  const box = useRef(null);
  const [form, setForm] = useState('read');
  const from = useAsync(async (signal) => {
    if (known) return known;
    const { entries } = await get(path`/v1/sessions/${session}/entries` + query({ after: id - 1, max: 1 }), { signal });
    return entries[0]?.id === id ? entries[0] : null;
  }, [session, id, Boolean(known)]);
  useEffect(() => { box.current?.scrollTo(0, 0); }, [id]);
  return html`<aside class="detail" aria-label=${t('Entry {id}', { id })} ref=${box}
    onKeyDown=${(event) => { if (event.key === 'Escape') { event.stopPropagation(); onClose(); } }}>
    <header class="detail-head"><h2>${t('Entry {id}', { id })}</h2>
      <${Choice} label=${t('Form')} value=${form} options=${[['read', t('Text')], ['raw', 'JSON']]} onChange=${setForm} />
      <${Button} icon="close" kind="quiet" label=${t('Close the entry')} onClick=${onClose} /></header>
    <${Loaded} from=${from} label=${t('Loading the entry')}>${(entry) => (entry === null
      ? html`<p class="muted pad">${t('The tape has no entry with this ID. It may have been erased.')}</p>`
      : html`<div class="detail-body">
        <p class="detail-facts"><span class="t-kind"><i class=${`swatch hue-${hueOf(entry.kind)}`}></i>${oneLine(entry.kind, 40)}</span>
          ${nameOf(entry) && html`<${Others} class="t-name">${clip(nameOf(entry), 200)}</${Others}>`}
          <span class="muted"><${Time} at=${entry.date} full /></span></p>
        ${mark && html`<p class="small"><b>${mark.sign}</b> ${mark.text}</p>`}
        <div class="detail-tools"><${Button} icon="fork" onClick=${() => onFork(id)}>${t('Fork up to here')}</${Button}>
          ${onShow && html`<${Button} icon="tape" onClick=${onShow}>${t('In the timeline')}</${Button}>`}</div>
        ${form === 'raw' || !entry.payload ? html`<${Code} text=${entry.payload ? JSON.stringify(entry, null, 2) : entry.line} label=${t('Raw entry')} lang="json" max=${20000} />` : html`<${Content} entry=${entry} />`}
      </div>`)}</${Loaded}>
  </aside>`;
}

function Content({ entry }) {
  const { payload } = entry;
  switch (entry.kind) {
    case 'message': case 'system': {
      const { text, media } = contentOf(payload.content);
      return html`<${Code} text=${text} label=${t('Content')} />${media.length > 0 && html`<p class="muted small">${media.map((one) => oneLine(one.name || one.mime, 60)).join(', ')}</p>`}`;
    }
    case 'tool_call':
      return html`${(Array.isArray(payload.calls) ? payload.calls : []).map((call, n) => {
        const { name, args } = callOf(call);
        return html`<section key=${n}><h3 class="label"><${Others}>${clip(name, 80)}</${Others}></h3><${Arguments} text=${args} /></section>`;
      })}`;
    case 'tool_result':
      return html`${(Array.isArray(payload.results) ? payload.results : []).map((result, n) => {
        const { text, isError } = resultOf(result);
        return html`<section key=${n}><h3 class="label">${isError ? t('Error') : t('Result')} ${n + 1}</h3><${Code} text=${text} label=${t('Result')} /></section>`;
      })}`;
    case 'anchor':
      return payload.state ? html`<h3 class="label">${t('State')}</h3>
        <${Arguments} text=${JSON.stringify(payload.state)} />` : html`<p class="muted">${t('An anchor without a state')}</p>`;
    case 'event':
      return html`<h3 class="label">${t('Data')}</h3><${Arguments} text=${JSON.stringify(payload.data ?? {})} />`;
    default:
      return html`<${Arguments} text=${JSON.stringify(payload)} />`;
  }
}
