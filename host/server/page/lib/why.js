// Why a tool call was made or denied. Texts are strangers', and shown as text.
import { html } from './html.js';
import { get, path, query } from './api.js';
import { t } from './i18n.js';
import { Loaded, useAsync } from './ui.js';
import { clip, visible } from './text.js';

/** @param {{session: string, id: string, entry?: number}} props */
export default function Why({ session, id, entry }) {
  const from = useAsync((signal) => get(path`/v1/sessions/${session}/decisions/${id}` + query({ call_entry: entry }), { signal }), [session, id, entry]);
  return html`<${Loaded} from=${from} missing=${t('the reasons of decisions')} label=${t('Why')}>${({ summary, facts, remedies }) => html`<div class="why">
    <p><b dir="auto">${visible(clip(summary, 300))}</b></p>
    <dl class="args">${facts.slice(0, 40).map(([what, said], n) => html`<div key=${n}><dt>${visible(clip(what, 40))}</dt><dd dir="auto">${visible(clip(said, 800))}</dd></div>`)}
      ${remedies.slice(0, 10).map((one, n) => html`<div key=${`r${n}`}><dt>${t('to change it')}</dt><dd dir="auto">${visible(clip(one, 400))}</dd></div>`)}</dl></div>`}</${Loaded}>`;
}
