// Dialogs and menus, on the elements that browsers trap the focus in.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from './html.js';
import { Icon } from './icons.js';
import { t } from './i18n.js';

/**
 * A modal dialog. Escape and a click beside it close it; the focus returns to where it was.
 * @param {{title: string, onClose: () => void, children: unknown, actions?: unknown, class?: string}} props
 */
export function Dialog({ title, onClose, children, actions, class: extra = '' }) {
  const box = useRef(null);
  const id = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    box.current.querySelector('[autofocus], .dialog-body input, .dialog-body textarea')?.focus();
    return () => before instanceof HTMLElement && before.isConnected && before.focus();
  }, []);
  const outside = (event) => { if (event.target === box.current) onClose(); };
  return html`<dialog ref=${box} class=${`dialog ${extra}`} aria-labelledby=${id} onMouseDown=${outside}
    onCancel=${(event) => { event.preventDefault(); onClose(); }}>
    <div class="dialog-box">
      <header class="dialog-head"><h2 id=${id}>${title}</h2>
        <button type="button" class="button is-icon quiet" aria-label=${t('Close')} onClick=${onClose}><${Icon} name="close" /></button></header>
      <div class="dialog-body">${children}</div>
      ${actions && html`<footer class="dialog-foot">${actions}</footer>`}
    </div>
  </dialog>`;
}

/**
 * A question before something that is not undone.
 * @param {{title: string, action: string, danger?: boolean, busy?: boolean, error?: Error|null, onClose: () => void, onYes: () => void, children: unknown}} props
 */
export function Confirm({ title, children, action, danger, onClose, onYes, busy, error }) {
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${html`
      <button type="button" class="button" onClick=${onClose}>${t('Cancel')}</button>
      <button type="button" class=${`button ${danger ? 'danger' : 'primary'}`} disabled=${busy} aria-busy=${busy ? 'true' : undefined}
        onClick=${onYes}>${action}</button>`}>
    ${children}
    ${error && html`<p class="form-error" role="alert" dir="auto">${error.message}</p>`}
  </${Dialog}>`;
}

/**
 * A button that opens a menu. Items are `{label, run, danger, icon}`; empty ones are left out.
 */
export function Menu({ label, items, icon = 'more', class: extra = '', children }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(null);
  const button = useRef(null);
  const id = useId();
  const shown = items.filter(Boolean);

  useEffect(() => {
    if (!isOpen) return undefined;
    const outside = (event) => { if (!box.current?.contains(event.target)) setOpen(false); };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, [isOpen]);

  useLayoutEffect(() => {
    if (!isOpen) return;
    const list = box.current.querySelector('[role=menu]');
    list.querySelector('[role=menuitem]')?.focus();
    // A menu near the end of the window opens upwards.
    const { bottom } = list.getBoundingClientRect();
    list.classList.toggle('is-up', bottom > innerHeight - 8);
  }, [isOpen]);

  const close = () => { setOpen(false); button.current?.focus(); };
  const pressed = (event) => {
    const all = [...box.current.querySelectorAll('[role=menuitem]')];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length].focus();
    else if (event.key === 'Escape') close();
    else if (event.key === 'Tab') { setOpen(false); return; }
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return html`<div class=${`menu ${extra}`} ref=${box}>
    <button type="button" ref=${button} class=${`button quiet ${children ? '' : 'is-icon'}`} aria-label=${label} title=${label} aria-haspopup="menu" aria-expanded=${isOpen}
      aria-controls=${isOpen ? id : undefined} onClick=${() => setOpen(!isOpen)}
      onKeyDown=${(event) => { if (event.key === 'ArrowDown') { event.preventDefault(); setOpen(true); } }}><${Icon} name=${icon} />${children}</button>
    ${isOpen && html`<ul role="menu" id=${id} class="menu-list" aria-label=${label} onKeyDown=${pressed}>
      ${shown.map((item) => html`<li role="none" key=${item.label}><button type="button" role="menuitem" tabindex="-1"
        class=${item.danger ? 'is-danger' : ''} onClick=${() => { close(); item.run(); }}>${item.icon && html`<${Icon} name=${item.icon} />`}${item.label}</button></li>`)}
    </ul>`}
  </div>`;
}
