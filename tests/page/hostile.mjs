// Views full of hostile strings: no script runs, no element comes from a string, and no layout breaks.
import { FORMS, Watched, api, assert, check, equal, play, until } from './lib.mjs';

const SESSIONS = JSON.parse(process.env.SESSIONS);
const PLUGINS = ['constructor', '__proto__', 'script'];

// Strings of others, as they can stand in the document: never as one of these.
const FOREIGN = 'script:not([src]), iframe, object, embed, frame, base, meta[http-equiv], style, link:not([rel]), audio, video, source, template, body math script, marquee, form[action], input[autofocus][onfocus]';

await play(async (browser) => {
  // The questions wait for the whole scene.
  const waiting = Array.from({ length: 6 }, (_, n) => `http:asks-${n}`);
  for (const form of FORMS.slice(0, 2)) await hostile(browser, form, waiting);
});

async function hostile(browser, form, waiting) {
  const one = await Watched.open(browser, form, { expects: [/status of 40[04]/] });
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);

  /** Nothing of a string became more than text. */
  const isText = async () => {
    const found = await page.evaluate((foreign) => {
      const all = [...document.querySelectorAll('*')];
      const own = (one) => one.closest('svg')?.classList.contains('icon');
      return {
        ran: [globalThis.__pwned ?? null, globalThis.__ran],
        foreign: [...document.body.querySelectorAll(foreign)].map((one) => one.outerHTML.slice(0, 200)),
        scripts: [...document.scripts].filter((one) => !one.src.startsWith(`${location.origin}/ui/`)).map((one) => one.outerHTML.slice(0, 200)),
        handlers: all.filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).map((one) => one.outerHTML.slice(0, 200)),
        images: [...document.images].filter((one) => !/^(?:data|blob):/.test(one.src)).map((one) => one.src),
        drawings: all.filter((one) => one.tagName.toLowerCase() === 'svg' && !own(one)).map((one) => one.outerHTML.slice(0, 200)),
        links: [...document.links].filter((one) => !/^(?:https?:|mailto:)/.test(one.href) || (one.origin !== location.origin && !/noopener/.test(one.rel))).map((one) => one.outerHTML.slice(0, 200)),
        hidden: getComputedStyle(document.body).display === 'none',
      };
    }, FOREIGN);
    equal(found, { ran: [null, []], foreign: [], scripts: [], handlers: [], images: [], drawings: [], links: [], hidden: false });
    equal(one.dialogs, []);
    await one.fits();
  };
  const visits = async (name, address, more) => {
    await step(`${name} stays text`, async () => {
      await one.go(...address);
      await page.waitForFunction(() => document.querySelector('main h1, main h2') && !document.querySelector('main .busy'));
      await page.waitForTimeout(250);
      await more?.();
      await isText();
    });
    await one.shot(`hostile ${name}`);
  };
  const unfold = () => page.evaluate(() => { for (const one of document.querySelectorAll('main details')) one.open = true; });
  /** Scrolls a conversation to its beginning. */
  const upwards = async () => {
    const older = page.locator('.older');
    for (let n = 0; n < 60; n += 1) {
      await page.locator('.scroll').evaluate((box) => { box.scrollTop = Math.max(0, box.scrollTop - 3000); });
      await page.waitForTimeout(40);
      await isText();
      if (await page.locator('.scroll').evaluate((box) => box.scrollTop === 0) && await older.count() === 0) break;
    }
  };

  await visits('a conversation', ['talk', 'http:hostile'], upwards);
  await visits('what tools were given and answered', ['talk', 'http:tools'], async () => { await unfold(); await page.waitForTimeout(300); await upwards(); });
  await visits('names of attached files', ['talk', 'http:files']);
  await one.isAccessible('hostile names of files');
  await visits('ids and names of sessions', ['talk']);
  for (const [n, id] of SESSIONS.entries()) {
    if (n % 4 === 0) await visits(`the session ${n} with a hostile id`, ['talk', id]);
    if (n % 4 === 2) await visits(`the tape ${n} with a hostile id`, ['tape', id]);
  }
  await visits('the list of tapes', ['tape']);
  await visits('a tape', ['tape', 'http:hostile'], async () => {
    const { last } = await api('GET', '/v1/sessions/http%3Ahostile/outline');
    for (let n = 0; n < 12; n += 1) {
      await page.locator('.timeline').evaluate((box, share) => { box.scrollTop = box.scrollHeight * share; }, n / 11);
      await page.waitForTimeout(120);
      await isText();
    }
    const { entries } = await api('GET', '/v1/sessions/http%3Ahostile/entries?kind=message&after=0&max=256');
    for (const entry of entries.slice(0, last).filter((_, at) => at % 9 === 0)) {
      await one.go('tape', 'http:hostile', String(entry.id));
      await one.get('complementary', `Entry ${entry.id}`).waitFor();
      await isText();
      await one.get('button', 'JSON').click();
      await isText();
    }
  });
  await visits('the tape of tools', ['tape', 'http:tools']);
  await visits('memory', ['memory']);
  await one.isAccessible('a hostile memory');
  await visits('plugins', ['plugins']);
  for (const name of PLUGINS) await visits(`the plugin ${name}`, ['plugins', name]);
  await one.isAccessible('a hostile plugin');
  await visits('costs', ['costs'], async () => { await one.get('group', 'Sums by').getByRole('button', { name: 'Session' }).click(); });
  await visits('health', ['costs', 'health']);
  await visits('the log', ['costs', 'log']);
  await step('questions about hostile calls stay text', async () => {
    await one.go('decide');
    await one.get('heading', 'Decide').waitFor();
    const turns = waiting.map((session, n) => api('POST', '/v1/turns', { content: `shell ${n * 9 + 1}`, session_id: `${session}-${form.name}` }));
    await until(async () => await page.locator('.question').count() === waiting.length, 'all questions');
    await isText();
    await one.isAccessible('hostile questions');
    const { approvals } = await api('GET', '/v1/approvals');
    for (const { id } of approvals) await api('POST', `/v1/approvals/${id}`, { decision: 'no' });
    const outcomes = await Promise.all(turns);
    assert(outcomes.length === waiting.length);
  });
  for (const address of ['#/%E0%A4%A', '#/constructor', '#/talk/%3Cscript%3E', '#/tape/..%2F..%2Fx', '#/<img src=x onerror=globalThis.__pwned=1>', '#/login/<svg onload=globalThis.__pwned=1>']) {
    await step(`the address ${address} stays text`, async () => {
      one.expects.push(/status of 401/);
      await page.evaluate((hash) => { location.hash = hash; }, address);
      await page.waitForTimeout(300);
      await isText();
    });
  }
  await one.close();
}
