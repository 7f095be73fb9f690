// Entries of a tape as a list by index, of which only the parts in sight are fetched.
import { get, path, query } from '../../lib/api.js';

const PAGE = 64;
const WINDOW_PAGE = 128;
const MAX_PAGES = 80;
// While a list is scrolled without a pause, what passes by is not fetched more often than this.
const SETTLE_MS = 90;
const SCROLL_MS = 450;

/** A tape whose ids are so dense that an index follows from an id. Ids without an entry are rows too. */
export class DenseSource {
  constructor(session, { first, last }, onChange) {
    this.session = session;
    this.first = first;
    this.last = last;
    this.onChange = onChange;
    this.pages = new Map();
    this.error = null;
    this.isClosed = false;
  }

  get count() { return this.last ? this.last - this.first + 1 : 0; }

  /** The entry of a row; `null`: there is none with this id; `undefined`: it is not known yet. */
  at(index) {
    const page = this.pages.get(Math.floor(index / PAGE));
    return page?.entries ? page.entries.get(this.first + index) ?? null : undefined;
  }

  idAt(index) { return this.first + index; }

  indexOf(id) {
    return id >= this.first && id <= this.last ? id - this.first : -1;
  }

  /** The tape has grown. */
  grow(last) {
    if (last <= this.last) return;
    // The page that was the last one has more entries now.
    this.pages.delete(Math.floor((this.last - this.first) / PAGE));
    this.last = last;
    this.onChange();
  }

  /** Fetches the rows in sight, once the list stands still or at times while it is scrolled. */
  want(first, end) {
    this.wanted = [Math.floor(first / PAGE), Math.floor(Math.max(first, end - 1) / PAGE)];
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.load(), SETTLE_MS);
    this.since ??= performance.now();
    if (performance.now() - this.since > SCROLL_MS) this.load();
  }

  load() {
    clearTimeout(this.settle);
    this.since = undefined;
    for (let n = this.wanted[0]; n <= this.wanted[1]; n += 1) if (!this.pages.has(n)) this.read(n);
  }

  async read(n) {
    const page = { entries: null };
    this.pages.set(n, page);
    const begin = this.first + n * PAGE;
    const end = Math.min(begin + PAGE, this.last + 1);
    const entries = new Map();
    try {
      let after = begin - 1;
      // A page of long entries comes in pieces.
      for (let hasMore = true; hasMore && after < end - 1;) {
        const found = await get(path`/v1/sessions/${this.session}/entries` + query({ after, max: end - 1 - after }));
        for (const entry of found.entries) if (entry.id < end) entries.set(entry.id, entry);
        after = found.entries.at(-1)?.id ?? end;
        hasMore = found.more && found.entries.length > 0;
      }
      page.entries = entries;
      this.error = null;
      this.forget(n);
    } catch (error) {
      this.pages.delete(n);
      this.error = error;
    }
    if (!this.isClosed) this.onChange();
  }

  forget(near) {
    if (this.pages.size <= MAX_PAGES) return;
    const far = [...this.pages.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
    for (const n of far.slice(0, this.pages.size - MAX_PAGES)) this.pages.delete(n);
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.settle);
  }
}

/** Some kinds of entries, or a tape with large gaps: a part without gaps in what is shown, which grows at both ends. */
export class WindowSource {
  constructor(session, kinds, near, onChange) {
    this.session = session;
    this.kinds = kinds;
    this.onChange = onChange;
    this.entries = [];
    this.hasOlder = false;
    this.hasNewer = false;
    this.isClosed = false;
    this.error = null;
    // Rows that were put before the others since the list was last drawn.
    this.shifted = 0;
    this.isLoaded = false;
    this.open(near);
  }

  get count() { return this.entries.length; }

  at(index) { return this.entries[index]; }

  idAt(index) { return this.entries[index]?.id; }

  /** The row of an entry, or of the next one behind it. */
  indexOf(id) {
    return this.entries.findIndex((entry) => entry.id >= id);
  }

  read(range) {
    const kind = this.kinds.length ? this.kinds.join(',') : undefined;
    return get(path`/v1/sessions/${this.session}/entries` + query({ ...range, kind, max: WINDOW_PAGE }))
      // A server without filters answers all kinds.
      .then((found) => ({ ...found, all: found.entries, entries: kind ? found.entries.filter((entry) => this.kinds.includes(entry.kind)) : found.entries }));
  }

  async open(near) {
    try {
      if (near) {
        const [older, newer] = await Promise.all([this.read({ before: near }), this.read({ after: near - 1 })]);
        this.entries = [...older.entries, ...newer.entries];
        this.take(older, newer);
      } else {
        const found = await this.read({});
        this.entries = found.entries;
        this.take(found, null);
      }
      this.isLoaded = true;
      // A page of few kinds can be empty and not the last one.
      if (!this.count && this.hasOlder) await this.older();
      if (!this.count && this.hasNewer) await this.newer();
    } catch (error) {
      this.error = error;
    }
    if (!this.isClosed) this.onChange();
  }

  /** Notes where the pages before and behind these begin. */
  take(older, newer) {
    if (older) {
      this.before = older.next ?? older.entries[0]?.id ?? older.all[0]?.id;
      this.hasOlder = older.more && this.before !== undefined;
    }
    if (newer) {
      this.after = newer.next ?? newer.entries.at(-1)?.id ?? newer.all.at(-1)?.id ?? this.after;
      this.hasNewer = newer.more && this.after !== undefined;
    }
  }

  grow() {
    if (!this.hasNewer && this.isLoaded) { this.hasNewer = true; this.newer(); }
  }

  want(first, end) {
    if (first < 20 && this.hasOlder) this.older();
    if (end > this.count - 20 && this.hasNewer) this.newer();
  }

  async older() {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      for (let isEmpty = true; isEmpty && this.hasOlder && !this.isClosed;) {
        const found = await this.read({ before: this.before });
        this.entries = [...found.entries, ...this.entries];
        this.shifted += found.entries.length;
        this.take(found, null);
        isEmpty = !found.entries.length;
      }
    } catch (error) { this.error = error; }
    this.isBusy = false;
    if (!this.isClosed) this.onChange();
  }

  async newer() {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      for (let isEmpty = true; isEmpty && this.hasNewer && !this.isClosed;) {
        const found = await this.read({ after: this.after ?? this.entries.at(-1)?.id ?? 0 });
        this.entries = [...this.entries, ...found.entries];
        this.take(null, found);
        isEmpty = !found.entries.length;
      }
    } catch (error) { this.error = error; }
    this.isBusy = false;
    if (!this.isClosed) this.onChange();
  }

  close() { this.isClosed = true; }
}

/**
 * The source that fits a tape and the kinds that are shown.
 * @param {string} session
 * @param {{entries: number, first: number, last: number}} outline
 * @param {string[]} kinds
 * @param {number|null} near
 * @param {() => void} onChange
 */
export function sourceOf(session, outline, kinds, near, onChange) {
  const span = outline.last - outline.first + 1;
  const isDense = span <= outline.entries * 1.5 + 1000;
  return isDense && !kinds.length ? new DenseSource(session, outline, onChange) : new WindowSource(session, kinds, near, onChange);
}
