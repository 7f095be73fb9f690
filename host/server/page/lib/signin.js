// The sign-in: by the one-time code of a link, or by a token that is typed.
import { html, useEffect, useRef, useState } from './html.js';
import { post } from './api.js';
import { t } from './i18n.js';
import { Button, Icon, useAction } from './ui.js';

/** Signs in with what was given: a token, or else a code. Codes come in links, so few are typed. */
async function signIn(text) {
  try {
    return await post('/v1/login', { token: text }, { quiet: true });
  } catch (error) {
    if (error.status !== 401 && error.status !== 400) throw error;
    return post('/v1/login', { code: text }, { quiet: true });
  }
}

/** Signs in with the code of a link. */
export const signInByCode = (code) => post('/v1/login', { code }, { quiet: true });

/** @param {{reason: string, onSignedIn: (me: object) => void}} props */
export function SignIn({ reason, onSignedIn }) {
  const [text, setText] = useState('');
  const field = useRef(null);
  const action = useAction(async () => {
    try {
      onSignedIn(await signIn(text.trim()));
    } catch (error) {
      field.current?.focus();
      throw error;
    }
  });
  useEffect(() => { field.current?.focus(); }, []);
  const why = action.error && (action.error.status === 401 ? t('This code or token is unknown, used or expired.') : action.error.isOffline ? t('The server is unreachable') : action.error.message);
  return html`<main class="sign-in">
    <form class="sign-in-box" onSubmit=${(event) => { event.preventDefault(); if (text.trim()) action.start(); }}>
      <h1>Bub</h1>
      ${reason && html`<p class="sign-in-why" role="status">${reason}</p>`}
      <label class="field"><span>${t('One-time code or token')}</span>
        <input ref=${field} type="password" autocomplete="current-password" spellcheck=${false} value=${text} aria-invalid=${why ? 'true' : undefined}
          aria-describedby="sign-in-help" onInput=${(event) => setText(event.currentTarget.value)} /></label>
      ${why && html`<p class="form-error" role="alert" dir="auto"><${Icon} name="warn" /> ${why}</p>`}
      <${Button} type="submit" kind="primary" busy=${action.isBusy} disabled=${!text.trim()}>${t('Sign in')}</${Button}>
      <p id="sign-in-help" class="muted">${t('On the server\'s machine, this command prints a sign-in link:')} <code>bub-wasm open</code></p>
    </form>
  </main>`;
}
