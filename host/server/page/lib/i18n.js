// The language of the interface. English texts are the keys of the table of another language.
import { signal } from './signal.js';

const NAMES = { en: 'English', zh: '中文' };
let table = null;

/** The code of the language. */
export const language = signal('en');

/** The codes of the languages with their names. */
export const LANGUAGES = Object.entries(NAMES);

/**
 * Loads a language; with none, the chosen one or that of the browser.
 * @param {string} [chosen]
 * @returns {Promise<void>}
 */
export async function setLanguage(chosen) {
  const stored = chosen ?? read() ?? (navigator.language ?? 'en');
  const code = stored.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  table = code === 'zh' ? (await import('./zh.js')).default : null;
  if (chosen) {
    try { localStorage.setItem('bub.language', code); } catch { /* No storage: the choice lasts until a reload. */ }
  }
  document.documentElement.lang = code === 'zh' ? 'zh-Hans' : 'en';
  language.set(code);
}

function read() {
  try { return localStorage.getItem('bub.language'); } catch { return null; }
}

/**
 * A text in the language of the interface.
 * @param {string} text English, with `{name}` where a value stands
 * @param {Record<string, unknown>} [values]
 */
export function t(text, values) {
  const found = table?.[text] ?? text;
  return values ? found.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all)) : found;
}

/**
 * A text that counts `n` things: `one` where there is one of them.
 * @param {number} n
 * @param {string} one
 * @param {string} many
 * @param {Record<string, unknown>} [values]
 * @returns {string}
 */
export function tn(n, one, many, values) {
  return t(n === 1 ? one : many, { n: number(n), ...values });
}

const formats = new Map();

function format(kind, options) {
  const key = language.value + kind + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl[kind](language.value, options));
  return formats.get(key);
}

/**
 * A number with its groups.
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [options]
 * @returns {string}
 */
export function number(value, options) {
  return Number.isFinite(value) ? format('NumberFormat', options ?? {}).format(value) : '–';
}

/**
 * A number in few characters, such as `12K`.
 * @param {number} value
 * @returns {string}
 */
export function short(value) {
  return number(value, { notation: 'compact', maximumSignificantDigits: 3 });
}

/**
 * A duration of so many milliseconds.
 * @param {number} ms
 * @returns {string}
 */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 1) return t('{n} ms', { n: number(ms, { maximumSignificantDigits: 2 }) });
  if (ms < 1000) return t('{n} ms', { n: Math.round(ms) });
  if (ms < 60_000) return t('{n} s', { n: number(ms / 1000, { maximumFractionDigits: 1 }) });
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? t('{m} min {s} s', { m: minutes, s: Math.round((ms % 60_000) / 1000) })
    : t('{h} h {m} min', { h: Math.floor(minutes / 60), m: minutes % 60 });
}

/**
 * A size in bytes.
 * @param {number} n
 * @returns {string}
 */
export function bytes(n) {
  const units = ['B', 'KB', 'MB', 'GB'];
  let unit = 0;
  let value = n;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${number(value, { maximumFractionDigits: value < 10 && unit ? 1 : 0 })} ${units[unit]}`;
}

/**
 * A date as text: the time for today, the day otherwise.
 * @param {string} date
 * @returns {string}
 */
export function when(date) {
  const at = new Date(date);
  if (Number.isNaN(at.getTime())) return String(date ?? '');
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return format('DateTimeFormat', { timeStyle: 'short' }).format(at);
  const isThisYear = at.getFullYear() === now.getFullYear();
  return format('DateTimeFormat', isThisYear ? { month: 'short', day: 'numeric' } : { dateStyle: 'medium' }).format(at);
}

/**
 * A date with its time to the second.
 * @param {string} date
 * @returns {string}
 */
export function moment(date) {
  const at = new Date(date);
  if (Number.isNaN(at.getTime())) return String(date ?? '');
  return format('DateTimeFormat', { dateStyle: 'medium', timeStyle: 'medium' }).format(at);
}
