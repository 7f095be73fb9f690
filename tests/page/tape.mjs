// The tape: its entries, what the model sees of them, handoff, fork and export.
import { readFileSync } from 'node:fs';
import { FORMS, Watched, api, assert, check, equal, play, say, sessionPath, until } from './lib.mjs';

await play(async (browser) => {
  for (const form of FORMS) await tape(browser, form);
});

async function tape(browser, form) {
  const one = await Watched.open(browser, form);
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);
  const session = `http:tape-${form.name}`;
  for (const content of ['read note.txt', 'the heron eats fish', 'the stork stands in the meadow']) await say(session, content);
  const rows = page.locator('.timeline .vl-row');
  const timeline = page.locator('.timeline');
  const chip = (kind) => one.get('group', 'Kinds of entries').getByRole('button', { name: kind });
  const outline = () => api('GET', sessionPath(session, '/outline'));

  await step('the tapes are listed', async () => {
    await one.go('tape');
    await one.get('heading', 'Tape').waitFor();
    await page.getByLabel('Search sessions').fill(session);
    await one.isAccessible('the list of tapes');
    await page.locator('.rows a').first().click();
    await rows.first().waitFor();
  });
  await step('the newest entries are seen, and those in the next request are marked', async () => {
    await timeline.getByText('you said: the stork stands in the meadow').first().waitFor();
    await page.locator('.t-mark.is-both').first().waitFor();
    await one.get('img', /^Tokens of the next request: .*history/).waitFor();
  });
  await one.isAccessible('the tape');
  await step('a filter shows one kind', async () => {
    await chip(/^message/).click();
    await until(async () => {
      const kinds = await page.locator('.timeline .vl-row').evaluateAll((all) => [...new Set(all.map((row) => row.className.match(/is-(\w+)/)?.[1]))]);
      return JSON.stringify(kinds) === '["message"]';
    }, 'only messages');
    const { kinds } = await outline();
    equal(await timeline.locator('.vl-row').first().getAttribute('aria-setsize'), String(kinds.message));
    await one.isAccessible('the tape with a filter');
    await chip(/^all/).click();
  });
  await step('the search forgives a typing error', async () => {
    await page.getByLabel('Search the tape').fill('herron eats');
    await page.locator('.hits-count').waitFor();
    await timeline.getByText('the heron eats fish').first().waitFor();
    await one.isAccessible('the tape with a search');
    await page.getByLabel('Search the tape').fill('xylophone');
    await one.sees('Nothing found');
    await page.getByLabel('Search the tape').fill('');
  });
  await step('an entry is opened by key, and its raw JSON is shown', async () => {
    await timeline.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const detail = one.get('complementary', 'Entry 2');
    await detail.waitFor();
    await detail.getByRole('button', { name: 'JSON' }).click();
    const shown = JSON.parse(await detail.locator('pre').innerText());
    const { entries } = await api('GET', sessionPath(session, '/entries?after=1&max=1'));
    equal(shown, entries[0]);
    await one.isAccessible('an entry of the tape');
    await detail.getByRole('button', { name: 'Close the entry' }).click();
    await detail.waitFor({ state: 'detached' });
  });
  await step('a second selector beside the first shows the difference', async () => {
    if (form.isNarrow) await one.get('button', 'Details').click();
    await page.getByLabel('beside').selectOption('context-builder');
    await one.sees(/^Difference: /);
    equal(await page.locator('.request-one').count(), 2);
    if (!form.isNarrow) await one.get('button', 'Details').click();
    await one.isAccessible('the tape with two selectors');
    await page.getByLabel('beside').selectOption('');
    await one.get('button', 'Details').click();
  });
  await step('a text of the next request shows who wrote it', async () => {
    const blame = page.locator('.blame');
    const source = blame.locator('.blame-source');
    await one.get('button', 'Details').click();
    await one.get('button', 'Who wrote what').click();
    await one.sees('Choose a text to see its source.');
    await blame.locator('.blame-span').filter({ hasText: 'the heron eats fish' }).first().click();
    await source.getByRole('link', { name: /^Entry \d+$/ }).waitFor();
    if (!form.isNarrow) await blame.locator('.blame-span').first().hover();
    else await blame.locator('.blame-span').first().focus();
    await source.getByText('builtin').waitFor();
    await one.isAccessible('who wrote what');
    await one.get('button', 'Details').click();
  });
  await step('a handoff begins a phase, and what was before is not in the next request', async () => {
    const marked = async () => (await api('GET', sessionPath(session, '/selection'))).entries.length;
    const before = await marked();
    await one.get('button', 'Actions for this tape').click();
    await one.get('menuitem', 'Hand off').click();
    const dialog = one.get('dialog', 'Hand off to a new phase');
    await dialog.getByLabel('Name').fill('second phase');
    await dialog.getByLabel('Summary').fill('herons and storks');
    await one.isAccessible('the dialog of a handoff');
    await dialog.getByRole('button', { name: 'Hand off' }).click();
    await one.sees(/The anchor is entry \d+/);
    if (form.isNarrow) await page.locator('.anchor-select option', { hasText: 'second phase' }).waitFor({ state: 'attached' });
    else await one.get('navigation', 'Anchors').getByText('second phase').waitFor();
    const after = await marked();
    assert(after < before, { before, after });
    await until(async () => await page.locator('.t-mark.is-both').count() <= after, 'fewer marks');
  });
  await step('the tape is exported as JSON lines and as Markdown', async () => {
    const saved = async (item) => {
      await one.get('button', 'Actions for this tape').click();
      const [download] = await Promise.all([page.waitForEvent('download'), one.get('menuitem', item).click()]);
      return readFileSync(await download.path(), 'utf8');
    };
    const lines = (await saved('Save as JSON lines')).trim().split('\n').map((line) => JSON.parse(line));
    equal(lines.length, (await outline()).entries);
    assert((await saved('Save as Markdown')).startsWith(`# Session ${session}`));
  });
  await step('a fork at the end is a session of its own', async () => {
    await one.get('button', 'Actions for this tape').click();
    await one.get('menuitem', 'Fork at the end').click();
    await one.isAccessible('the question before a fork');
    await page.getByRole('dialog').getByRole('button', { name: 'Fork', exact: true }).click();
    await page.waitForURL(/#\/talk\//);
    await one.sees('you said: the stork stands in the meadow');
    assert(!page.url().endsWith(encodeURIComponent(session)), page.url());
  });
  await one.close();
}
