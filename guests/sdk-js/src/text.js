/** JSON and UTF-8. */

import { PluginError, clean } from "./error.js";

/** JSON of a value. `unknown`, if it has none. */
export function dumps(value) {
  let text;
  try {
    text = JSON.stringify(value, (_, part) => {
      if (typeof part === "number" && !Number.isFinite(part)) throw new TypeError(`\`${part}\` is no number of JSON`);
      // Keys too; a value of a lone surrogate is escaped by `JSON.stringify`, and the host does not read that.
      if (typeof part === "string") return clean(part);
      if (part && typeof part === "object" && !Array.isArray(part) && Object.keys(part).some((key) => clean(key) !== key)) {
        return Object.fromEntries(Object.entries(part).map(([key, of]) => [clean(key), of]));
      }
      return part;
    });
  } catch (error) {
    throw new PluginError("unknown", `a value of the plugin has no JSON: ${error.message}`);
  }
  return text ?? "null";
}

/** The value of a JSON text. `invalid-input`, if it is not JSON. */
export function loads(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw PluginError.invalid(`it is not JSON: ${error.message}`);
  }
}

/** Bytes of a text in UTF-8. */
export function encode(text) {
  const bytes = [];
  for (const letter of clean(text)) {
    const code = letter.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return new Uint8Array(bytes);
}

const LENGTHS = [
  [0xc2, 0xdf, 1],
  [0xe0, 0xef, 2],
  [0xf0, 0xf4, 3],
];
const LEAST = [0, 0x80, 0x800, 0x10000];

/** The text of bytes in UTF-8; what is no UTF-8 becomes U+FFFD, or with `strict` is `invalid-input`. */
export function decode(bytes, strict = false) {
  let pieces = "";
  let text = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at];
    let code = first;
    let length = 0;
    if (first >= 0x80) {
      length = LENGTHS.find(([from, to]) => first >= from && first <= to)?.[2] ?? -1;
      code = length > 0 ? first & (0x3f >> length) : -1;
      for (let next = 1; next <= length && code >= 0; next += 1) {
        const byte = bytes[at + next];
        code = byte !== undefined && (byte & 0xc0) === 0x80 ? (code << 6) | (byte & 63) : -1;
      }
      if (code < LEAST[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = -1;
    }
    if (code < 0 && strict) throw PluginError.invalid(`it is no text: byte ${at} is no UTF-8`);
    text.push(code < 0 ? 0xfffd : code);
    at += code < 0 ? 1 : length + 1;
    if (text.length === 4096) {
      pieces += String.fromCodePoint(...text);
      text = [];
    }
  }
  return pieces + String.fromCodePoint(...text);
}
