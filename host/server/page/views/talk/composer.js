// Where a message is written. It keeps its own state, so that a key renders nothing else.
import { html, useEffect, useId, useImperativeHandle, useLayoutEffect, useRef, useState } from '../../lib/html.js';
import { draft } from '../../lib/prefs.js';
import { draftFiles } from '../../lib/files.js';
import { announce, notify } from '../../lib/notices.js';
import { bytes, t, tn } from '../../lib/i18n.js';
import { Button, Icon } from '../../lib/ui.js';
import { clip, oneLine, visible } from '../../lib/text.js';
import { attach, toMedia } from './attachments.js';
import { commandWord, matching, useCommands } from './commands.js';

const SAVE_MS = 250;

/**
 * @param {{session: string, isRunning: boolean, onSend: (text: string, media: object[]) => void, onStop: () => void, control: {current: any}, disabled?: string}} props
 *   `control` gets `{focus(), set(text, files), add(files)}`
 */
export function Composer({ session, isRunning, onSend, onStop, control, disabled }) {
  const [text, setText] = useState(() => draft.read(session));
  const [files, setFiles] = useState([]);
  const [picked, setPicked] = useState(0);
  const [isClosed, setClosed] = useState(false);
  const box = useRef(null);
  const input = useRef(null);
  const filesNow = useRef(files);
  filesNow.current = files;
  const id = useId();

  const word = isClosed ? null : commandWord(text);
  const commands = useCommands(text.startsWith(','));
  const found = word === null ? [] : matching(commands, word);
  const at = Math.min(picked, found.length - 1);

  // A draft is kept while it is written, and once more before the page goes. What is stored already is not written again:
  // the draft may have been restored from a message that was refused.
  const draftNow = useRef({ text, saved: text });
  draftNow.current.text = text;
  const keep = () => {
    const { text: now, saved } = draftNow.current;
    if (now !== saved) draft.write(session, now);
    draftNow.current.saved = now;
  };
  useEffect(() => {
    const timer = setTimeout(keep, SAVE_MS);
    return () => clearTimeout(timer);
  }, [session, text]);
  useEffect(() => {
    addEventListener('pagehide', keep);
    return () => { removeEventListener('pagehide', keep); keep(); };
  }, [session]);

  // The files of the draft come later than the page; those that were added meanwhile are the newer ones.
  const areFilesRead = useRef(false);
  useEffect(() => {
    let isCurrent = true;
    draftFiles.read(session).then((list) => {
      if (!isCurrent) return;
      areFilesRead.current = true;
      if (list.length && !filesNow.current.length) setFiles(list);
      else if (filesNow.current.length) draftFiles.write(session, filesNow.current);
    });
    return () => { isCurrent = false; };
  }, [session]);
  useEffect(() => { if (areFilesRead.current) draftFiles.write(session, files); }, [session, files]);

  useEffect(() => { if (found.length) announce(tn(found.length, '{n} command', '{n} commands')); }, [found.length]);

  // Browsers without `field-sizing` need the height.
  useLayoutEffect(() => {
    if (CSS.supports('field-sizing', 'content')) return;
    box.current.style.setProperty('--height', 'auto');
    box.current.style.setProperty('--height', `${box.current.scrollHeight}px`);
  }, [text]);

  const add = async (given) => {
    const { list, refused } = await attach(filesNow.current, given);
    setFiles(list);
    if (refused) notify(refused, 'error');
    box.current?.focus();
  };

  useImperativeHandle(control, () => ({
    focus: () => box.current?.focus(),
    set: (next, media) => { setText(next); if (media) setFiles(media); box.current?.focus(); },
    text: () => box.current?.value ?? '',
    add,
  }), []);

  const send = () => {
    if (disabled || (!text.trim() && !files.length)) return;
    onSend(text, toMedia(files));
    draft.write(session, '');
    draftNow.current.saved = '';
    setText('');
    setFiles([]);
    setClosed(false);
  };

  const complete = (command) => {
    setText(`,${command.name} `);
    setPicked(0);
    box.current?.focus();
  };

  const pressed = (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (found.length && ['ArrowDown', 'ArrowUp', 'Tab', 'Enter', 'Escape'].includes(event.key) && !event.shiftKey) {
      const isWhole = found[at]?.name === word;
      if (event.key === 'ArrowDown') setPicked((at + 1) % found.length);
      else if (event.key === 'ArrowUp') setPicked((at + found.length - 1) % found.length);
      else if (event.key === 'Escape') setClosed(true);
      else if (event.key === 'Enter' && isWhole) { event.preventDefault(); send(); return; }
      else complete(found[at]);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      // Outside of the field single keys are shortcuts again.
      if (isRunning) onStop(); else box.current.blur();
    }
  };

  const pasted = (event) => {
    const given = [...(event.clipboardData?.files ?? [])];
    if (!given.length) return;
    event.preventDefault();
    add(given);
  };

  const hint = `${id}-hint`;
  return html`<form class="composer" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    ${found.length > 0 && html`<ul class="completion" role="listbox" id=${`${id}-list`} aria-label=${t('Commands')}>
      ${found.map((command, n) => html`<li key=${command.name} role="option" id=${`${id}-${n}`} aria-selected=${n === at}
        onMouseDown=${(event) => { event.preventDefault(); complete(command); }}>
        <code>,${visible(command.name)}</code><span dir="auto">${oneLine(command.about ?? '', 120)}</span></li>`)}</ul>`}
    ${files.length > 0 && html`<ul class="files" aria-label=${t('Attached files')}>${files.map((file, n) => html`<li key=${n} class="chip">
      ${file.mime_type.startsWith('image/') ? html`<img src=${file.url} alt="" />` : html`<${Icon} name="file" />`}
      <bdi dir="auto">${oneLine(file.filename ?? file.mime_type, 60)}</bdi><span class="muted">${bytes(file.size)}</span>
      <${Button} icon="close" kind="quiet" label=${t('Remove {name}', { name: oneLine(file.filename ?? file.mime_type, 60) })}
        onClick=${() => setFiles(files.filter((_, other) => other !== n))} /></li>`)}</ul>`}
    <div class="composer-row">
      <input ref=${input} type="file" multiple hidden
        onChange=${(event) => { add([...event.currentTarget.files]); event.currentTarget.value = ''; }} />
      <${Button} icon="clip" kind="quiet" label=${t('Attach files')} onClick=${() => input.current.click()} />
      <textarea ref=${box} rows="1" value=${text} dir="auto" aria-label=${t('Message')} aria-describedby=${hint} aria-autocomplete="list"
        aria-controls=${found.length ? `${id}-list` : undefined} aria-activedescendant=${found.length ? `${id}-${at}` : undefined}
        placeholder=${disabled || (isRunning ? t('Steer the turn that runs') : t('Message, or a comma and a command'))} disabled=${Boolean(disabled)}
        onInput=${(event) => { setText(event.currentTarget.value); setPicked(0); setClosed(false); }} onKeyDown=${pressed} onPaste=${pasted}></textarea>
      ${isRunning && html`<${Button} icon="stop" label=${t('Stop the turn')} class="stop" onClick=${onStop} />`}
      <button type="submit" class="button primary is-icon" aria-label=${isRunning ? t('Send to the turn that runs') : t('Send')} title=${isRunning ? t('Send to the turn that runs') : t('Send')}
        disabled=${Boolean(disabled) || (!text.trim() && !files.length)}><${Icon} name="send" /></button>
    </div>
    <p id=${hint} class="composer-hint">${isRunning ? t('Enter steers · Escape stops · Shift+Enter adds a line') : t('Enter sends · Shift+Enter adds a line · a comma starts a command')}</p>
  </form>`;
}

/** The part of a text that a title has. */
export const firstWords = (text) => clip(oneLine(text, 60), 60);
