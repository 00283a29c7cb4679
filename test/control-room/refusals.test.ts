/** Requests that a real gateway has refused, in the control room: a list, and a page of each, for operators and managers. */
import t from 'tap'
import { axeProblems, noBrowser, overflow, picture } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { KEY } from '../support/gateway.ts'
import { BOSS, startFilledRoom } from './filled-gateway.ts'

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ')

const POOR = 'sk-router-v1-poor0000000000000000000000'

t.test('refused requests', { skip: noBrowser, timeout: 280_000 }, async (t) => {
  const { room } = await startFilledRoom(t)
  const { gateway } = room
  const made = await gateway.post('/v1/keys', { name: `poor-${'W'.repeat(80)}`, limit: 0.000_001 }, { authorization: `Bearer ${BOSS}` })
  const { key, data } = (await made.json()) as { key: string; data: { hash: string } }
  const refuse = async (body: object, secret: string, status: number): Promise<string> => {
    const reply = await gateway.post(
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'Hello' }], ...body },
      { authorization: `Bearer ${secret}` },
    )
    t.equal(reply.status, status, await reply.text())
    return reply.headers.get('x-generation-id') ?? ''
  }
  const credit = await refuse({ model: 'm/well' }, key, 402)
  await refuse({ model: 'm/none' }, KEY, 404)
  await refuse({ model: 'm/none' }, KEY, 404)
  const wrong = await refuse({ model: 'm/well', temperature: 'hot' }, KEY, 400)
  await refuse({ model: 'm/well' }, POOR, 401)
  await t.test('the list leads to each of them', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/requests')
    await page.getByRole('link', { name: 'Refused requests' }).click()
    const rows = page.getByRole('table', { name: 'Refused requests' }).locator('tbody tr')
    await rows.filter({ hasText: 'model not found' }).first().waitFor()
    const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))
    t.ok(
      texts.some((text) => /404 model not found test 2 .*No such model: m\/none/.test(text)),
      JSON.stringify(texts),
    )
    t.ok(texts.some((text) => /400 bad request test 1 .*temperature/.test(text)))
    t.ok(texts.some((text) => /401 invalid key not known 1 .*Invalid API key/.test(text)))
    t.ok(texts.some((text) => /402 no credit poor-/.test(text)))
    await page.getByLabel('Reason').fill('bad_request')
    await page.getByLabel('Reason').press('Enter')
    await eventually('one row is left', async () => (await rows.count()) === 1)
    await rows.locator('time').last().click()
    await page.getByRole('heading', { name: 'Refused by the gateway' }).waitFor()
    t.match(page.url(), wrong)
    const facts = (await page.locator('main dl').innerText()).replaceAll(/\s+/g, ' ')
    t.match(facts, /Why 400 bad request What the caller read temperature: .* .*Model not read Field temperature Format chat Key test/)
    t.same(
      complaints.filter((each) => !each.includes('404 (Not Found)')),
      [],
    )
    t.same(await axeProblems(page), [])
    await picture(page, 'requests-refused-one-1440')
    await context.close()
  })
  await t.test('the page of a key has them by limit and reason, and "Now" has the last ones', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto(`/control-room/keys/${data.hash}`)
    const mine = page.getByRole('table', { name: 'Refused requests by limit and reason' }).locator('tbody tr')
    await mine.first().waitFor()
    t.match((await mine.allInnerTexts()).map(plain), [
      /^The key’s own: US dollars 402 no credit 1 .*is left under the limit of \$0\.000001 of the key poor/,
    ])
    await mine.locator('a').first().click()
    await page.getByRole('heading', { name: 'Refused by the gateway' }).waitFor()
    t.match(page.url(), credit)
    await page.goto('/control-room/now')
    const last = page.getByRole('table', { name: 'The last refused requests' }).locator('tbody tr')
    await last.filter({ hasText: 'no credit' }).first().waitFor()
    const texts = (await last.allInnerTexts()).map(plain)
    t.ok(
      texts.some((text) => /404 model not found test 2 No such model: m\/none/.test(text)),
      JSON.stringify(texts),
    )
    await last.filter({ hasText: 'temperature' }).locator('time').last().click()
    await page.getByRole('heading', { name: 'Refused by the gateway' }).waitFor()
    t.match(page.url(), wrong)
    t.same(
      complaints.filter((each) => !each.includes('404 (Not Found)')),
      [],
    )
    await context.close()
  })
  await t.test('both fit a phone', async (t) => {
    const { page, context } = await room.open({ width: 390, scheme: 'dark' })
    for (const [path, text] of [
      ['requests/refused', 'No such model: m/none'],
      [`keys/${data.hash}`, 'Refused by the gateway'],
      ['now', 'Refused by the gateway'],
      [`requests/${credit}`, 'What the caller read'],
    ] as const) {
      await page.goto(`/control-room/${path}`)
      await page.getByText(text).first().waitFor()
      t.equal(await overflow(page), 0)
      t.same(await axeProblems(page), [])
      await picture(page, `${path.slice(0, 16).replace('/', '-')}-390-dark`)
    }
    await context.close()
  })
})
