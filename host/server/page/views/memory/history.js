// The versions of a memory and what changed between them.
import { html, useState } from '../../lib/html.js';
import { number, t } from '../../lib/i18n.js';
import { Difference } from '../../lib/difference.js';
import { Loaded, Select, Time, useAsync } from '../../lib/ui.js';
import { clip, visible } from '../../lib/text.js';
import { content } from './sections.js';

const FIRST = 30;

/**
 * The versions, and the difference between two of them.
 * @param {{tape: string, all: {version: number, open: number, seal: number, date: string}[]}} props
 */
export function History({ tape, all }) {
  const [chosen, setChosen] = useState(0);
  const [against, setAgainst] = useState(null);
  const [max, setMax] = useState(FIRST);
  const at = Math.min(chosen, all.length - 1);
  const before = against ?? at + 1;
  const from = useAsync(async (signal) => {
    const [now, then] = await Promise.all([content(tape, all[at], signal), all[before] ? content(tape, all[before], signal) : { text: '', days: [] }]);
    return { now, then };
  }, [tape, all[at]?.seal, all[before]?.seal]);
  const others = all.map((one, n) => [String(n), t('version {n}', { n: number(one.version) })]).filter(([n]) => Number(n) !== at);
  return html`<div class="history">
    <ol class="history-list" aria-label=${t('Versions')}>${all.slice(0, max).map((one, n) => html`<li key=${one.seal}>
      <button type="button" aria-pressed=${n === at}
        onClick=${() => { setChosen(n); setAgainst(null); }}>
          <b>${t('version {n}', { n: number(one.version) })}</b>${n === 0 && html` <span class="tag is-ok">${t('now')}</span>`}<span class="muted small">
          <${Time} at=${one.date} full /></span></button></li>`)}
      ${all.length > max && html`<li>
        <button type="button" class="show-all" onClick=${() => setMax(max + 100)}>${t('Show more ({n})', { n: all.length - max })}</button></li>`}</ol>
    <div class="history-diff">
      <p class="history-head">${t('Changes of version {n}', { n: number(all[at].version) })}
        ${others.length > 0 && html`<${Select} label=${t('against')} value=${String(before)} options=${[...(all[before] ? [] : [[String(before), t('nothing')]]), ...others]} onChange=${(n) => setAgainst(Number(n))} />`}</p>
      <${Loaded} from=${from}>${({ now, then }) => html`<div aria-busy=${from.isBusy}>
        <h3 class="label">${t('Long-term memory')}</h3><${Difference} before=${then.text} after=${now.text} />
        ${daysOf(now, then).map(({ date, a, b }) => html`<section key=${date}><h3 class="label">${t('Notes of {date}', { date: visible(clip(date, 40)) })}</h3>
          <${Difference} before=${a} after=${b} /></section>`)}</div>`}</${Loaded}>
    </div>
  </div>`;
}

function daysOf(now, then) {
  const text = (version, date) => version.days.find((day) => day.date === date)?.text ?? '';
  const dates = [...new Set([...now.days, ...then.days].map((day) => day.date))].sort().reverse();
  return dates.map((date) => ({ date, a: text(then, date), b: text(now, date) })).filter(({ a, b }) => a !== b);
}
