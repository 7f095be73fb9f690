// Choices that are kept in the browser.
import { signal } from './signal.js';

/**
 * Reads a value that was stored as JSON.
 * @param {string} key
 * @param {any} [fallback]
 */
export function load(key, fallback = null) {
  try { return JSON.parse(localStorage.getItem(`bub.${key}`)) ?? fallback; } catch { return fallback; }
}

/**
 * Stores a value as JSON; `null` removes it. A full or absent storage loses it.
 * @param {string} key
 * @param {any} value
 */
export function save(key, value) {
  try {
    if (value === null || value === undefined) localStorage.removeItem(`bub.${key}`);
    else localStorage.setItem(`bub.${key}`, JSON.stringify(value));
  } catch { /* The page works without. */ }
}

/** `auto`, `light` or `dark`. */
export const theme = signal(load('theme', 'auto'));

/** Whether single keys are shortcuts. */
export const hasKeys = signal(load('keys', true));

/**
 * Shows a theme without storing it.
 * @param {string} [name]
 */
export function applyTheme(name = theme.value) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

/**
 * Shows and stores a theme.
 * @param {"auto"|"light"|"dark"} name
 */
export function setTheme(name) {
  save('theme', name === 'auto' ? null : name);
  theme.set(name);
  applyTheme(name);
}

/**
 * Turns shortcuts of single keys on or off.
 * @param {boolean} isOn
 */
export function setKeys(isOn) {
  save('keys', isOn ? null : false);
  hasKeys.set(isOn);
}

/** The draft of a session. */
export const draft = {
  read: (session) => load(`draft.${session}`, ''),
  write: (session, text) => save(`draft.${session}`, text || null),
};

const MAX_UNBEGUN = 50;

const tab = {
  read() { try { return JSON.parse(sessionStorage.getItem('bub.unbegun')) ?? []; } catch { return []; } },
  write(ids) { try { sessionStorage.setItem('bub.unbegun', JSON.stringify(ids)); } catch { /* They are asked for, then. */ } },
};

/** Sessions that this tab has made up and that have no message yet. Other sessions may have a tape, also where no list has them. */
export const unbegun = {
  has: (session) => tab.read().includes(session),
  add: (session) => tab.write([...tab.read(), session].slice(-MAX_UNBEGUN)),
  remove: (session) => tab.write(tab.read().filter((one) => one !== session)),
};
