// The address of a view: `#/VIEW/PART/PART`, each part encoded.
import { signal } from './signal.js';

/**
 * `{view, parts}` of an address.
 * @param {string} hash
 * @returns {{view: string, parts: string[]}}
 */
export function parse(hash) {
  const [view, ...parts] = hash.replace(/^#?\/?/, '').split('/');
  const decode = (part) => { try { return decodeURIComponent(part); } catch { return part; } };
  return { view: view || 'talk', parts: parts.map(decode).filter((part) => part !== '') };
}

/** The current address. */
export const route = signal(parse(location.hash));

let isMoved = false;

/** Whether the user has gone from one view to another, and not only opened the page. */
export const hasNavigated = () => isMoved;

addEventListener('hashchange', () => {
  isMoved = true;
  route.set(parse(location.hash));
});

/**
 * The address of a view as an `href`.
 * @param {string} view
 * @param {...(string|number|null|undefined)} parts
 * @returns {string}
 */
export function hrefOf(view, ...parts) {
  return '#/' + [view, ...parts.filter((part) => part !== undefined && part !== null)].map((part) => encodeURIComponent(part)).join('/');
}

/**
 * Opens a view.
 * @param {string} view
 * @param {...(string|number)} parts
 */
export function go(view, ...parts) {
  location.hash = hrefOf(view, ...parts);
}

/**
 * Replaces the address without an entry in the history.
 * @param {string} view
 * @param {...(string|number)} parts
 */
export function replace(view, ...parts) {
  history.replaceState(null, '', hrefOf(view, ...parts));
  route.set(parse(location.hash));
}
