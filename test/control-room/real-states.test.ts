/** Pages of the control room at a real gateway in states that operators meet: no reply is the test's own. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { noBrowser, startRoom } from '../support/browser.ts'
import type { Gateway } from '../support/gateway.ts'
import { type Script, startUpstream } from '../support/upstream.ts'
import { says, upstreamError } from '../support/wire.ts'

const LIMIT = 240_000

/** A provider for each state, by the first part of its path. */
async function startProviders(t: Test, scripts: Readonly<Record<string, Script>>): Promise<string> {
  const upstream = await startUpstream((seen, place) => {
    const script = scripts[seen.path.split('/')[1] ?? '']
    return script ? script(seen, place) : says({ text: ['fine'] })(seen, place)
  })
  t.teardown(() => upstream.close())
  return upstream.url
}

const ask = (gateway: Gateway, model: string): Promise<number> =>
  gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }).then(async (reply) => {
    await reply.text()
    return reply.status
  })

/** The cells of the row that has this text in its first one. */
const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

t.test('Now, with a provider in each state', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const limited: Script = () => upstreamError(429, 'slow down', { 'retry-after': '600' })
  const url = await startProviders(t, { limited, broken: () => upstreamError(503, 'down') })
  const names = ['well', 'limited', 'broken', 'ejected', 'unused']
  const closed = 'http://127.0.0.1:9/v1'
  const room = await startRoom(
    t,
    `
providers:
${names.map((name) => `  ${name}: { dialect: openai-chat, name: P ${name}, base_url: "${name === 'ejected' ? closed : `${url}/${name}/v1`}", key: sk-up }`).join('\n')}
  closed: { dialect: openai-chat, name: P closed, base_url: "${closed}", key: sk-up }
models:
${[...names, 'closed'].map((name) => `  m/${name}: { endpoints: [ { provider: ${name}, model: m, price: { prompt: "1.00", completion: "1.00" } } ] }`).join('\n')}
`,
  )
  const { gateway } = room
  const { page, complaints } = await room.open()
  for (const name of ['well', 'limited', 'broken', 'closed']) await ask(gateway, `m/${name}`)
  for (let i = 0; i < 6; i++) await ask(gateway, 'm/ejected')
  await page.goto('/control-room/now')
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
  const health = async (name: string): Promise<string> => {
    const row = rowOf(page, `P ${name}`)
    await row.waitFor()
    return (await row.getByRole('cell').nth(0).textContent()) ?? ''
  }
  t.match(await health('well'), /^Healthy$/)
  t.match(await health('limited'), /^Rate limited.*m\/limited rate limited, [\d.]+ m?s left$/)
  t.match(await health('broken'), /^Failing.*m\/broken failed just now/)
  t.match(await health('closed'), /^Failing.*m\/closed failed just now.*Provider could not be reached/)
  t.match(await health('ejected'), /^Ejected.*m\/ejected ejected, [\d.]+ m?s left.*Provider could not be reached/)
  t.match(await health('unused'), /^Not used yet$/)
  t.same(complaints, [], 'no error')
})
