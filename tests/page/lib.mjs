// What the scripts share: a browser, pages that are watched, and checks that print a line each.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const require = createRequire(import.meta.url);
const { chromium } = require(process.env.PLAYWRIGHT);
const AXE = readFileSync(process.env.AXE, 'utf8');

export const { BASE, TOKEN, WORKSPACE, SHOTS } = process.env;
export const LINKS = (process.env.LINKS ?? '').split('\n').filter(Boolean);

const DEADLINE_MS = 300_000;
const WAIT_MS = 30_000;

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };

/** The forms in which each scene is played. */
export const FORMS = [
  { name: 'wide-light', viewport: WIDE, colorScheme: 'light', locale: 'en-US' },
  { name: 'narrow-dark', viewport: NARROW, colorScheme: 'dark', locale: 'en-US', isNarrow: true },
  { name: 'wide-dark', viewport: WIDE, colorScheme: 'dark', locale: 'en-US' },
  { name: 'narrow-light', viewport: NARROW, colorScheme: 'light', locale: 'en-US', isNarrow: true },
];

export const CHINESE = { name: 'wide-chinese', viewport: WIDE, colorScheme: 'light', locale: 'zh-CN' };

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// Before the scripts of the page: hostile text that runs says so here.
const WATCH = `globalThis.__ran = []; globalThis.__pwned = undefined;
for (const name of ['alert', 'confirm', 'prompt', 'print']) globalThis[name] = () => { globalThis.__ran.push(name); };`;

/** Starts one browser for a scene, and ends the process: with 1 at the first check that fails. */
export async function play(scene) {
  const late = setTimeout(() => { console.log(`FAILED: the scene did not end within ${DEADLINE_MS / 1000} s, in: ${current}`); process.exit(1); }, DEADLINE_MS);
  // Playwright makes a new folder for the browser's data, and removes it.
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: FLAGS });
  try {
    await scene(browser);
    process.exitCode = 0;
  } catch (error) {
    if (!(error instanceof Failed)) console.log(`FAILED: ${current}: ${error.stack}`);
    process.exitCode = 1;
  } finally {
    clearTimeout(late);
    await browser.close();
  }
}

class Failed extends Error {}

let current = 'the beginning';
let watched = [];

/** One check: a sentence, and what shows it. Returns what `show` returns. */
export async function check(sentence, show) {
  current = sentence;
  const began = Date.now();
  try {
    const value = await show();
    const took = Date.now() - began;
    console.log(`ok: ${sentence}${took > 3000 ? ` (${(took / 1000).toFixed(1)} s)` : ''}`);
    return value;
  } catch (error) {
    console.log(`FAILED: ${sentence}: ${String(error.message ?? error).slice(0, 3000)}`);
    for (const [n, one] of watched.entries()) {
      if (one.page.isClosed()) continue;
      const file = join(SHOTS, `failed-${basename(process.argv[1], '.mjs')}-${n}.png`);
      await one.page.screenshot({ path: file }).catch(() => {});
      console.log(`  page ${n}: ${one.page.url()}, see ${file}; problems: ${one.problems.join(' | ') || 'none'}`);
    }
    for (const path of ['/v1/running', '/v1/approvals']) console.log(`  ${path}: ${await api('GET', path).then(JSON.stringify, String)}`);
    throw new Failed(sentence);
  }
}

/** Fails unless `condition` holds. */
export function assert(condition, detail = '') {
  if (!condition) throw new Error(`it does not hold: ${typeof detail === 'string' ? detail : JSON.stringify(detail)}`);
}

/** Fails unless both are equal. */
export function equal(found, wanted, detail = '') {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)} ${detail}`);
}

/** Waits until `probe` returns something, and returns that. */
export async function until(probe, what = String(probe)) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not come: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A request of the owner's, beside the browser. */
export async function api(method, path, body) {
  const response = await fetch(BASE + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: method === 'GET' ? undefined : JSON.stringify(body ?? {}),
    signal: AbortSignal.timeout(WAIT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : {};
}

/** A turn of the owner's, beside the browser. */
export const say = (session, content) => api('POST', '/v1/turns', { content, session_id: session });

/** The path of a session's resource. */
export const sessionPath = (session, rest = '') => `/v1/sessions/${encodeURIComponent(session)}${rest}`;

/** A page of a new context in that form. `expects` are console errors that belong to the scene. */
export class Watched {
  static async open(browser, form, { token = TOKEN, expects = [], context } = {}) {
    const made = context ?? await browser.newContext({ viewport: form.viewport, colorScheme: form.colorScheme, locale: form.locale, reducedMotion: 'reduce', acceptDownloads: true });
    if (!context) await made.addInitScript(WATCH);
    made.setDefaultTimeout(WAIT_MS);
    const one = new Watched(await made.newPage(), made, form, expects);
    if (!context && token) {
      const said = await made.request.post(`${BASE}/v1/login`, { data: { token } });
      assert(said.ok(), `the login answered ${said.status()}`);
    }
    watched = [...watched.filter((other) => !other.page.isClosed()), one];
    return one;
  }

  constructor(page, context, form, expects) {
    Object.assign(this, { page, context, form, expects, problems: [], dialogs: [] });
    page.on('console', (message) => {
      if (!['error', 'warning'].includes(message.type())) return;
      const text = `${message.text()} ${message.location()?.url ?? ''}`;
      if (!this.expects.some((one) => one.test(text))) this.problems.push(text);
    });
    page.on('pageerror', (error) => this.problems.push(`exception: ${error.stack ?? error.message}`));
    page.on('dialog', (dialog) => { this.dialogs.push(dialog.message()); dialog.dismiss(); });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${BASE}/`) && !url.startsWith('data:') && !url.startsWith(`blob:${BASE}/`)) this.problems.push(`request to another origin: ${url}`);
    });
  }

  /** Opens a view by its address. */
  async go(...parts) {
    await this.page.goto(`${BASE}/#/${parts.map(encodeURIComponent).join('/')}`);
  }

  /** The part of the document with that role and name. */
  get(role, name, options = {}) { return this.page.getByRole(role, { name, ...options }); }

  /** Waits until that text is seen. */
  async sees(text, options) { await this.page.getByText(text, options).first().waitFor(); }

  /** Types a message and sends it. */
  async says(text) {
    const field = this.field();
    await field.fill(text);
    await field.press('Enter');
  }

  /** Where messages are written. */
  field() { return this.page.locator('.composer textarea'); }

  /** The texts of the messages with that class, such as `user` and `assistant`. */
  messages(kind) { return this.page.locator(`.items .msg.${kind}`).allInnerTexts(); }

  /** Waits until the turn of the open session has ended and is on the tape. */
  async settles() {
    await this.page.waitForFunction(() => document.querySelector('.items') && !document.querySelector('.is-live, .is-pending, .working'));
  }

  /** axe finds nothing, and nothing is wider than the window. */
  async isAccessible(name) {
    await check(`${this.form.name}: axe finds nothing in ${name}`, async () => {
      await this.page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
      if (!await this.page.evaluate(() => Boolean(globalThis.axe))) await this.page.evaluate(AXE);
      const found = await this.page.evaluate(async () => {
        const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
        return violations.map((one) => `${one.impact} ${one.id}: ${one.help}\n${one.nodes.slice(0, 3).map((node) => `  ${node.html.slice(0, 200)} ${node.failureSummary}`).join('\n')}`);
      });
      equal(found, [], found.join('\n'));
      await this.fits();
    });
    await this.shot(name);
  }

  /** Nothing is wider than the window. */
  async fits() {
    const [width, inner] = await this.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert(width <= inner, `the document is ${width} pixels wide in a window of ${inner}`);
  }

  async shot(name) {
    await this.page.screenshot({ path: join(SHOTS, `${name.replace(/[^\w]+/g, '-')}-${this.form.name}.png`) });
  }

  /** Ends the page, of which nothing was wrong. */
  async close() {
    await check(`${this.form.name}: no console error, no dialog and no request to another origin`, async () => {
      equal([...this.problems, ...this.dialogs], []);
      equal(await this.page.evaluate(() => [globalThis.__pwned ?? null, globalThis.__ran]), [null, []]);
    });
    await this.page.close();
  }
}
