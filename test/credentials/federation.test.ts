/** `credential: { openai: ... }` and `{ anthropic: ... }` from outside: identity tokens that the provider exchanges, and its refusals. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { check } from '../../src/cli/check.ts'
import { AUDIENCES } from '../support/clouds/federation.ts'
import { BOSS, federationScene, PROVIDERS } from '../support/clouds/federation-scene.ts'
import { eventually } from '../support/eventually.ts'
import { printed } from '../support/printed.ts'
import { type Answer, jsonAnswer } from '../support/upstream.ts'

t.test('every kind of call has the token that its provider exchanged', async (t) => {
  const { federation, gateway, chat, shown } = await federationScene(t)
  const { refused } = federation
  t.equal((await chat('openai')).status, 200, refused.join())
  t.equal((await chat('anthropic')).status, 200, refused.join())
  t.equal((await gateway.post('/v1/embeddings', { model: 'acme/vectors', input: 'hi' })).status, 200)
  const messages = { model: 'acme/anthropic', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  t.match(await (await gateway.post('/v1/messages/count_tokens', messages)).json(), { input_tokens: 42 }, "the provider's own count")
  await eventually('the list of models', async () => (await (await gateway.get('/v1/models')).text()).includes('openai/listed'))
  for (const provider of PROVIDERS) {
    const passed = await gateway.post(`/v1/passage/${provider}/v1/anything`, { a: 1 })
    t.equal(passed.status, 200, `the pass-through to ${provider}: ${await passed.text()}`)
  }
  t.equal(federation.exchanges.length, 2, 'one exchange for each provider')
  t.ok(federation.calls.length >= 7)
  t.strictSame(await shown(''), [])
})

t.test('names of betas that a caller has stay beside that for the token, in one header', async (t) => {
  const { federation, gateway } = await federationScene(t)
  const body = { model: 'acme/anthropic', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  const betas = { 'anthropic-beta': 'context-1m-2025-08-07, oauth-2025-04-20' }
  const sent = (): string[] =>
    (federation.calls.at(-1)?.rawHeaders ?? []).filter((_, at, all) => all[at - 1]?.toLowerCase() === 'anthropic-beta')
  t.equal((await gateway.post('/v1/messages', body, betas)).status, 200)
  t.strictSame(sent(), ['context-1m-2025-08-07,oauth-2025-04-20'])
  t.equal(
    (await gateway.post('/v1/passage/anthropic/v1/messages', body, { ...betas, 'anthropic-beta': 'context-1m-2025-08-07' })).status,
    200,
  )
  t.strictSame(sent(), ['context-1m-2025-08-07,oauth-2025-04-20'])
  t.equal((await gateway.post('/v1/messages', body)).status, 200)
  t.strictSame(sent(), ['oauth-2025-04-20'])
})

t.test('tokens that end while requests come, from files that are renewed, cause no failed request', async (t) => {
  const { federation, clock, token, chat } = await federationScene(t)
  federation.life = 600
  const statuses: number[] = []
  for (let minute = 0; minute < 40; minute++) {
    // As the kubelet does: a token of the first file would have ended.
    if (minute % 20 === 0)
      for (const provider of PROVIDERS) {
        const seconds = Math.floor(clock.now() / 1000)
        writeFileSync(token[provider], federation.clusterToken(AUDIENCES[provider], { iat: seconds, exp: seconds + 1500 }))
      }
    for (const { status } of await Promise.all(PROVIDERS.flatMap((provider) => [chat(provider), chat(provider)]))) statuses.push(status)
    await clock.advance(60_000)
  }
  t.strictSame(new Set(statuses), new Set([200]), `${statuses.length} requests over forty minutes`)
  for (const provider of PROVIDERS) {
    const calls = federation.calls.filter(({ path }) => path.startsWith(`/${provider}/`))
    t.ok(new Set(calls.map(({ headers }) => headers.authorization)).size >= 4, `${provider}: four tokens or more`)
  }
  t.strictSame(federation.refused, [])
})

t.test('requests that wait share one exchange, and an outage is survived while a token holds', async (t) => {
  const made = await federationScene(t)
  const { federation, clock, gateway, chat } = made
  const first = await Promise.all(Array.from({ length: 10 }, () => chat('anthropic')))
  t.strictSame(
    first.map(({ status }) => status),
    Array.from({ length: 10 }, () => 200),
  )
  t.equal(federation.exchanges.filter(({ path }) => path.startsWith('/v1/')).length, 1)
  federation.instead = { status: 503, body: ['down'] }
  for (let minute = 0; minute < 59; minute++) {
    await clock.advance(60_000)
    if (minute % 7 === 0) t.equal((await chat('anthropic')).status, 200, `${minute} minutes`)
  }
  await clock.advance(2 * 60_000)
  const reply = await chat('anthropic')
  t.equal(reply.status, 500, 'an outage of the exchange is no refusal')
  t.match(await reply.json(), { error: { metadata: { credential: 'unavailable' } } })
  await eventually('its reason in the log', async () => {
    await clock.advance(1_000)
    await chat('anthropic')
    return gateway.logs.join('').includes('cannot be refreshed')
  })
  federation.instead = undefined
  writeFileSync(made.token.anthropic, federation.clusterToken(AUDIENCES.anthropic))
  await eventually('another token', async () => {
    await clock.advance(1_100)
    return (await chat('anthropic')).status === 200
  })
})

t.test('a refused exchange is for the operator: 502 that names the provider, an event, and the next endpoint', async (t) => {
  const { federation, gateway, token, chat, shown } = await federationScene(t)
  for (const provider of PROVIDERS) writeFileSync(token[provider], federation.clusterToken('https://other.example'))
  federation.revoke()
  const texts: string[] = []
  for (const [provider, name] of [
    ['openai', 'OpenAI'],
    ['anthropic', 'Anthropic'],
  ] as const) {
    await eventually('a refused exchange', async () => {
      await gateway.running.runtime.discover()
      const reply = await chat(provider)
      const text = await reply.text()
      texts.push(text)
      return reply.status === 502 && text.includes('"credential":"refused"') && text.includes(`${name} refused the gateway's credential`)
    })
    const passed = await gateway.post(`/v1/passage/${provider}/v1/anything`, {})
    const text = await passed.text()
    texts.push(text)
    t.equal(passed.status, 502, text)
    t.match(text, `${name} refused the gateway's credential`)
  }
  const other = await gateway.post('/v1/chat/completions', { model: 'acme/either', messages: [{ role: 'user', content: 'hi' }] })
  t.equal(other.status, 200, 'another endpoint serves')
  const logs = gateway.logs.join('')
  await eventually('an event for each provider', async () => {
    const events = await (await fetch(`${gateway.url}/v1/events?limit=100`, { headers: { authorization: `Bearer ${BOSS}` } })).text()
    texts.push(events)
    return (
      PROVIDERS.every((provider) => events.includes(`providers.${provider}.credential`)) && events.includes('headgate.provider.account')
    )
  })
  t.match(logs, 'providers.anthropic.credential')
  t.match(logs, "a provider refused the gateway's own key or account")
  t.strictSame(await shown(texts.join('')), [])
})

t.test('a key that a team brings is sent in the place of the token', async (t) => {
  const { federation, gateway, chat } = await federationScene(t, {
    more: `byok: { encryption_keys: [ "${randomBytes(32).toString('base64')}" ] }\n`,
  })
  federation.keys.add('sk-team-account-1234567')
  for (const provider of PROVIDERS) {
    const body = JSON.stringify({ provider, key: 'sk-team-account-1234567' })
    const headers = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }
    const added = await fetch(`${gateway.url}/v1/byok`, { method: 'POST', headers, body })
    t.equal(added.status, 201, await added.text())
    const reply = await chat(provider)
    t.match(await reply.json(), { usage: { is_byok: true } })
  }
  const sent = federation.calls.filter(({ path }) => /completions|messages/.test(path)).map(({ headers }) => headers)
  t.match(sent, [{ authorization: 'Bearer sk-team-account-1234567' }, { 'x-api-key': 'sk-team-account-1234567', authorization: undefined }])
})

t.test('a token that the provider revokes is exchanged anew', async (t) => {
  const { federation, chat } = await federationScene(t)
  t.equal((await chat('anthropic')).status, 200)
  federation.revoke()
  t.equal((await chat('anthropic')).status, 200)
})

t.test('wrong answers and wrong identity tokens are no credential, with a reason that shows none of them', async (t) => {
  const CASES: readonly [name: string, reason: string, answer: Answer | undefined, token?: string][] = [
    ['no token', 'the answer holds no token', jsonAnswer({ token_type: 'Bearer', expires_in: 600 })],
    [
      'another kind of token',
      'Anthropic gives no bearer token',
      jsonAnswer({ access_token: 'sk-shown', token_type: 'DPoP', expires_in: 600 }),
    ],
    ['no end', 'Anthropic states no end of the token', jsonAnswer({ access_token: 'sk-shown', token_type: 'Bearer' })],
    ['a redirect', 'Anthropic replied with status 302', { status: 302, headers: { location: 'https://acme.example/' } }],
    ['a page', 'the token is no visible ASCII text', { headers: { 'content-type': 'text/html' }, body: ['<p>sk-shown</p> signed in'] }],
    ['an empty file', 'the answer holds no token', undefined, '\n'],
    ['a file of two lines', 'the token is no visible ASCII text without spaces', undefined, 'sk-shown\nsk-shown'],
    ['a long token', 'the token is no visible ASCII text without spaces', undefined, 'sk-shown'.repeat(4000)],
  ]
  for (const [name, reason, instead, token] of CASES) {
    await t.test(name, async (t) => {
      const made = await federationScene(t)
      await eventually('the first exchanges', () => made.federation.exchanges.length >= 2)
      made.federation.instead = instead
      if (token !== undefined) writeFileSync(made.token.anthropic, token)
      made.federation.revoke()
      await made.clock.advance(31_000)
      const reply = await made.chat('anthropic')
      t.notOk(reply.ok)
      t.ok(
        made.gateway.logs.some((line) => line.includes(reason)),
        made.gateway.logs.join(''),
      )
      t.notMatch(made.gateway.logs.join('') + (await reply.text()), /sk-shown/)
    })
  }
})

t.test('check says where the identity comes from, and what is wrong with its settings', async (t) => {
  const file = join(t.testdir({ token: 'a token' }), 'headgate.yaml')
  const run = async (settings: string, env: Record<string, string> = {}): Promise<string> => {
    writeFileSync(
      file,
      `providers: { p: { dialect: anthropic, base_url: "https://acme.test", credential: { anthropic: { federation_rule_id: fdrl_1, organization_id: o, service_account_id: svac_1, ${settings} } } } }\nmodels: { acme/a: { endpoints: [ { provider: p, model: m } ] } }\n`,
    )
    const { out, error } = await printed((streams) => check(file, { HOME: '/nonexistent', ...env }, streams, () => undefined))
    return out + error
  }
  const there = `identity_token: { file: "${join(t.testdirName, 'token')}" }`
  t.match(await run(there), /credential of provider p: a token of Anthropic for the file .*token$/m)
  t.notMatch(await run(there), 'warning: credential')
  t.match(await run('identity_token: { file: /nonexistent/token }'), 'the file /nonexistent/token cannot be read')
  t.match(await run('identity_token: { google: {} }'), 'this machine is none of Google Cloud')
  t.match(await run('identity_token: { azure: {} }'), '"scope" is missing, expected a scope such as api://')
  t.match(await run('identity_token: { aws: { region: us-east-1 } }'), 'a token of AWS STS, aws in us-east-1')
  t.match(await run('identity_token: {}'), 'expected one of these keys: aws, azure, command, file, google')
  t.match(await run('identity_token: { file: /a, command: [x] }'), 'expected one of these keys: aws, azure, command, file, google')
  t.match(await run('identity_token: { fil: /a }'), 'unknown key')
  t.match(await run(`${there}, token_url: "http://sts.example/token"`), 'expected an https address, or an http address of this machine')
  t.match(await run(`${there}, workspace_id: "a b"`), 'expected an id such as wrkspc_abc123')
  t.match(await run(''), '"identity_token" is missing')
})
