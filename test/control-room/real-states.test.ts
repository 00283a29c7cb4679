/** Pages of the control room at a real gateway in states that operators meet: no reply is the test's own. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { axeProblems, noBrowser, overflow, picture, startRoom } from '../support/browser.ts'
import { type Gateway, KEY } from '../support/gateway.ts'
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
const pageRow = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

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
    const row = pageRow(page, `P ${name}`)
    await row.waitFor()
    return (await row.getByRole('cell').nth(0).textContent()) ?? ''
  }
  t.match(await health('well'), /^Healthy$/)
  t.match(await health('limited'), /^Rate limited.*m\/limited rate limited, [\d.]+ m?s left$/)
  t.match(await health('broken'), /^Failing.*m\/broken failed just now/)
  t.match(await health('closed'), /^Failing.*m\/closed failed just now.*Provider could not be reached \(refused\)/)
  // An ejection is short: on a busy machine it may be over.
  t.match(await health('ejected'), /^(?:Ejected.*m\/ejected ejected, [\d.]+ m?s left|Failing).*Provider could not be reached/)
  t.match(await health('unused'), /^Not used yet$/)
  t.same(complaints, [], 'no error')
})

t.test('keys, findings and a bad image, as the gateway has them', { skip: noBrowser, timeout: LIMIT }, async (t) => {
  const broken =
    '{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"here","images":[{"type":"image_url","image_url":{"url":"https://["}}]}}],"usage":{"prompt_tokens":1000,"completion_tokens":1000,"total_tokens":2000}}'
  const url = await startProviders(t, {
    image: ({ body }) =>
      String(body).includes('"stream":true')
        ? {
            headers: { 'content-type': 'text/event-stream' },
            body: [
              'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"here","images":[{"type":"image_url","image_url":{"url":"https://["}}]}}]}\n\n',
              'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}\n\ndata: [DONE]\n\n',
            ],
          }
        : { headers: { 'content-type': 'application/json' }, body: [broken] },
  })
  const room = await startRoom(
    t,
    `
auth: { sign_in: {}, keys: [ { name: app, key: "${KEY}" } ] }
providers:
  image: { dialect: openai-chat, name: Images, base_url: "${url}/image/v1", key: sk-up }
guardrails:
  - { name: words, phrases: [forbidden], action: block }
models:
  m/image: { output: [text, image], endpoints: [ { provider: image, model: m, price: { prompt: "100", completion: "100" } } ] }
`,
  )
  const { gateway } = room
  const post = async (path: string, body: unknown, key = KEY): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    return (await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  const proof = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
  const label = `application-${'x'.repeat(80)}`
  const { data } = (await post('/v1/auth/keys/code', { callback_url: 'http://127.0.0.1:3000/x', key_label: label, ...proof })) as {
    data: { id: string }
  }
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const { key: issued } = (await post('/v1/auth/keys', { code: data.id, code_verifier: verifier, code_challenge_method: 'S256' })) as {
    key: string
  }
  const chat = (content: string, key = KEY): Promise<unknown> =>
    post('/v1/chat/completions', { model: 'm/image', messages: [{ role: 'user', content }] }, key)
  await chat('Hello', issued)
  for (const place of ['one', 'two', 'three']) await chat(`forbidden ${place}`)

  await t.test('what an issued key spent counts once', async (t) => {
    const { page, complaints, context } = await room.open()
    await page.goto('/control-room/keys')
    const month = page.locator('.figure', { hasText: 'This month' }).locator('.figure-value')
    await month.getByText('$0.20').waitFor()
    t.equal(await month.textContent(), '$0.20', '2,000 tokens at $100 a million')
    t.same(complaints, [])
    await context.close()
  })
  await t.test('a key page with a name without spaces fits a phone', async (t) => {
    const { page, context } = await room.open({ width: 390 })
    await page.goto('/control-room/keys')
    await page.getByRole('link', { name: label }).first().click()
    await page.getByRole('heading', { level: 1, name: label }).waitFor()
    t.equal(await overflow(page), 0)
    await context.close()
  })
  await t.test('findings, the newest first, and each leads to what became of its request', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/guardrails')
    const rows = page.getByRole('table', { name: 'What guardrails have found' }).locator('tbody tr')
    await rows.nth(2).waitFor()
    const times = await rows.locator('time').evaluateAll((found) => found.map((each) => each.getAttribute('datetime')))
    t.same(times, [...times].sort().reverse())
    t.equal(await rows.getByText('Refused, not sent').count(), 3)
    await rows.getByRole('link', { name: 'Show it' }).first().click()
    await page.getByRole('heading', { name: 'Refused by a guardrail' }).waitFor()
    const found = page.getByRole('table', { name: 'What guardrails have found in it' }).locator('tbody tr')
    t.equal(await found.count(), 1, 'that of this request alone')
    t.match(await found.innerText(), /words[\s\S]*blocked[\s\S]*in a request[\s\S]*app/)
    t.same(await axeProblems(page), [])
    await picture(page, 'requests-refused-1440')
    await page.goto(`/control-room/requests/gen-1-${'a'.repeat(12)}`)
    await page.getByText('No such generation').waitFor()
    t.same(
      complaints.filter((each) => !each.includes('404 (Not Found)')),
      [],
    )
    await context.close()
  })
  await t.test('a bad address of an image leaves the playground as it is', async (t) => {
    const { page, context, complaints } = await room.open()
    await page.goto('/control-room/models/playground?model=m%2Fimage')
    await page.getByRole('textbox').first().waitFor()
    await page.getByLabel('Key that pays').fill(KEY)
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('An image of a form that is not shown').first().waitFor()
    t.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
    t.same(complaints, [])
    await context.close()
  })
})
