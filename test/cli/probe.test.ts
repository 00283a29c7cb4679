/** `headgate probe`: the matrix against a local stand-in that refuses some fields, and what a recording holds of it. */
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Redactor } from '../../src/cli/probe/redact.ts'
import { type ProbeFlags, probe } from '../../src/cli/probe.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { certificate } from '../support/certificates.ts'
import { every } from '../support/every.ts'
import { type Printed, printed } from '../support/printed.ts'
import { type Answer, jsonAnswer, REFUSING_URL, type Seen, sseAnswer, startUpstream, type Upstream } from '../support/upstream.ts'

const KEY = 'sk-acme-0123456789abcdef0123'

const CONFIG = `
providers:
  acme: { name: Acme, dialect: openai-chat, base_url: "\${ACME_URL}/v1", key: "\${ACME_KEY}", quirks: { reasoning_replay: reasoning_content } }
  away: { name: Away, dialect: openai-chat, base_url: "\${ACME_URL}/v1", key: "\${AWAY_KEY?}" }
  vectors: { dialect: voyage, base_url: "\${ACME_URL}/v1", key: "\${ACME_KEY}" }
  sim: { dialect: sim }
models:
  acme/one: { input: [text, image], context: 100000, max_output: 8000, endpoints: [{ provider: acme, model: one-large, price: { prompt: "1.00", completion: "2.00" } }] }
  acme/plain: { input: [text], endpoints: [{ provider: acme, model: plain, supported_parameters: [max_tokens] }] }
  away/one: { endpoints: [{ provider: away, model: one }] }
  acme/vectors: { kind: embedding, endpoints: [{ provider: vectors, model: v }] }
  sim/echo: { endpoints: [{ provider: sim, model: echo }] }
`

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
const message = (more: JsonObject, end = 'stop'): Answer =>
  jsonAnswer(
    {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'one-large',
      choices: [{ index: 0, message: { role: 'assistant', content: null, ...more }, finish_reason: end }],
      usage: USAGE,
      organization: 'org-secret99',
    },
    200,
    { 'set-cookie': 'session=secret-cookie', 'openai-organization': 'acme-corp-77' },
  )
const call = (id: string, city: string): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'get_weather', arguments: JSON.stringify({ city }) },
})

/** Takes what an ordinary provider takes; refuses schemas, and the reasoning of earlier turns. */
function standIn({ json }: Seen): Answer {
  const messages = json.messages as JsonObject[]
  if (json.response_format)
    return jsonAnswer(
      { error: { message: `Invalid schema for organization org-Abc123456 with key ${KEY}.`, type: 'invalid_request_error' } },
      400,
    )
  if (messages.some(({ reasoning_content: kept }) => kept))
    return jsonAnswer({ error: { message: 'messages.1.reasoning_content: Extra inputs are not permitted' } }, 422)
  if (json.stream) {
    const chunk = (delta: JsonObject, end: string | null, more: JsonObject = {}): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: end }], ...more })}\n\n`
    return sseAnswer([chunk({ role: 'assistant', content: 'One two' }, null), chunk({}, 'stop', { usage: USAGE }), 'data: [DONE]\n\n'])
  }
  if (typeof json.tool_choice === 'object') return message({ tool_calls: [call('call_1', 'Paris')] }, 'tool_calls')
  const thinks = json.reasoning_effort === undefined ? {} : { reasoning_content: 'Two cities.' }
  if (json.tools && messages.at(-1)?.role === 'user')
    return message({ ...thinks, tool_calls: [call('call_1', 'Paris'), call('call_2', 'Oslo')] }, 'tool_calls')
  return message({ content: 'Ready.' })
}

interface Scene {
  upstream: Upstream
  directory: string
  run(words: string[], flags?: ProbeFlags, more?: Record<string, string>): Promise<Printed>
}

async function scene(t: Test, script = standIn): Promise<Scene> {
  const directory = t.testdir()
  const upstream = await startUpstream(script)
  t.teardown(() => upstream.close())
  const config = join(directory, 'headgate.yaml')
  writeFileSync(config, CONFIG)
  const env = { ACME_URL: upstream.url, ACME_KEY: KEY }
  return {
    upstream,
    directory,
    run: (words, flags = {}, more = {}) => printed((streams) => probe(words, { config, ...flags }, streams, { ...env, ...more })),
  }
}

t.test('without --yes it shows the estimate and sends nothing', async (t) => {
  const { run, upstream } = await scene(t)
  const { code, out } = await run(['acme'])
  t.equal(code, 0)
  // 10 requests of 1,500 tokens at $1, and caps of 9,016 tokens at $2, per million.
  t.match(
    out,
    /^one-large at Acme \(acme\): 10 requests in 8 cases\. Cost: at most \$0\.033032, usually a small part of it\.\nNothing has been sent\. Add --yes/,
  )
  t.equal(upstream.requests.length, 0)
})

t.test('with --yes it says what is refused, in the words of the provider', async (t) => {
  const { run, upstream } = await scene(t)
  const { code, out } = await run(['acme'], { yes: true })
  t.equal(code, 1)
  const lines = out.split('\n').slice(1)
  t.same(
    lines.map((line) => line.trim().replace(/ {2,}/g, ' | ')),
    [
      'ok | text',
      'ok | streamed text',
      'ok | tool loop of two turns',
      'ok | forced tool',
      'refused | structured output | 400: Invalid schema for organization <account> with key <key>.',
      'ok | smallest cap',
      'ok | image input',
      'refused | reasoning kept across turns | 422: messages.1.reasoning_content: Extra inputs are not permitted',
      'It has cost $0.00096 by the configured prices.',
    ],
  )
  t.equal(upstream.requests.length, 10)
  t.ok(upstream.requests.every(({ headers, path }) => headers.authorization === `Bearer ${KEY}` && path === '/v1/chat/completions'))
  const loop = upstream.requests[3].json as { messages: JsonObject[] }
  t.same(
    loop.messages.slice(-2).map(({ role, tool_call_id: id }) => [role, id]),
    [
      ['tool', 'call_1'],
      ['tool', 'call_2'],
    ],
    'both results go back with the ids of their calls',
  )
  t.equal(upstream.requests[6].json.max_tokens, 1)
})

t.test('what the model has not is left out, and all that is accepted is exit code 0', async (t) => {
  const { run } = await scene(t)
  const { code, out } = await run(['acme'], { yes: true, model: 'plain', json: true })
  t.equal(code, 0)
  const { model, cases } = JSON.parse(out) as { model: string; cases: { case: string; result: string }[] }
  t.equal(model, 'plain')
  t.same(
    cases.filter(({ result }) => result === 'ok').map((each) => each.case),
    ['text', 'streamed text', 'smallest cap'],
  )
  t.equal(cases.filter(({ result }) => result === 'skipped').length, 5)
})

t.test('a recording has the traffic, and nothing of the account', async (t) => {
  const { run, directory, upstream } = await scene(t)
  const file = join(directory, 'recording.json')
  t.match(await run(['acme'], { yes: true, record: file }), { code: 1, out: /Recorded: / })
  const text = readFileSync(file, 'utf8')
  await every(t, 'none of these', async (t) => {
    for (const secret of [
      KEY,
      'org-',
      'secret-cookie',
      'set-cookie',
      'acme-corp-77',
      'authorization',
      new URL(upstream.url).host,
      'sk-probe',
    ])
      t.notOk(text.toLowerCase().includes(secret.toLowerCase()), secret)
  })
  t.equal(statSync(file).mode & 0o777, 0o600)
  const { cases } = JSON.parse(text) as {
    cases: { case: string; result: string; exchanges: { request: JsonObject; response: JsonObject }[] }[]
  }
  t.same(
    cases.map(({ exchanges }) => exchanges.length),
    [1, 1, 2, 1, 1, 1, 1, 2],
  )
  t.match(cases[4].exchanges[0], {
    request: { method: 'POST', path: '/chat/completions', body: { response_format: { type: 'json_schema' } } },
    response: { status: 400, body: { error: { message: /^Invalid schema/ } } },
  })
  t.match(cases[1].exchanges[0].response.body, /^data: \{.*\n\ndata: /)
  const again = await run(['acme'], { yes: true, record: file })
  t.match(again, { code: 1, error: /recording\.json is there already: name a new file/ }, 'a file that is there stays as it is')
  t.equal(upstream.requests.length, 10, 'and nothing is sent for it')
  t.equal(readFileSync(file, 'utf8'), text)
})

t.test('a connection that cannot be made ends the probe with the reason', async (t) => {
  const { run } = await scene(t)
  const refusing = await run(['acme'], { yes: true }, { ACME_URL: REFUSING_URL })
  t.match(refusing, { code: 1, out: /\n {2}refused {2}text +Provider could not be reached: refused\n/ })
  t.notMatch(refusing.out, 'streamed text', 'whatever follows would fail as well')
  const signed = certificate({ name: 'site', by: certificate({ name: 'an authority' }), addresses: ['127.0.0.1'] })
  const server = createServer({ cert: signed.cert, key: signed.key.export({ type: 'pkcs8', format: 'pem' }) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const secure = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const untrusted = await run(['acme'], { yes: true }, { ACME_URL: secure })
  t.match(untrusted.out, /No secure connection to the provider could be made: untrusted authority\n/)
})

t.test('a key that is refused ends the probe at once', async (t) => {
  const { run, upstream } = await scene(t, () => jsonAnswer({ error: { message: 'Incorrect API key provided' } }, 401))
  t.match(await run(['acme'], { yes: true }), { code: 1, out: /\n {2}refused {2}text +401: Incorrect API key provided\n/ })
  t.equal(upstream.requests.length, 1)
})

t.test('what cannot be probed', async (t) => {
  const { run, directory } = await scene(t)
  await every(t, 'each', async (t) => {
    for (const [words, code, error] of [
      [[], 2, /expected PROVIDER/],
      [['acme', 'x'], 2, /expected PROVIDER/],
      [['acmee'], 1, /no such provider: acmee, did you mean "acme"\?/],
      [['away'], 1, /away is left out for want of its variables/],
      [['mistral'], 1, /mistral is left out for want of its variables: MISTRAL_API_KEY/],
      [['sim'], 1, /sim is inside this process/],
      [['vectors'], 1, /vectors gives embeddings only/],
    ] as const) {
      t.match(await run([...words], { yes: true }), { code, error }, words.join(' '))
    }
  })
  t.notOk(existsSync(join(directory, 'recording.json')))
})

t.test('account ids, keys and addresses are taken out of any body', async (t) => {
  const redactor = new Redactor([
    ['my-resource-1', 'AZURE_OPENAI_RESOURCE'],
    ['abc', 'SHORT'],
  ])
  t.same(
    redactor.body(
      '{"user_id":"u1","organization":"Acme","id":"chatcmpl-1","text":"see projects/acme-prod/locations/eu and abc","image":"data:image/png;base64,AAAA"}',
    ),
    {
      user_id: '<removed>',
      organization: '<removed>',
      id: 'chatcmpl-1',
      text: 'see projects/<account>/locations/eu and abc',
      image: 'data:image/png;base64,AAAA',
    },
  )
  await every(t, 'each text', async (t) => {
    for (const [text, clean] of [
      ['https://my-resource-1.openai.azure.com', 'https://<AZURE_OPENAI_RESOURCE>.openai.azure.com'],
      ['Bearer abcdefghijklmnop', 'Bearer <key>'],
      ['key AIzaSyA1234567890123456789012345', 'key <key>'],
      ['mail me@acme.example at 10.1.2.3', 'mail <email> at <address>'],
      ['accounts/acme-1/models/m', 'accounts/<account>/models/m'],
      ['accounts/fireworks/models/m', 'accounts/fireworks/models/m'],
    ])
      t.equal(redactor.text(text), clean)
  })
})
