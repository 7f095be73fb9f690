// Changes of the memory: comma commands, in the user's own words.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { notify } from '../../lib/notices.js';
import { t } from '../../lib/i18n.js';
import { Difference } from '../../lib/difference.js';
import { Button, Code, Dialog, useAction } from '../../lib/ui.js';
import { oneLine } from '../../lib/text.js';
import { command, content, versions } from './sections.js';

function Problem({ error }) {
  return error ? html`<p class="form-error" role="alert" dir="auto">${error.message}</p>` : null;
}

function Field({ label, name, place, onDone, multiline }) {
  const [text, setText] = useState('');
  const action = useAction(async () => {
    notify(oneLine(await command(place.runIn, place.scope, name, { content: text.trim() }), 200));
    setText('');
    onDone();
  });
  const typed = (event) => setText(event.currentTarget.value);
  return html`<form class="memory-form" onSubmit=${(event) => { event.preventDefault(); if (text.trim()) action.start(); }}>
    <label class="field"><span>${label}</span>${multiline ? html`<textarea rows="2" dir="auto" value=${text} onInput=${typed}>
      </textarea>` : html`<input type="text" dir="auto" value=${text} onInput=${typed} />`}</label>
    <${Button} type="submit" icon="plus" busy=${action.isBusy} disabled=${!text.trim()}>${t('Add')}</${Button}><${Problem} error=${action.error} />
  </form>`;
}

/**
 * Adds a line to the long-term memory.
 * @param {{place: {runIn: string, scope?: string}, onDone: () => void}} props
 */
export const Add = (props) => html`<${Field} label=${t('Remember')} name="add" ...${props} />`;
/**
 * Adds to the notes of today.
 * @param {{place: {runIn: string, scope?: string}, onDone: () => void}} props
 */
export const Note = (props) => html`<${Field} label=${t('Note of today')} name="daily" multiline ...${props} />`;

/** The whole text, corrected. What another writer saved meanwhile is not overwritten unseen. */
export function Correct({ place, tape, version, text, onDone }) {
  const [draft, setDraft] = useState(null);
  const [conflict, setConflict] = useState(null);
  const base = useRef({ ...version, text });
  const close = () => { setDraft(null); setConflict(null); };
  const action = useAction(async () => {
    const [newest] = await versions(tape);
    // Another version with the same text has other notes only.
    if (newest && newest.seal !== base.current.seal && !conflict && (await content(tape, newest)).text !== base.current.text) {
      setConflict(newest);
      return;
    }
    notify(oneLine(await command(place.runIn, place.scope, 'save', { content: draft.trim() }), 200));
    close();
    onDone();
  });
  const begin = () => { base.current = { ...version, text }; setDraft(text); };
  return html`<div class="memory-correct"><${Button} icon="edit" onClick=${begin}>${t('Correct')}</${Button}></div>
    ${draft !== null && html`<${Dialog} title=${t('Correct the long-term memory')} class="is-wide" onClose=${close} actions=${html`<${Button} onClick=${close}>${t('Cancel')}</${Button}>
        <${Button} kind="primary" busy=${action.isBusy} disabled=${draft.trim() === base.current.text.trim() || !draft.trim()} onClick=${() => action.start()}>${conflict ? t('Save anyway') : t('Save')}</${Button}>`}>
      <label class="field"><span>${t('Text')}</span><textarea rows="12" dir="auto" value=${draft} onInput=${(event) => setDraft(event.currentTarget.value)}></textarea></label>
      <h3 class="label">${t('Changes')}</h3><${Difference} before=${base.current.text} after=${draft} />
      ${conflict && html`<p class="form-error" role="alert">${t('Version {n} was saved in the meantime. Saving replaces it with this text.', { n: conflict.version })}</p>`}
      <${Problem} error=${action.error} />
    </${Dialog}>`}`;
}

/** Forgetting, with a preview of what would go. */
export function Forget({ place, asked, onDone }) {
  const [text, setText] = useState('');
  const [preview, setPreview] = useState(null);
  const field = useRef(null);
  const look = useAction(async (query) => setPreview({ query, output: await command(place.runIn, place.scope, 'forget', { query, dry_run: 'true' }) }));
  const action = useAction(async () => {
    notify(oneLine(await command(place.runIn, place.scope, 'forget', { query: preview.query }), 300));
    setPreview(null);
    setText('');
    onDone();
  });
  useEffect(() => {
    if (!asked) return;
    setText(asked.text);
    field.current?.focus();
    look.start(asked.text);
  }, [asked]);
  return html`<form class="memory-form" onSubmit=${(event) => { event.preventDefault(); if (text.trim()) look.start(text.trim()); }}>
      <label class="field"><span>${t('Text or date')}</span>
        <input ref=${field} type="text" dir="auto" value=${text} onInput=${(event) => { setText(event.currentTarget.value); setPreview(null); }} /></label>
      <${Button} type="submit" busy=${look.isBusy} disabled=${!text.trim()}>${t('Preview')}</${Button}><${Problem} error=${look.error} />
    </form>
    ${preview && html`<div class="pad" role="status"><${Code} text=${preview.output} label=${t('What would be forgotten')} />
      <p class="muted small">${t('Forgotten text leaves every view and search. It stays in the files until it is erased.')}</p>
      <${Button} kind="danger" busy=${action.isBusy} onClick=${() => action.start()}>${t('Forget this')}</${Button}><${Problem} error=${action.error} /></div>`}`;
}
