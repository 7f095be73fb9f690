// Memory: added, corrected, compared with its versions, and forgotten after a preview.
import { FORMS, Watched, assert, check, equal, play, say, until } from './lib.mjs';

await play(async (browser) => {
  for (const [n, form] of FORMS.entries()) await memory(browser, form, n === 0);
});

async function memory(browser, form, isFirst) {
  const one = await Watched.open(browser, form);
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);
  const lines = page.locator('.memory-lines');
  const fact = `The heron of ${form.name} eats "fish" \\ and <b>frogs</b>`;
  const region = (name) => one.get('region', name, { exact: true });
  const versions = () => page.locator('.history-list button').count();

  await step(isFirst ? 'an empty memory says so' : 'the memory is shown', async () => {
    await one.go('memory');
    if (isFirst) await one.sees('Nothing is remembered');
    else await lines.waitFor();
  });
  await one.isAccessible(isFirst ? 'an empty memory' : 'the memory at first');
  const before = await versions();
  await step('a fact is added as it was typed', async () => {
    await page.getByLabel('Remember').fill(fact);
    await page.getByLabel('Remember').press('Enter');
    await lines.getByText(fact, { exact: true }).waitFor();
    await until(async () => await versions() === before + 1, 'a version more');
  });
  await step('a note of today is added', async () => {
    await page.getByLabel('Note of today').fill(`watched herons in ${form.name}`);
    await region('Daily notes').getByRole('button', { name: 'Add' }).click();
    await region('Daily notes').getByText(`watched herons in ${form.name}`).waitFor();
  });
  await one.isAccessible('the memory');
  await step('the model reads it', async () => {
    const { model_output: said } = await say(`http:reader-${form.name}`, 'remember? everything');
    assert(said.includes(fact), said);
  });
  await step('it is corrected, and the difference is shown before', async () => {
    await one.get('button', 'Correct').click();
    const dialog = one.get('dialog', 'Correct the long-term memory');
    const text = await dialog.getByLabel('Text').inputValue();
    await dialog.getByLabel('Text').fill(text.replace(fact, `${fact} and eels`));
    await dialog.getByText('and eels').last().waitFor();
    await one.isAccessible('the dialog that corrects');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await lines.getByText(`${fact} and eels`, { exact: true }).waitFor();
  });
  await step('its history compares any two versions', async () => {
    const now = before + 3;
    await until(async () => await versions() === now, `${now} versions`);
    await region('Versions').getByText(/Changes of version/).waitFor();
    await page.locator('.history-list button').last().click();
    await until(async () => (await page.locator('.history-list button').last().getAttribute('aria-pressed')) === 'true');
    await page.locator('.history-list button').first().click();
    await page.locator('.history-diff').getByText('and eels').first().waitFor();
  });
  await one.isAccessible('the history of the memory');
  await step('a preview shows what would be forgotten, and then it is gone', async () => {
    const forget = region('Forget');
    await forget.getByLabel('Text or date').fill(`heron of ${form.name}`);
    await forget.getByRole('button', { name: 'Preview' }).click();
    await forget.locator('pre').getByText(/frogs/).waitFor();
    equal(await lines.getByText(`${fact} and eels`, { exact: true }).count(), 1);
    await one.isAccessible('the preview of what is forgotten');
    await forget.getByRole('button', { name: 'Forget this' }).click();
    await until(async () => await lines.getByText(/frogs/).count() === 0, 'it is gone');
  });
  await step('the memory of a session is another one', async () => {
    await one.get('group', 'Scope').getByRole('button', { name: 'Session' }).click();
    await one.sees('Nothing is remembered');
  });
  await one.isAccessible('the memory of a session');
  await step('a fact is kept for the next form', async () => {
    await say('http:page', `,memory.add content="kept by ${form.name}"`);
  });
  await one.close();
}
