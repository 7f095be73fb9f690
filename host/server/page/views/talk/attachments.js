// Files that a message takes along.
import { bytes, t } from '../../lib/i18n.js';
import { lookUp } from '../../lib/text.js';

/** Files of one message. */
export const MAX_FILES = 16;
/** Bytes of the files of one message. */
export const MAX_BYTES = 20_000_000;

const BY_NAME = { md: 'text/markdown', log: 'text/plain', rs: 'text/plain', toml: 'text/plain', py: 'text/plain', wasm: 'application/wasm', jsonl: 'application/json' };

function typeOf(file) {
  const named = file.type.split(';')[0];
  if (/^(?:image|audio|video|text|application)\/[\w.+-]+$/.test(named)) return named;
  return lookUp(BY_NAME, file.name.split('.').at(-1)?.toLowerCase(), 'application/octet-stream');
}

/**
 * Reads files as attachments, behind those that there are.
 * @param {{filename: string, mime_type: string, url: string, size: number}[]} before
 * @param {Iterable<File>} files
 * @returns {Promise<{list: object[], refused: string|null}>}
 */
export async function attach(before, files) {
  const list = [...before];
  let refused = null;
  for (const file of files) {
    const sum = list.reduce((all, one) => all + one.size, 0);
    if (list.length >= MAX_FILES) { refused = t('A message takes at most {n} files.', { n: MAX_FILES }); break; }
    if (sum + file.size > MAX_BYTES) { refused = t('The files of a message have at most {size} together.', { size: bytes(MAX_BYTES) }); continue; }
    try {
      list.push(await read(file));
    } catch {
      refused = t('The file {name} cannot be read.', { name: file.name });
    }
  }
  return { list, refused };
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error);
    reader.onload = () => {
      const mime = typeOf(file);
      const data = String(reader.result);
      const base64 = data.slice(data.indexOf(',') + 1);
      resolve({ filename: file.name || null, mime_type: mime, url: `data:${mime};base64,${file.size ? base64 : ''}`, size: file.size });
    };
    reader.readAsDataURL(file);
  });
}

/**
 * Attachments as the API takes them.
 * @param {object[]} list
 */
export const toMedia = (list) => list.map(({ filename, mime_type, url }) => ({ filename, mime_type, url }));

/**
 * The attachments of a message on a tape, to send them again.
 * @param {{name: string, mime: string, url: string}[]} media
 */
export function fromTape(media) {
  return media.filter((one) => one.url && one.mime).map((one) => ({ filename: one.name || null, mime_type: one.mime, url: one.url, size: Math.round(one.url.length * 0.75) }));
}
