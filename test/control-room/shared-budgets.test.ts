/** Budgets that keys share, in a real browser at the real gateway: what is left of them, the keys under them, and a key that is put under one. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture } from '../support/browser.ts'
import { BOSS, startFilledRoom } from './filled-gateway.ts'

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ')

t.test('shared budgets', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const { room } = await startFilledRoom(
    t,
    'budgets: { team-a: { daily: "20.00", lifetime: "100.00", parent: acme }, acme: { monthly: "15.00" } }',
  )
  const { gateway } = room
  const as = { authorization: `Bearer ${BOSS}` }
  const made = await gateway.post('/v1/keys', { name: 'app', parent: 'team-a' }, as)
  const { key } = (await made.json()) as { key: string }
  const body = { model: 'm/well', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 }
  t.equal((await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })).status, 200)
  await t.test('a key is made under one, and its page says what is left', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/keys')
    const rows = page.getByRole('table', { name: 'Shared budgets' }).locator('tbody tr')
    await rows.first().waitFor()
    t.match((await rows.allInnerTexts()).map(plain), [
      /^team-a in acme Day \$20\.00 \$0\.\d+ \$19\.9\d* .* 1$/,
      /^team-a in acme In all \$100\.00 \$0\.\d+ \$99\.9\d* .* Never 1$/,
      /^acme Month \$15\.00 \$0\.\d+ \$14\.9\d* .* 0$/,
    ])
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name').fill('second')
    await page.getByLabel('Shared budget', { exact: true }).selectOption('team-a')
    t.same(await axeProblems(page), [])
    await page.getByRole('button', { name: 'Create it' }).click()
    await page.getByRole('button', { name: 'I have it' }).click()
    await page.getByRole('link', { name: 'second', exact: true }).click()
    const about = page.locator('dl.about')
    await about.getByText('With app').waitFor()
    t.match(
      plain(await about.innerText()),
      /Shared budget team-a In acme: \$14\.9\d* left at all Day: \$19\.9\d* of \$20\.00 left In all: .* With app/,
    )
    await picture(page, 'keys-shared-1440')
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Shared budget', { exact: true }).selectOption('')
    await page.getByRole('button', { name: 'Change it' }).click()
    await about.getByText('Shared budget').waitFor({ state: 'detached' })
    t.same(complaints, [])
    await context.close()
  })
  await t.test('it fits a phone', async (t) => {
    const { page, context } = await room.open({ width: 390, scheme: 'dark' })
    await page.goto('/control-room/keys')
    await page.getByRole('table', { name: 'Shared budgets' }).locator('tbody tr').first().waitFor()
    t.equal(await overflow(page), 0)
    t.same(await axeProblems(page), [])
    await context.close()
  })
})
