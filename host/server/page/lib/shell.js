// The frame around the views: navigation, notices, the live region and the sheet of keys.
import { html, useCallback, useEffect, useErrorBoundary, useRef, useState } from './html.js';
import * as questions from './approvals.js';
import * as events from './events.js';
import { on, post } from './api.js';
import { LANGUAGES, language, setLanguage, t, tn } from './i18n.js';
import { dismiss, notices, spoken } from './notices.js';
import { hasKeys, setKeys, setTheme, theme } from './prefs.js';
import { go, hrefOf, route } from './route.js';
import { useSignal } from './signal.js';
import { Busy, Button, Choice, Dialog, Failure, Icon, Menu, useKeys } from './ui.js';
import { oneLine } from './text.js';

const VIEWS = {
  talk: () => import('../views/talk.js'),
  decide: () => import('../views/decide.js'),
  tape: () => import('../views/tape.js'),
  memory: () => import('../views/memory.js'),
  plugins: () => import('../views/plugins.js'),
  costs: () => import('../views/costs.js'),
};

const names = () => ({ talk: t('Talk'), decide: t('Decide'), tape: t('Tape'), memory: t('Memory'), plugins: t('Plugins'), costs: t('Costs') });

/** @param {{me: object, onSignOut: () => void}} props */
export function Shell({ me, onSignOut }) {
  const at = useSignal(route);
  const waiting = useSignal(questions.approvals).list.length;
  const [sheet, setSheet] = useState(false);
  const view = Object.hasOwn(VIEWS, at.view) ? at.view : 'talk';

  useEffect(() => questions.listen(), []);
  useEffect(() => events.listen(), []);
  useEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ''}${names()[view]} · Bub`;
  }, [view, waiting]);

  // A screen reader hears which view was opened.
  const before = useRef(view);
  const opened = useCallback((name) => {
    if (before.current === name) return;
    before.current = name;
    if (document.activeElement?.closest('main') === null) document.querySelector('main h1')?.focus({ preventScroll: true });
  }, []);

  const chord = useRef(0);
  useKeys({
    '?': () => setSheet(true),
    g: () => { chord.current = Date.now(); },
    ...Object.fromEntries(Object.entries({ t: 'talk', d: 'decide', l: 'tape', m: 'memory', p: 'plugins', c: 'costs' }).map(([key, name]) => [key, () => {
      if (Date.now() - chord.current > 1500) return false;
      chord.current = 0;
      go(name);
      return true;
    }])),
  }, []);

  return html`<div class="shell">
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById('main').focus(); }}>${t('Skip to content')}</a>
    <${Navigation} view=${view} waiting=${waiting} me=${me} onHelp=${() => setSheet(true)} onSignOut=${onSignOut} />
    <main id="main" tabindex="-1"><${Offline} /><${View} key=${view} name=${view} route=${at} me=${me} onOpened=${opened} /></main>
    ${sheet && html`<${Sheet} onClose=${() => setSheet(false)} />`}
  </div>`;
}

function Navigation({ view, waiting, me, onHelp, onSignOut }) {
  const now = useSignal(theme);
  const next = { auto: 'light', light: 'dark', dark: 'auto' };
  const themes = { auto: t('as the system'), light: t('light'), dark: t('dark') };
  const code = useSignal(language);
  return html`<nav class="nav" aria-label=${t('Views')}>
    <ul class="nav-views">${Object.entries(names()).map(([key, name]) => html`<li key=${key}>
      <a href=${hrefOf(key)} class=${key === view ? 'is-current' : ''} aria-current=${key === view ? 'page' : undefined}><${Icon} name=${key} />
        <span>${name}</span>
        ${key === 'decide' && waiting > 0 && html`<span class="badge" aria-hidden="true">${waiting > 99 ? '99+' : waiting}</span>
          <span class="sr">${tn(waiting, '{n} question', '{n} questions')}</span>`}</a></li>`)}</ul>
    <div class="nav-foot">
      ${me?.workspace && html`<p class="nav-where" title=${oneLine(me.workspace, 300)}>
        <bdi dir="auto">${oneLine(me.workspace.split('/').filter(Boolean).at(-1) ?? me.workspace, 60)}</bdi></p>`}
      ${me?.model && html`<p class="nav-where muted" title=${oneLine(me.model, 200)}><bdi dir="auto">${oneLine(me.model, 60)}</bdi></p>`}
      <${Menu} class="nav-more" label=${t('Settings')} icon="more" items=${[
        { label: t('Keys and help'), icon: 'help', run: onHelp },
        { label: t('Colours: {theme}', { theme: themes[now] }), icon: 'theme', run: () => setTheme(next[now]) },
        ...LANGUAGES.filter(([other]) => other !== code).map(([other, name]) => ({ label: name, icon: 'talk', run: () => setLanguage(other) })),
        { label: me?.name ? t('Sign out {name}', { name: oneLine(me.name, 40) }) : t('Sign out'), icon: 'out', run: onSignOut },
      ]} />
    </div>
  </nav>`;
}

const loaded = new Map();

function View({ name, route: at, me, onOpened }) {
  const [state, setState] = useState({ view: loaded.get(name), error: null, round: 0 });
  const [crash, forgive] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (state.view) return;
    VIEWS[name]().then(
      (module) => { loaded.set(name, module.default); setState({ view: module.default, error: null, round: 0 }); },
      (error) => setState((last) => ({ ...last, error })),
    );
  }, [name, state.round]);
  useEffect(() => { if (state.view) onOpened(name); }, [state.view]);
  if (crash) return html`<${Failure} error=${crash} what=${t('This view failed')} retry=${forgive} />`;
  if (state.error) return html`<${Failure} error=${state.error} retry=${() => setState((last) => ({ view: null, error: null, round: last.round + 1 }))} />`;
  return state.view ? html`<${state.view} route=${at} me=${me} />` : html`<${Busy} />`;
}

function Offline() {
  const [isDown, setDown] = useState(false);
  useEffect(() => on('connection', (isConnected) => setDown(!isConnected)), []);
  return isDown ? html`<p class="offline" role="status">
    <${Icon} name="warn" /> ${t('The server is unreachable. The page reconnects by itself; drafts are kept.')}</p>` : null;
}

/** Notices and the live region, also around the sign-in. */
export function Notices() {
  const text = useSignal(spoken);
  const list = useSignal(notices);
  return html`<div id="live" class="sr" role="status" aria-live="polite" aria-atomic="true">${text}</div>
    ${list.length > 0 && html`<section aria-label=${t('Notices')}>
      <ul class="notices">${list.map((one) => html`<li key=${one.id} class=${`notice is-${one.kind}`}>
      <span dir="auto">${one.text}</span>${one.action && html`<${Button} kind="quiet" onClick=${() => { dismiss(one.id); one.action.run(); }}>${one.action.label}</${Button}>`}
      <${Button} icon="close" kind="quiet" label=${t('Dismiss')} onClick=${() => dismiss(one.id)} /></li>`)}</ul></section>`}`;
}

function Sheet({ onClose }) {
  const isOn = useSignal(hasKeys);
  const now = useSignal(theme);
  const code = useSignal(language);
  const groups = [
    [t('Everywhere'), [['?', t('this sheet')], ['g t', t('Talk')], ['g d', t('Decide')], ['g l', t('Tape')], ['g m', t('Memory')], ['g p', t('Plugins')], ['g c', t('Costs')], ['/', t('search')], ['Esc', t('close or go back')]]],
    [t('Talk'), [['n', t('new session')], ['Enter', t('send or steer')], ['Shift+Enter', t('new line')], ['Esc', t('stop the turn, in the message field')], [',', t('starts a command; Tab completes it')]]],
    [t('Decide'), [['j k', t('next and previous question')], ['y', t('allow once')], ['a', t('allow for the session')], ['n', t('deny')], ['v', t('never in this session')]]],
    [t('Tape'), [['j k ↓ ↑', t('next and previous entry')], ['PgUp PgDn', t('a page')], ['Home End', t('first and last entry')], ['Enter', t('open the entry')], ['[ ]', t('previous and next anchor')]]],
  ];
  return html`<${Dialog} title=${t('Keys and help')} onClose=${onClose} class="is-wide sheet">
    <div class="sheet-groups">${groups.map(([name, keys]) => html`<section key=${name}><h3>${name}</h3><dl>${keys.map(([key, text]) => html`<div key=${key}>
      <dt>${key.split(' ').map((one) => html`<kbd key=${one}>${one}</kbd>`)}</dt><dd>${text}</dd></div>`)}</dl></section>`)}</div>
    <div class="sheet-settings">
      <label class="check"><input type="checkbox" checked=${isOn} onChange=${(event) => setKeys(event.currentTarget.checked)} /> ${t('Single keys are shortcuts')}</label>
      <${Choice} label=${t('Colours')} value=${now} options=${[['auto', t('as the system')], ['light', t('light')], ['dark', t('dark')]]} onChange=${setTheme} />
      <${Choice} label=${t('Language')} value=${code} options=${LANGUAGES} onChange=${setLanguage} />
    </div>
  </${Dialog}>`;
}

/** Ends the session on the server too; a server that does not answer does not keep the user in the page. */
export async function signOut() {
  try { await post('/v1/logout', {}, { quiet: true }); } catch { /* The sign-in is shown either way. */ }
}
