/** The forecast of a key in a real browser: the list of keys and the page of a key show that of the API, and no other. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { noBrowser, picture, startRoom } from '../support/browser.ts'
import { JumpingClock } from '../support/clock.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'

interface Budget {
  readonly data: {
    readonly limit: number
    readonly forecast: { readonly per_day: number; readonly used_at_end: number | null; readonly runs_out_at: string | null }
  }
}

const dollars = (usd: number): string => `$${usd.toFixed(2)}`

t.test('a forecast is that of the API', { skip: noBrowser, timeout: 240_000 }, async (t) => {
  const clock = new JumpingClock()
  clock.jumpTo('2026-11-02T10:00:00Z')
  const upstream = await startUpstream(says({ text: ['fine'], usage: { input: 1_000, output: 0 } }))
  t.teardown(() => upstream.close())
  const room = await startRoom(
    t,
    `
auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }
providers:
  up: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-up }
models:
  m/one: { context: 100000, max_output: 1000, endpoints: [ { provider: up, model: m, price: { prompt: "1000", completion: "1.00" } } ] }
`,
    { clock },
  )
  const { gateway } = room
  const management = { authorization: `Bearer ${BOSS}` }
  const make = async (name: string, limit: number, reset: string | null): Promise<{ hash: string; secret: string }> => {
    const reply = await gateway.post('/v1/keys', { name, limit, limit_reset: reset }, management)
    const { key, data } = (await reply.json()) as { key: string; data: { hash: string } }
    return { hash: data.hash, secret: key }
  }
  const keys = {
    // Nothing was spent until the 28th: the mean of the whole period says that both last.
    once: await make('once', 2.6, null),
    month: await make('month', 2.6, 'monthly'),
    enough: await make('enough', 50, 'monthly'),
    idle: await make('idle', 5, 'weekly'),
    open: { hash: '', secret: '' },
  }
  const { key, data } = (await (await gateway.post('/v1/keys', { name: 'open' }, management)).json()) as {
    key: string
    data: { hash: string }
  }
  keys.open = { hash: data.hash, secret: key }
  clock.jumpTo('2026-11-28T10:00:00Z')
  for (const { secret } of [keys.once, keys.month, keys.enough, keys.open]) {
    const body = { model: 'm/one', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }
    const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${secret}` })
    t.equal(reply.status, 200)
    await reply.text()
  }
  const hashBudget = async (hash: string): Promise<Budget['data']> =>
    ((await (await gateway.get(`/v1/keys/${hash}/budget`, management)).json()) as Budget).data
  const local = (iso: string | null, page: Page): Promise<string> =>
    page.evaluate<string>(
      `new Date(${JSON.stringify(iso)}).toLocaleString('en-GB', { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false })`,
    )

  const { page, complaints } = await room.open()
  await page.clock.setFixedTime(new Date(clock.now()))
  const expected: Record<string, string> = {}
  for (const [name, { hash }] of Object.entries(keys)) {
    const { limit, forecast } = await hashBudget(hash)
    if (name === 'open') expected[name] = '–'
    else if (forecast.runs_out_at) expected[name] = `Runs out ${await local(forecast.runs_out_at, page)}`
    else if (forecast.per_day === 0) expected[name] = 'Nothing spent of late'
    else expected[name] = `Lasts ${dollars(limit - (forecast.used_at_end ?? 0))} left over`
  }
  t.match(expected, { once: /^Runs out 30 Nov/, month: /^Runs out 30 Nov/, enough: /^Lasts/, idle: /^Nothing/ }, JSON.stringify(expected))

  await page.goto('/control-room/keys')
  const rows = page.getByRole('table', { name: 'Keys' }).locator('tbody tr')
  await rows.first().waitFor()
  for (const [name, text] of Object.entries(expected)) {
    const row = rows.filter({ has: page.getByRole('link', { name, exact: true }) })
    t.equal((await row.locator('td').nth(1).innerText()).trim(), text, `${name} in the list`)
  }
  await picture(page, 'keys-forecast-1440-light')
  for (const [name, { hash }] of Object.entries(keys)) {
    if (name === 'open') continue
    const { forecast } = await hashBudget(hash)
    await page.goto(`/control-room/keys/${hash}`)
    await page.locator('.budget-now').waitFor()
    t.ok((await page.locator('.budget-now').innerText()).includes(expected[name] ?? '?'), `${name} on its page`)
    const pace = page.getByText(`At ${dollars(forecast.per_day)} a day, the mean of the last day.`)
    t.equal(await pace.count(), forecast.per_day > 0 ? 1 : 0, `${name}: the pace of the API`)
    // The latest time of the chart is where the forecast ends.
    await page.getByRole('button', { name: 'Table' }).first().click()
    const end = page.getByRole('table', { name: 'Left of the limit, as a table' }).locator('tbody tr').first()
    const left = forecast.runs_out_at ? '$0.00' : dollars((await hashBudget(hash)).limit - (forecast.used_at_end ?? 0))
    t.equal((await end.locator('td').last().innerText()).trim(), left, `${name}: the end of the chart`)
    if (name === 'once') await picture(page, 'keys-one-forecast-1440-light')
  }
  t.same(complaints, [])
})
