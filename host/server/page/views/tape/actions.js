// Handoff and fork.
import { html, useState } from '../../lib/html.js';
import { path, post } from '../../lib/api.js';
import { fork, loadSessions } from '../../lib/events.js';
import { notify } from '../../lib/notices.js';
import { t } from '../../lib/i18n.js';
import { go } from '../../lib/route.js';
import { Button, Confirm, Dialog, useAction } from '../../lib/ui.js';

/**
 * Begins a phase of a session.
 * @param {{session: string, onClose: () => void, onDone: () => void}} props
 */
export function Handoff({ session, onClose, onDone }) {
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const action = useAction(async () => {
    const { anchor } = await post(path`/v1/sessions/${session}/handoff`, { name: name.trim(), summary: text.trim() });
    notify(t('The anchor is entry {id}', { id: anchor }));
    onClose();
    onDone();
  });
  return html`<${Dialog} title=${t('Hand off to a new phase')} onClose=${onClose} actions=${html`<${Button} onClick=${onClose}>${t('Cancel')}</${Button}>
      <${Button} kind="primary" busy=${action.isBusy} disabled=${!name.trim()} onClick=${() => action.start()}>${t('Hand off')}</${Button}>`}>
    <p class="muted">${t('An anchor starts a phase: the model sees the summary and the conversation from there on.')}</p>
    <label class="field"><span>${t('Name')}</span>
      <input type="text" dir="auto" maxlength="80" value=${name} onInput=${(event) => setName(event.currentTarget.value)} /></label>
    <label class="field"><span>${t('Summary')}</span><textarea rows="5" dir="auto" value=${text} onInput=${(event) => setText(event.currentTarget.value)}></textarea></label>
    ${action.error && html`<p class="form-error" role="alert" dir="auto">${action.error.message}</p>`}
  </${Dialog}>`;
}

/**
 * Makes a session of the entries up to one.
 * @param {{session: string, through: number, onClose: () => void}} props
 */
export function Fork({ session, through, onClose }) {
  const action = useAction(async () => {
    const { session_id: id } = await fork(session, through);
    loadSessions();
    onClose();
    go('talk', id);
  });
  return html`<${Confirm} title=${t('Fork up to entry {id}?', { id: through })} action=${t('Fork')} onClose=${onClose} onYes=${() => action.start()} busy=${action.isBusy} error=${action.error}>
    <p>${t('A new session gets the entries up to and including this one. This session does not change.')}</p></${Confirm}>`;
}
