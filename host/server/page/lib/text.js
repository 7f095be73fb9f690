// Text of others: models, tools, plugins, files and peers.

// Characters that reorder, hide or erase what stands around them.
// The joiners U+200C and U+200D are letters' business in several scripts, and stay.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;
// They turn the order of what follows around, which no language needs.
const OVERRIDES = /[\u202a-\u202e]/g;

/**
 * A text in which characters that reorder or hide other ones are shown by their code point.
 * @param {unknown} text
 * @returns {string}
 */
export function visible(text) {
  return String(text).replace(/\r\n?/g, '\n').replace(HIDDEN, (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/**
 * A text in which control characters, as those of terminals, and overrides of direction are shown.
 * @param {unknown} text
 * @returns {string}
 */
export function printable(text) {
  return String(text).replace(CONTROLS, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0))).replace(OVERRIDES, visible);
}

/**
 * A text in one line, at most `max` characters.
 * @param {unknown} text
 * @param {number} [max]
 * @returns {string}
 */
export function oneLine(text, max = 200) {
  const line = String(text ?? '').slice(0, max * 2).replace(/\s+/g, ' ').trim();
  return clip(visible(line), max);
}

/**
 * The beginning of a text. No character is cut in two.
 * @param {string} text
 * @param {number} max
 * @returns {string}
 */
export function clip(text, max) {
  if (text.length <= max) return text;
  const end = /[\ud800-\udbff]/.test(text[max - 1]) ? max - 1 : max;
  return text.slice(0, end) + '…';
}

/**
 * The value of a table for a key of others, which may be the name of something that every object has.
 * @param {Record<string, any>} table
 * @param {unknown} key
 * @param {any} [otherwise]
 */
export function lookUp(table, key, otherwise) {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : otherwise;
}

/**
 * JSON with indentation, or the text itself where it is none.
 * @param {string} text
 * @returns {string}
 */
export function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return String(text); }
}

/**
 * An argument of a comma command, named and quoted: in double quotes a backslash escapes itself and the quote.
 * @param {string} name
 * @param {unknown} value
 * @returns {string}
 */
export function argument(name, value) {
  return `${name}="${String(value).replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * A random id of lower-case letters and digits.
 * @param {number} [length]
 * @returns {string}
 */
export function randomId(length = 10) {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return [...bytes].map((byte) => 'abcdefghijkmnpqrstuvwxyz23456789'[byte % 32]).join('');
}
