// Questions before tool calls: on the page of the session, in the list, and on a second page.
import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { FORMS, WORKSPACE, Watched, api, assert, check, equal, play, until } from './lib.mjs';

const { CONFIG } = process.env;

await play(async (browser) => {
  for (const form of FORMS) {
    const name = (sentence) => `${form.name}: ${sentence}`;
    const file = join(WORKSPACE, `${form.name}.txt`);
    const made = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0);
    const ask = `shell echo made >> ${form.name}.txt`;

    const one = await Watched.open(browser, form);
    const two = await Watched.open(browser, form, { expects: [/status of 409/] });
    await check(name('without a question the list says so'), async () => {
      await two.go('decide');
      await two.sees('No pending questions');
    });
    await two.isAccessible('decide without questions');

    await check(name('a question appears in its session, with what would be done'), async () => {
      await one.go('talk');
      await one.get('button', 'New session').first().click();
      await one.field().waitFor();
      await one.says(ask);
      const question = one.get('article', 'Question: bash');
      await question.waitFor();
      const text = await question.innerText();
      for (const word of ['runs a program as you', `echo made >> ${form.name}.txt`, 'Reason', 'Caused by']) assert(text.includes(word), `${word}: ${text}`);
      equal(made(), 0);
    });
    await one.isAccessible('talk with a question');
    await check(name('it appears in the list of all sessions, and in the title'), async () => {
      const question = two.get('article', 'Question: bash');
      await question.waitFor();
      assert((await question.innerText()).includes(ask.replace('shell ', '')), await question.innerText());
      await until(async () => (await two.page.title()).startsWith('(1) '));
      await two.get('link', /^Decide.*1 question/).waitFor();
    });
    await two.isAccessible('decide with a question');
    await check(name('allowed once, the tool runs and the question leaves both pages'), async () => {
      await one.page.waitForTimeout(600);
      await one.get('button', 'Allow once').click();
      await one.sees(/The tool said:/);
      equal(made(), 1);
      await two.sees('No pending questions');
    });
    await check(name('the next call is asked again, and a key denies it'), async () => {
      await one.settles();
      await one.says(ask);
      const question = two.get('article', 'Question: bash');
      await question.waitFor();
      await two.page.waitForTimeout(600);
      await two.page.keyboard.press('j');
      await until(() => question.evaluate((box) => box === document.activeElement));
      await two.page.keyboard.press('n');
      await two.sees('No pending questions');
      await one.settles();
      equal(made(), 1);
    });
    await check(name('a denied call says why'), async () => {
      const call = one.page.locator('details.call.is-error').last();
      await call.locator('summary').click();
      await call.getByRole('button', { name: 'Why?' }).click();
      await call.getByText('`bash` was asked about, and denied').waitFor();
      await call.getByText('owner\'s answer').waitFor();
    });
    await one.isAccessible('talk with the reasons of a decision');
    await check(name('of two answers the first counts, and the second page says who was first'), async () => {
      await one.says(ask);
      await two.get('article', 'Question: bash').waitFor();
      await two.page.waitForTimeout(600);
      await two.page.route('**/v1/approvals/*', async (route) => {
        const id = new URL(route.request().url()).pathname.split('/').at(-1);
        await api('POST', `/v1/approvals/${id}`, { decision: 'no' });
        await route.continue();
      });
      await two.get('button', 'Allow once').click();
      await two.sees(/Another client answered first: .*owner.* has answered/);
      await two.page.unroute('**/v1/approvals/*');
      await one.settles();
      equal(made(), 1);
    });
    await two.isAccessible('decide answered by another');
    await check(name('allowed for the session, the same call is not asked again'), async () => {
      await one.says(ask);
      await one.get('article', 'Question: bash').waitFor();
      await one.page.waitForTimeout(600);
      await one.get('button', 'Allow for the session').click();
      await until(() => made() === 2, 'the second line');
      await one.settles();
      await one.says(ask);
      await until(() => made() === 3, 'the third line');
      await one.settles();
      equal(await one.page.locator('.question').count(), 0);
    });
    await check(name('kept as a rule, a command is not asked again in any session, and config.toml has the rule'), async () => {
      const command = `shell touch ruled-${form.name}`;
      const ruled = join(WORKSPACE, `ruled-${form.name}`);
      await one.says(command);
      const question = one.get('article', 'Question: bash');
      await question.waitFor();
      assert((await question.innerText()).includes(`prefix = ["touch", "ruled-${form.name}"]`), await question.innerText());
      await one.isAccessible('talk with a rule that can be kept');
      await one.get('button', 'Always by rule').click();
      await until(() => existsSync(ruled), 'the file');
      await one.settles();
      assert(readFileSync(CONFIG, 'utf8').includes(`"ruled-${form.name}"`), readFileSync(CONFIG, 'utf8'));
      unlinkSync(ruled);
      await one.go('talk');
      await one.get('button', 'New session').first().click();
      await one.field().waitFor();
      await one.says(command);
      await until(() => existsSync(ruled), 'the file without a question');
      await one.settles();
      equal(await one.page.locator('.question').count(), 0);
    });
    await one.isAccessible('talk after decisions');
    await one.close();
    await two.close();
  }
});
