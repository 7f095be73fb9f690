// Memory: what is remembered, by scope, with its versions.
import { html, useEffect, useState } from '../lib/html.js';
import { get, path } from '../lib/api.js';
import { loadSessions, onEvent, sessions, titleOf } from '../lib/events.js';
import { useSignal } from '../lib/signal.js';
import { number, t, tn } from '../lib/i18n.js';
import { Choice, Empty, Failure, Heading, Loaded, Missing, Others, Select, Time, useAsync } from '../lib/ui.js';
import { clip, oneLine, visible } from '../lib/text.js';
import { Add, Correct, Forget, Note } from './memory/changes.js';
import { History } from './memory/history.js';
import { content, sidecarOf, versions } from './memory/sections.js';

export default function Memory({ me }) {
  const [scope, setScope] = useState('workspace');
  const [session, setSession] = useState('');
  const { list, isLoaded } = useSignal(sessions);
  useEffect(() => { if (!sessions.value.isLoaded) loadSessions(); }, []);
  const chosen = session || list[0]?.session_id || '';
  const tools = html`<${Choice} label=${t('Scope')} value=${scope} options=${[['workspace', t('Workspace')], ['session', t('Session')]]} onChange=${setScope} />
    ${scope === 'session' && list.length > 0 && html`<${Select} label=${t('Session')} hidden value=${chosen} onChange=${setSession}
      options=${list.slice(0, 400).map((one) => [one.session_id, oneLine(titleOf(one), 50)])} />`}`;
  return html`<div class="view memory"><${Heading} tools=${tools}>${t('Memory')}</${Heading}>
    ${scope === 'workspace'
      ? me?.workspace_tape === undefined ? html`<div class="view-body is-column"><${Missing} what=${t('the memory of the workspace')} /></div>`
        : html`<${Scope} key="workspace" tape=${me.workspace_tape} me=${me} runIn=${`${me?.session_prefix ?? ''}http:page`} />`
      : !chosen ? html`<div class="view-body is-column">${isLoaded && html`<${Empty} title=${t('No sessions yet')} />`}</div>`
        : html`<${SessionScope} key=${chosen} session=${chosen} tape=${list.find((one) => one.session_id === chosen)?.tape} me=${me} />`}
  </div>`;
}

function SessionScope({ session, tape, me }) {
  const from = useAsync(async (signal) => {
    const name = tape ?? (await get(path`/v1/sessions/${session}`, { signal })).tape;
    return { sidecar: await sidecarOf(name, signal) };
  }, [session, tape]);
  return html`<${Loaded} from=${from} missing=${t('the memory of a session')}>${({ sidecar }) => html`
    <${Scope} key=${sidecar} tape=${sidecar} me=${me} runIn=${session} scope="session" onFirst=${from.reload} />`}</${Loaded}>`;
}

function Scope({ tape, me, runIn, scope, onFirst }) {
  const canWrite = !me?.principal || me.principal === 'owner';
  const from = useAsync(async (signal) => {
    if (!tape) return { all: [], now: null };
    let all = [];
    try { all = await versions(tape, signal); } catch (error) { if (error.status !== 404) throw error; }
    return { all, now: all[0] ? await content(tape, all[0], signal) : null };
  }, [tape]);
  const [forgetting, setForgetting] = useState(null);
  useEffect(() => onEvent((name) => { if (name === 'turn-ends') from.reload(); }), []);
  const changed = () => { from.reload(); if (!tape) onFirst?.(); };
  const place = { runIn, scope };
  return html`<div class="view-body is-wide-column"><${Loaded} from=${from}>${({ all, now }) => html`
    ${from.error && html`<${Failure} error=${from.error} retry=${from.reload} />`}
    <div class="memory-grid">
      <section class="panel" aria-label=${t('Long-term memory')}>
        <header class="panel-head"><h2>${t('Long-term memory')}</h2>${now && html`<span class="muted small">${t('version {n}', { n: number(all[0].version) })} · <${Time} at=${all[0].date} /></span>`}
          ${now?.isTainted && html`<span class="tag is-warn" title=${t('Text of other authors was in the turn that wrote this.')}>${t('from untrusted text')}</span>`}</header>
        ${now?.text ? html`<${Lines} text=${now.text} onForget=${canWrite ? setForgetting : null} />`
          : html`<${Empty} title=${t('Nothing is remembered')}>${t('The agent saves important facts; you can add some too.')}</${Empty}>`}
        ${canWrite && html`<${Add} place=${place} onDone=${changed} />`}
        ${canWrite && now?.text && html`<${Correct} place=${place} tape=${tape} version=${all[0]} text=${now.text} onDone=${changed} />`}
        ${!canWrite && html`<p class="missing">${t('Only the owner writes memory.')}</p>`}
      </section>
      <div class="memory-side">
        <section class="panel" aria-label=${t('Daily notes')}>
          <header class="panel-head"><h2>${t('Daily notes')}</h2>${now?.days.length > 0 && html`<span class="muted small">${tn(now.days.length, '{n} day', '{n} days')}</span>`}</header>
          ${now?.days.length ? now.days.map((day, n) => html`<${Day} key=${day.date} day=${day} isFirst=${n === 0} onForget=${canWrite ? setForgetting : null} />`) : html`<p class="muted pad">${t('No notes')}</p>`}
          ${canWrite && html`<${Note} place=${place} onDone=${changed} />`}
        </section>
        <section class="panel" aria-label=${t('Forget')}>
          <header class="panel-head"><h2>${t('Forget')}</h2></header>
          ${canWrite ? html`<${Forget} place=${place} asked=${forgetting} onDone=${() => { setForgetting(null); changed(); }} /> ` : html`<p class="missing">${t('Only the owner writes memory.')}</p>`}
        </section>
      </div>
      <section class="panel memory-history" aria-label=${t('Versions')}>
        <header class="panel-head"><h2>${t('Versions')}</h2>
          <span class="muted small">${tn(all.length, '{n} version on the tape', '{n} versions on the tape')}</span></header>
        ${all.length ? html`<${History} tape=${tape} all=${all} />` : html`<p class="muted pad">${t('The first save creates version 1.')}</p>`}
      </section>
    </div>`}</${Loaded}></div>`;
}

const MAX_LINES = 200;

function Lines({ text, onForget }) {
  const [isWhole, setWhole] = useState(false);
  const lines = text.split('\n').filter((line) => line.trim());
  return html`<ul class="memory-lines">${lines.slice(0, isWhole ? lines.length : MAX_LINES).map((line, n) => html`<li key=${n}>
      <${Others}>${clip(line, 2000)}</${Others}>
      ${onForget && html`<button type="button" class="button quiet" aria-label=${t('Forget: {line}', { line: oneLine(line, 60) })} onClick=${() => onForget({ text: line, at: Date.now() })}>${t('Forget')}</button>`}</li>`)}</ul>
    ${lines.length > MAX_LINES && html`<button type="button" class="show-all" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>${isWhole ? t('Show less') : tn(lines.length, 'Show all {n} lines', 'Show all {n} lines')}</button>`}`;
}

function Day({ day, isFirst, onForget }) {
  const body = day.text.replace(/^# .*\n+/, '');
  return html`<details class="day" open=${isFirst}><summary>
    <b>${visible(clip(day.date, 40))}</b>${day.isTainted && html` <span class="tag is-warn">${t('from untrusted text')}</span>`}</summary>
    <div class="day-text" dir="auto">${visible(clip(body, 6000))}</div>
    ${onForget && html`<button type="button" class="button quiet" aria-label=${t('Forget the notes of {date}', { date: visible(clip(day.date, 40)) })} onClick=${() => onForget({ text: day.date, at: Date.now() })}>${t('Forget')}</button>`}
  </details>`;
}
