// Comma commands and their completion.
import { useEffect, useState } from '../../lib/html.js';
import { get } from '../../lib/api.js';
import { onEvent } from '../../lib/events.js';

const MAX_SHOWN = 8;
let known = null;

/**
 * The commands of this server; they are read when the first comma is typed.
 * @param {boolean} isWanted
 * @returns {{name: string, about: string}[]}
 */
export function useCommands(isWanted) {
  const [commands, setCommands] = useState(known ?? []);
  useEffect(() => {
    if (!isWanted) return undefined;
    if (known) setCommands(known);
    else get('/v1/commands').then((found) => { known = found.commands ?? []; setCommands(known); }, () => { /* Commands work without completion. */ });
    return onEvent((name) => { if (name === 'plugins-changed') known = null; });
  }, [isWanted]);
  return commands;
}

/**
 * The word that is completed, or null where no command's name is typed.
 * @param {string} text
 * @returns {string|null}
 */
export function commandWord(text) {
  return /^,([^\s]*)$/.exec(text)?.[1] ?? null;
}

/**
 * The commands that fit a word: those that begin with it before those that contain it.
 * @param {{name: string}[]} commands
 * @param {string} word
 */
export function matching(commands, word) {
  const wanted = word.toLowerCase();
  const begins = commands.filter((one) => one.name.toLowerCase().startsWith(wanted));
  const contains = commands.filter((one) => !begins.includes(one) && one.name.toLowerCase().includes(wanted));
  return [...begins, ...contains].slice(0, MAX_SHOWN);
}
