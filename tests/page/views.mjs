// Every view by keyboard alone, and in Chinese.
import { BASE, CHINESE, FORMS, Watched, assert, check, equal, play, until } from './lib.mjs';

const VIEWS = { t: 'Talk', d: 'Decide', l: 'Tape', m: 'Memory', p: 'Plugins', c: 'Costs' };
const ADDRESSES = [['talk'], ['talk', 'http:views'], ['decide'], ['tape'], ['tape', 'http:views'], ['tape', 'http:views', '2'], ['memory'], ['plugins'], ['plugins', 'memory'], ['costs'], ['costs', 'health'], ['costs', 'log']];

await play(async (browser) => {
  for (const form of FORMS) await keyboard(browser, form);
  await chinese(browser);
});

/** Waits until a view has loaded what it shows. */
async function loaded(one) {
  await one.page.waitForFunction(() => document.querySelector('main h1, main h2') && !document.querySelector('main .busy'));
  await one.page.waitForTimeout(300);
}

async function keyboard(browser, form) {
  const one = await Watched.open(browser, form);
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);
  const keys = page.keyboard;
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '');

  await one.go('talk');
  await loaded(one);
  await step('the first Tab offers to skip to the content', async () => {
    await keys.press('Tab');
    equal(await focused(), 'Skip to content');
    await keys.press('Enter');
    equal(await page.evaluate(() => document.activeElement.id), 'main');
  });
  await step('`?` opens the sheet of keys, and Escape closes it', async () => {
    await keys.press('?');
    await one.get('dialog', 'Keys and help').waitFor();
    await one.isAccessible('the sheet of keys');
    await keys.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
  for (const [key, title] of Object.entries(VIEWS)) {
    await step(`the keys g ${key} open ${title}`, async () => {
      await keys.press('g');
      await keys.press(key);
      await until(async () => (await page.title()).includes(`${title} · Bub`), title);
      await page.locator('[aria-current=page]').filter({ hasText: title }).first().waitFor();
    });
  }
  for (const address of ADDRESSES) {
    await one.go(...address);
    await loaded(one);
    await step(`Tab reaches every control of ${address.join('/')}, and each shows the focus`, () => reaches(page));
  }
  await step('a view is opened by Tab and Enter', async () => {
    await page.reload();
    await loaded(one);
    for (let n = 0; n < 12 && !(await focused()).startsWith('Memory'); n += 1) await keys.press('Tab');
    await keys.press('Enter');
    await one.get('heading', 'Memory', { exact: true }).waitFor();
  });
  await step('the menu of settings is used by keys, and gives the focus back', async () => {
    const button = one.get('button', 'Settings');
    await button.focus();
    await keys.press('Enter');
    await one.get('menuitem', 'Keys and help').waitFor();
    await keys.press('ArrowDown');
    await keys.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert(await button.evaluate((own) => own === document.activeElement));
  });
  await one.close();
}

/** Presses Tab until the focus comes round, and compares with the controls that there are. */
async function reaches(page) {
  await page.evaluate(() => { document.activeElement?.blur(); getSelection()?.removeAllRanges(); document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); globalThis.__seen = new Set(); });
  const controls = () => page.evaluate(() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0 && one.closest('[inert]') === null && !globalThis.__seen.has(one))
    .map((one) => one.outerHTML.slice(0, 160)));
  const bare = [];
  let round = 0;
  for (let n = 0; n < 400; n += 1) {
    await page.keyboard.press('Tab');
    const state = await page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body) return 'end';
      if (globalThis.__seen.has(one)) return 'again';
      globalThis.__seen.add(one);
      const shows = (box) => { const { outlineStyle, boxShadow, borderColor } = getComputedStyle(box); return outlineStyle !== 'none' || boxShadow !== 'none' || (box !== one && borderColor); };
      return shows(one) || shows(one.parentElement) ? 'new' : `bare ${one.outerHTML.slice(0, 160)}`;
    });
    if (state.startsWith('bare')) bare.push(state);
    if (state === 'end' || state === 'again') { round += 1; if (round > 1) break; } else round = 0;
  }
  equal(await controls(), [], 'these are not reached');
  equal(bare, [], 'these show no focus');
}

async function chinese(browser) {
  const one = await Watched.open(browser, CHINESE);
  const { page } = one;
  for (const address of ADDRESSES) {
    await check(`${CHINESE.name}: all words of ${address.join('/')} are Chinese`, async () => {
      await one.go(...address);
      await loaded(one);
      equal(await page.evaluate(() => document.documentElement.lang), 'zh-Hans');
      const foreign = await page.evaluate(() => [...document.querySelectorAll('button, h1, h2, h3, legend, th, dt, label > span, .nav-views a, [aria-label], [placeholder], [title]')]
        .flatMap((one) => [one.getAttribute('aria-label'), one.getAttribute('placeholder'), one.closest('bdi, code, pre, [dir=auto], .others') || one.querySelector('bdi, code, [dir=auto]') || ['VALUE'].includes(one.tagName) ? null : one.textContent])
        .filter((text) => text && /[a-z]{3,}/i.test(text) && !/[\u4e00-\u9fff]/.test(text))
        .filter((text) => !/^(?:JSON|English|Bub|memory|Token|(?:event|message|anchor|system|error|tool_call|tool_result) \d+)$/.test(text.trim())));
      equal([...new Set(foreign)], []);
    });
    await one.isAccessible(address.join('/'));
  }
  await check(`${CHINESE.name}: the language is changed back from the menu`, async () => {
    await one.get('button', '设置').click();
    await one.get('menuitem', 'English').click();
    await one.get('button', 'Settings').waitFor();
    await page.reload();
    await one.get('button', 'Settings').waitFor();
    assert((await page.evaluate(() => document.documentElement.lang)) === 'en', BASE);
  });
  await one.close();
}
