// Costs and health: what was used, what runs, and the log.
import { readFileSync, writeFileSync } from 'node:fs';
import { FORMS, Watched, api, assert, check, equal, play, say, until } from './lib.mjs';

await play(async (browser) => {
  for (const form of FORMS) await costs(browser, form);
});

async function costs(browser, form) {
  const one = await Watched.open(browser, form);
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);
  const session = `http:costs-${form.name}`;

  await step('what a turn used is shown by model, session and day', async () => {
    await say(session, 'hello');
    await one.go('costs');
    const sums = one.get('region', 'Sums');
    await sums.getByText(/fake-model/).waitFor();
    const { days } = await api('GET', '/v1/usage?days=30');
    const prompt = days.reduce((sum, day) => sum + day.prompt_tokens, 0);
    assert(prompt >= 42, days);
    assert((await sums.innerText()).replaceAll(',', '').includes(String(prompt)), `${prompt}: ${await sums.innerText()}`);
    await one.get('group', 'Sums by').getByRole('button', { name: 'Session' }).click();
    await sums.getByText(session).waitFor();
    await page.locator('.plot canvas').first().waitFor();
  });
  await one.isAccessible('the costs');
  await step('the budget is shown', async () => {
    await one.get('region', 'Budgets').waitFor();
  });
  await step('a running turn is shown with its stage, and is stopped', async () => {
    const turn = say(session, `wait at costs-${form.name}`).catch((error) => error);
    await one.go('costs', 'health');
    const running = one.get('region', 'Running turns');
    await running.getByText(session).waitFor();
    await running.getByText(/prepares a request|answers/).waitFor();
    await one.get('region', 'The last turns').locator('canvas').waitFor();
    await one.isAccessible('the health with a running turn');
    await running.getByRole('button', { name: 'Stop' }).click();
    await running.getByText('No turn runs').waitFor();
    await turn;
    equal((await api('GET', '/v1/running')).turns, []);
  });
  await step('the server says that it is ready', async () => {
    await one.get('region', 'Readiness').getByText('ready', { exact: true }).waitFor();
  });
  await step('a line of the log appears', async () => {
    await one.go('costs', 'log');
    await one.get('heading', 'Costs').waitFor();
    const config = process.env.CONFIG;
    const before = readFileSync(config, 'utf8');
    writeFileSync(config, `no_such_key_${form.name.replace('-', '_')} = 1\n${before}`);
    await one.sees(new RegExp(`no_such_key_${form.name.replace('-', '_')}`));
    writeFileSync(config, before);
    await until(async () => (await page.locator('.view.costs').innerText()).includes('warn'), 'its level');
  });
  await one.isAccessible('the log');
  await one.close();
}
