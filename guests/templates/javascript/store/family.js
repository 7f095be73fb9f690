// A tape with its sidecars and archives, which are read and written together.

import { Entry } from "bub-guest";

// The separator between a tape and the suffix of its archives.
export const ARCHIVE = ".jsonl.";

// The tape that a sidecar or an archive belongs to; any other tape itself.
export function familyOf(tape) {
  return tape.split("__sidecar__")[0].split(ARCHIVE)[0];
}

// The content of a file. `key` is that of the last write that had one: the same write is applied once. Payloads stay the text
// that they were, so that no byte of a tape changes.
export class Family {
  constructor({ key, tapes = {} } = {}) {
    this.key = key;
    // Without a prototype: any name is the name of a tape.
    this.tapes = Object.create(null);
    for (const [tape, lines] of Object.entries(tapes)) this.tapes[tape] = lines.map((line) => new Entry(line));
  }

  toJSON() {
    const line = ({ id, kind, payloadText, metaText, date }) => ({ id, kind, payload: payloadText, meta: metaText, date });
    const tapes = Object.entries(this.tapes).map(([tape, entries]) => [tape, entries.map(line)]);
    return { key: this.key, tapes: Object.fromEntries(tapes) };
  }

  // The id of a tape's last entry; 0 if it is empty.
  last(tape) {
    return this.tapes[tape]?.at(-1)?.id ?? 0;
  }

  append(tape, entries) {
    this.tapes[tape] = [...(this.tapes[tape] ?? []), ...entries];
  }

  // Empties a tape, and with a tape that is no sidecar its sidecars.
  reset(family, tape, { archive, kept }) {
    const entries = this.tapes[tape] ?? [];
    const gone = tape === family ? Object.keys(this.tapes).filter((name) => !name.includes(ARCHIVE)) : [tape];
    for (const name of gone) delete this.tapes[name];
    if (archive) this.tapes[this.free(archive)] = [...entries, ...kept];
  }

  // The name that an archive of the tape would get.
  archiveName(tape) {
    return this.free(`${tape}${ARCHIVE}1`);
  }

  // The name itself, or with a number if it is taken.
  free(wanted) {
    let name = wanted;
    for (let number = 2; this.tapes[name]; number += 1) name = `${wanted}.${number}`;
    return name;
  }
}
