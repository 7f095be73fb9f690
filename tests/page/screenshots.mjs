// The pictures of the README and of the book.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quantised } from './png.mjs';
import { FORMS, Watched, api, assert, check, play, until } from './lib.mjs';

const MAX_BYTES = 150_000;

await play(async (browser) => {
  const one = await Watched.open(browser, FORMS[0]);
  const { page } = one;
  const picture = (name, show) => check(`docs/src/images/${name}.png`, async () => {
    await show();
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement?.blur());
    await page.waitForTimeout(400);
    const path = join(process.env.IMAGES, `${name}.png`);
    const bytes = quantised(await page.screenshot());
    writeFileSync(path, bytes);
    assert(bytes.length <= MAX_BYTES, `${bytes.length} bytes`);
  });

  await picture('page-talk', async () => {
    await one.go('talk', 'http:release');
    await one.sees(/can go out/);
    await one.field().fill('Tag it and push.');
  });
  await one.field().fill('');
  await picture('page-tape', async () => {
    await one.go('tape', 'http:release');
    await page.locator('.t-mark.is-both').first().waitFor();
    await page.getByLabel('beside').selectOption('context-builder');
    await one.sees(/^Difference: /);
  });
  await picture('page-decide', async () => {
    await one.go('decide');
    await one.get('heading', 'Decide').waitFor();
    const turns = [['http:release', 'Tag it and push.'], ['http:week', 'Write the mail that announces it.']];
    for (const [session, content] of turns) api('POST', '/v1/turns', { content, session_id: session }).catch(() => {});
    await until(async () => await page.locator('.question').count() === turns.length, 'both questions');
    await page.waitForTimeout(800);
  });
  const { approvals } = await api('GET', '/v1/approvals');
  for (const { id } of approvals) await api('POST', `/v1/approvals/${id}`, { decision: 'no' });
  await one.close();
});
