// What a plugin was called for, and where it comes from.
import { html } from '../../lib/html.js';
import { duration, number, short, t } from '../../lib/i18n.js';
import { Others } from '../../lib/ui.js';
import { clip, lookUp, oneLine } from '../../lib/text.js';

/**
 * The sums of a plugin's calls over its hooks.
 * @param {Record<string, {calls: number, faults: number, micros: number, fuel: number}>|undefined} stats
 */
export function sums(stats) {
  const all = Object.values(stats ?? {});
  const sum = (key) => all.reduce((so, one) => so + (one?.[key] ?? 0), 0);
  return { calls: sum('calls'), faults: sum('faults'), micros: sum('micros'), fuel: sum('fuel') };
}

/**
 * Where a plugin comes from, in words.
 * @param {string} source
 * @returns {string}
 */
export function sourceText(source) {
  return lookUp({ embedded: t('embedded'), user: t('yours'), workspace: t('of the workspace') }, source, oneLine(source ?? '', 30));
}

/** The calls of a plugin by hook. */
export function Stats({ stats }) {
  const rows = Object.entries(stats ?? {}).sort((a, b) => (b[1].calls ?? 0) - (a[1].calls ?? 0));
  if (!rows.length) return html`<p class="muted">${t('Not called since the server started')}</p>`;
  return html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t('Calls by hook')}><table class="table"><thead><tr><th scope="col">${t('Hook')}</th>
    <th scope="col" class="is-number">${t('Calls')}</th><th scope="col" class="is-number">${t('Time each')}</th>
    <th scope="col" class="is-number">${t('Fuel each')}</th><th scope="col" class="is-number">${t('Faults')}</th></tr></thead>
    <tbody>${rows.map(([hook, one]) => html`<tr key=${hook}><th scope="row"><${Others}>${clip(hook, 60)}</${Others}></th>
      <td class="is-number">${number(one.calls)}</td>
      <td class="is-number">${one.calls ? duration(one.micros / one.calls / 1000) : '–'}</td>
        <td class="is-number">${one.calls ? short(one.fuel / one.calls) : '–'}</td>
      <td class=${`is-number ${one.faults ? 'is-error' : ''}`}>${number(one.faults)}</td></tr>`)}</tbody></table></div>`;
}
