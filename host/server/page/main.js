// The entry of the page: who is signed in decides between the sign-in and the views.
import { html, render, useCallback, useEffect, useState } from './lib/html.js';
import { get, on } from './lib/api.js';
import { language, setLanguage, t } from './lib/i18n.js';
import { applyTheme } from './lib/prefs.js';
import { replace, route } from './lib/route.js';
import { useSignal } from './lib/signal.js';
import { Notices, Shell, signOut } from './lib/shell.js';
import { SignIn, signInByCode } from './lib/signin.js';
import { Failure } from './lib/ui.js';
import { resume } from './views/talk/outbox.js';

const RETRY_MS = 4000;

function App() {
  const [state, setState] = useState({ step: 'loading', me: null, reason: '', error: null });
  const at = useSignal(route);
  const code = useSignal(language);
  const [isLink] = useState(() => route.value.view === 'login');

  const enter = useCallback((me) => {
    setState({ step: 'in', me, reason: '', error: null });
    if (route.value.view === 'login') replace('talk');
    resume();
  }, []);

  const check = useCallback(async () => {
    try {
      enter(await get('/v1/me', { quiet: true }));
    } catch (error) {
      if (error.status === 401) setState({ step: 'out', me: null, reason: '', error: null });
      // A server without accounts for pages: what it refuses is told where it is asked for.
      else if (error.isMissing) enter({});
      else setState({ step: 'failed', me: null, reason: '', error });
    }
  }, []);

  useEffect(() => {
    if (at.view !== 'login') return;
    const [given] = at.parts;
    // The code is used up: it leaves the address and the history at once.
    replace('talk');
    signInByCode(given ?? '').then(enter, (error) => {
      if (error.isOffline) setState({ step: 'failed', me: null, reason: '', error });
      else setState({ step: 'out', me: null, reason: t('This link was used or has expired. Run `bub-wasm open` for a new one.'), error: null });
    });
  }, [at.view]);

  useEffect(() => { if (!isLink) check(); }, []);
  useEffect(() => on('signed-out', () => {
    setState((last) => (last.step === 'in' ? { step: 'out', me: null, reason: t('The session of this browser has ended. Drafts are kept.'), error: null } : last));
  }), []);
  useEffect(() => {
    if (state.step !== 'failed') return undefined;
    const timer = setInterval(check, RETRY_MS);
    return () => clearInterval(timer);
  }, [state.step]);

  const leave = async () => {
    await signOut();
    setState({ step: 'out', me: null, reason: t('You are signed out.'), error: null });
  };

  return html`<div key=${code} class="root">
    ${state.step === 'in' && html`<${Shell} me=${state.me} onSignOut=${leave} />`}
    ${state.step === 'out' && html`<${SignIn} reason=${state.reason} onSignedIn=${enter} />`}
    ${state.step === 'failed' && html`<main class="sign-in"><h1 class="sr">Bub</h1><${Failure} error=${state.error} retry=${check} /></main>`}
    <${Notices} />
  </div>`;
}

applyTheme();
await setLanguage();
const app = document.getElementById('app');
app.replaceChildren();
render(html`<${App} />`, app);
