// Tokens and money by model, session and day, and the budgets.
import { html, useMemo, useState } from '../../lib/html.js';
import { get } from '../../lib/api.js';
import { number, short, t, tn } from '../../lib/i18n.js';
import { hrefOf } from '../../lib/route.js';
import { Choice, Empty, Failure, Loaded, Meter, Others, Select, Time, useAsync } from '../../lib/ui.js';
import { clip, oneLine } from '../../lib/text.js';
import { Bars } from './plots.js';

const MAX_SERIES = 7;
const MAX_ROWS = 50;

/** A sum of money; its currency is one code, or none where nothing has a price. */
const money = (value, currency) => (value === null ? '–' : number(value, currency
  ? { style: 'currency', currency, maximumFractionDigits: value < 1 ? 4 : 2 } : { maximumFractionDigits: 4 }));

function add(sum, row) {
  sum.prompt += row.prompt ?? 0;
  sum.completion += row.completion ?? 0;
  sum.cached += row.cached ?? 0;
  sum.calls += row.calls ?? 0;
  if (row.money !== null && row.money !== undefined) sum.money = (sum.money ?? 0) + Number(row.money);
  else if (row.calls) sum.isPartial = true;
  return sum;
}

const zero = () => ({ prompt: 0, completion: 0, cached: 0, calls: 0, money: null, isPartial: false });

function sumBy(rows, key) {
  const sums = new Map();
  for (const row of rows) {
    const name = String(row[key] ?? '');
    sums.set(name, add(sums.get(name) ?? zero(), row));
  }
  return sums;
}

/** The rows of `/v1/usage`, in the names of this view. */
function rowsOf(value) {
  return (value.rows ?? []).map((row) => ({
    date: row.day, model: row.model, session_id: row.session, money: row.cost,
    prompt: row.prompt_tokens, completion: row.completion_tokens, cached: row.cached_tokens, calls: row.calls,
  }));
}

/** The budget of `/v1/usage` as a list. */
function budgetsOf(value) {
  const limit = value.budget?.tokens_per_day;
  return limit ? [{ name: t('all model calls today'), used: value.budget.used_today, limit, unit: 'tokens' }] : [];
}

export function Usage() {
  const [days, setDays] = useState('30');
  const from = useAsync((signal) => get(`/v1/usage?days=${days}`, { signal }), [days]);
  return html`<div class="view-body is-wide-column"><h2 class="sr">${t('Usage')}</h2>
    <${Loaded} from=${from} missing=${t('usage statistics')}>${(value) => html`<div aria-busy=${from.isBusy}>
      ${from.error && html`<${Failure} error=${from.error} retry=${from.reload} />`}
      <${Shown} value=${value} days=${days} onDays=${setDays} /></div>`}</${Loaded}></div>`;
}

function Shown({ value, days, onDays }) {
  const rows = useMemo(() => rowsOf(value), [value]);
  const currency = value.currency ?? null;
  const budgets = budgetsOf(value);
  const [what, setWhat] = useState('tokens');
  const [by, setBy] = useState('model');
  const all = useMemo(() => rows.reduce(add, zero()), [rows]);
  const whats = [['tokens', t('Tokens')], ['money', t('Money')], ['calls', t('Calls')]].filter(([key]) => key !== 'money' || all.money !== null);
  const bys = [['model', t('Model')], ['session_id', t('Session')], ['date', t('Day')]];
  const format = what === 'money' ? (n) => money(n, currency) : short;
  const plot = useMemo(() => plotOf(rows, what, by === 'date' ? 'model' : by), [rows, what, by]);
  return html`
    <div class="figures">
      <${Figure} name=${t('Tokens')} value=${short(all.prompt + all.completion)} note=${t('{n} cached', { n: short(all.cached) })} />
      <${Figure} name=${t('Money')} value=${money(all.money, currency)} note=${all.money !== null && all.isPartial ? t('some models have no price') : ''} />
      <${Figure} name=${t('Calls')} value=${number(all.calls)} />
    </div>
    ${budgets.length > 0 && html`<${Budgets} budgets=${budgets} />`}
    <section class="panel" aria-label=${t('By day')}>
      <header class="panel-head"><h2>${t('By day')}</h2>
        <${Choice} label=${t('What is shown')} value=${what} options=${whats} onChange=${setWhat} />
        <${Select} label=${t('Days')} hidden value=${days} options=${['7', '30', '90'].map((n) => [n, tn(Number(n), '{n} day', '{n} days')])} onChange=${onDays} /></header>
      ${rows.length ? html`<${Bars} ...${plot} format=${format} label=${t('{what} by day', { what: whats.find(([key]) => key === what)?.[1] })} />` : html`<${Empty} title=${t('Nothing was used')}>${t('Model calls in this period appear here.')}</${Empty}>`}
    </section>
    ${rows.length > 0 && html`<section class="panel" aria-label=${t('Sums')}>
      <header class="panel-head"><h2>${t('Sums')}</h2><${Choice} label=${t('Sums by')} value=${by} options=${bys} onChange=${setBy} /></header>
      <${Sums} rows=${rows} by=${by} currency=${currency} what=${what} /></section>`}`;
}

function Figure({ name, value, note }) {
  return html`<dl class="figure"><dt>${name}</dt><dd>${value}</dd>${note && html`<dd class="muted small">${note}</dd>`}</dl>`;
}

function Budgets({ budgets }) {
  const unit = (one, value) => (/token/i.test(one.unit ?? '') ? `${short(value)} ${t('tokens')}` : `${number(value, { maximumFractionDigits: 2 })} ${oneLine(one.unit ?? '', 12)}`);
  return html`<section class="panel" aria-label=${t('Budgets')}><header class="panel-head"><h2>${t('Budgets')}</h2></header>
    <ul class="budgets">${budgets.map((one, n) => html`<li key=${n}><span class="budget-name"><${Others}>${clip(one.name ?? '', 80)}</${Others}></span>
      <${Meter} value=${one.used} limit=${one.limit} label=${t('Budget {name}', { name: oneLine(one.name ?? '', 60) })} />
      <span class="muted small">${t('{used} of {limit}', { used: unit(one, one.used), limit: unit(one, one.limit) })}${one.until && html` · ${t('until')} <${Time} at=${one.until} full />`}</span></li>`)}</ul></section>`;
}

const valueOf = (sum, what) => (what === 'tokens' ? sum.prompt + sum.completion : what === 'money' ? sum.money ?? 0 : sum[what]);

function Sums({ rows, by, currency, what }) {
  const [max, setMax] = useState(MAX_ROWS);
  const sums = [...sumBy(rows, by)].sort(by === 'date' ? (a, b) => b[0].localeCompare(a[0]) : (a, b) => valueOf(b[1], what) - valueOf(a[1], what));
  const most = Math.max(1e-9, ...sums.map(([, sum]) => valueOf(sum, what)));
  const title = { model: t('Model'), session_id: t('Session'), date: t('Day') }[by];
  return html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t('Sums')}><table class="table"><thead><tr><th scope="col">${title}</th><th scope="col" class="is-share"><span class="sr">${t('Share')}</span></th>
      <th scope="col" class="is-number">${t('Input')}</th><th scope="col" class="is-number">${t('Cached')}</th><th scope="col" class="is-number">${t('Output')}</th><th scope="col" class="is-number">${t('Calls')}</th><th scope="col" class="is-number">${t('Money')}</th></tr></thead>
    <tbody>${sums.slice(0, max).map(([name, sum]) => html`<tr key=${name}><th scope="row">${by === 'session_id' && name ? html`<a href=${hrefOf('talk', name)}><${Others}>${clip(name, 60)}</${Others}></a>` : html`<${Others}>${clip(name || '–', 60)}</${Others}>`}</th>
      <td class="is-share"><${Meter} value=${valueOf(sum, what)} limit=${most} isShare label=${t('Share of {name}', { name: oneLine(name, 40) })} /></td>
      <td class="is-number">${number(sum.prompt)}</td><td class="is-number">${number(sum.cached)}</td><td class="is-number">${number(sum.completion)}</td><td class="is-number">${number(sum.calls)}</td>
      <td class="is-number">${money(sum.money, currency)}</td></tr>`)}</tbody></table>
    ${sums.length > max && html`<button type="button" class="show-all" onClick=${() => setMax(max + 200)}>${t('Show more ({n})', { n: sums.length - max })}</button>`}</div>`;
}

/** Days and the series of the names that used most. */
function plotOf(rows, what, by) {
  const names = [...sumBy(rows, by)].sort((a, b) => valueOf(b[1], what) - valueOf(a[1], what)).map(([name]) => name);
  const shown = names.slice(0, MAX_SERIES);
  const dates = [...new Set(rows.map((row) => row.date))].sort();
  const at = new Map(dates.map((date, n) => [date, n]));
  const others = names.length > shown.length ? 1 : 0;
  const values = Array.from({ length: shown.length + others }, () => new Array(dates.length).fill(0));
  for (const row of rows) {
    const n = shown.indexOf(String(row[by] ?? ''));
    values[n < 0 ? shown.length : n][at.get(row.date)] += valueOf(add(zero(), row), what);
  }
  const series = values.map((list, n) => ({ name: n < shown.length ? oneLine(shown[n] || '–', 40) : t('others'), values: list }));
  return { dates, series };
}
