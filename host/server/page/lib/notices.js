// Short notices, and what screen readers are told.
import { signal } from './signal.js';

/** The text of the live region. */
export const spoken = signal('');

/** Notices that are shown for some seconds. */
export const notices = signal([]);

let count = 0;

/**
 * Tells screen readers a text.
 * @param {string} text
 */
export function announce(text) {
  // The same text twice is told twice: the region has to change.
  count += 1;
  spoken.set(count % 2 ? text : `${text}\u00a0`);
}

/**
 * Shows a notice.
 * @param {string} text
 * @param {'info'|'error'} [kind]
 * @param {{label: string, run: () => void}} [action]
 */
export function notify(text, kind = 'info', action = null) {
  const id = (count += 1);
  notices.set([...notices.value.slice(-3), { id, text, kind, action }]);
  announce(text);
  setTimeout(() => dismiss(id), kind === 'error' || action ? 9000 : 3500);
}

/**
 * Removes a notice.
 * @param {number} id
 */
export function dismiss(id) {
  notices.set(notices.value.filter((notice) => notice.id !== id));
}
