/**
 * Errors of providers in the pass-through: what is about the gateway's account is an error of the gateway's in the form of the provider's
 * wire, by the same table as everywhere; what is about the caller's request comes byte for byte.
 */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { passPause } from '../../support/pair-bench.ts'
import { RawClient, rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, REFUSING_URL } from '../../support/upstream.ts'

const SECRET = 'sk-provider-secret-0123456789'
const MANAGER = 'sk-router-v1-fedcba9876543210fedcba9876543210'
/** Stands in every sentence of the operator's account: no caller reads it. */
const OPERATORS = 'acme corp, order 77'

const scene = (t: Test, dialect = 'openai-chat', address?: string) =>
  startScene(t, {
    answer: () => jsonAnswer({ fine: true }),
    config: (url) => `
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true }, { name: boss, key: "${MANAGER}", management: true } ] }
providers:
  first: { dialect: ${dialect}, base_url: "${address ?? `${url}/v1`}", key: "${SECRET}", pass_through: { price: "0.25" } }
models:
  acme/one: { endpoints: [ { provider: first, model: m, price: free } ] }
`,
  })

const openai = (status: number, message: string, code: string | null = null): Answer =>
  jsonAnswer({ error: { message, type: 'invalid_request_error', param: null, code } }, status)
const anthropic = (status: number, message: string, type = 'invalid_request_error'): Answer =>
  jsonAnswer({ type: 'error', error: { type, message } }, status)
const google = (code: number, status: string, message: string): Answer => jsonAnswer({ error: { code, status, message } }, code)
const aws = (status: number, type: string, message: string): Answer => jsonAnswer({ message }, status, { 'x-amzn-errortype': type })

const CREDIT = /^The gateway's account at first is out of credit$/
const CLOSED = /^The gateway's account at first cannot be used$/
const QUOTA = /^The request is larger than the gateway's account at first may send in a minute$/
const WRONG_KEY = /^first refused the gateway's key$/
const NO_RIGHT = /^first does not let the gateway's account do this$/

/** Bodies as in `gateway/fault-table`, which has their sources. */
const ACCOUNT: readonly [dialect: string, answer: Answer, message: RegExp][] = [
  ['openai-chat', openai(400, `Billing hard limit has been reached, ${OPERATORS}`, 'billing_hard_limit_reached'), CREDIT],
  ['openai-chat', openai(429, `You exceeded your current quota, ${OPERATORS}`, 'insufficient_quota'), CREDIT],
  ['openai-chat', openai(413, `Request too large on tokens per minute (TPM): ${OPERATORS}`, 'rate_limit_exceeded'), QUOTA],
  ['openai-chat', openai(401, `Incorrect API key provided: ${SECRET}, ${OPERATORS}`, 'invalid_api_key'), WRONG_KEY],
  ['openai-chat', openai(403, `Project ${OPERATORS} does not have access to model m`, 'model_not_found'), NO_RIGHT],
  ['openai-chat', openai(412, `Account ${OPERATORS} is suspended`, 'PRECONDITION_FAILED'), CLOSED],
  ['openai-chat', jsonAnswer({ code: 'Arrearage', message: `Access denied, ${OPERATORS}` }, 400), CREDIT],
  ['openai-responses', { status: 402 }, CREDIT],
  ['anthropic', anthropic(400, `Your credit balance is too low to access the Anthropic API. ${OPERATORS}`), CREDIT],
  ['anthropic', anthropic(400, `This organization has been disabled. ${OPERATORS}`), CLOSED],
  ['anthropic', anthropic(401, 'invalid x-api-key', 'authentication_error'), WRONG_KEY],
  ['gemini', google(400, 'INVALID_ARGUMENT', `API key not valid. Please pass a valid API key. ${OPERATORS}`), WRONG_KEY],
  ['gemini', google(400, 'FAILED_PRECONDITION', `Billing is missing, ${OPERATORS}`), CLOSED],
  ['bedrock-converse', aws(403, 'AccessDeniedException', `${OPERATORS} is not authorized to perform: bedrock:InvokeModel`), NO_RIGHT],
  ['bedrock-anthropic', aws(403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'), WRONG_KEY],
]

/** The message in the form of each wire. */
const messageIn = (dialect: string, body: JsonObject): Json | undefined =>
  dialect.startsWith('bedrock') ? body.message : (body.error as JsonObject).message

t.test("trouble of the gateway's account is the gateway's own error in the wire's form", async (t) => {
  for (const [dialect, answer, message] of ACCOUNT) {
    const { gateway, upstream } = await scene(t, dialect)
    upstream.script = () => answer
    const reply = await gateway.post('/v1/passage/first/things', { any: 'thing' })
    const text = await reply.text()
    const body = JSON.parse(text) as JsonObject
    const what = `${dialect} ${answer.status} ${answer.body?.join('').slice(0, 80)}`
    await every(t, what, async (t) => {
      t.equal(reply.status, 502)
      t.match(messageIn(dialect, body), message)
      t.equal(reply.headers.get('x-should-retry'), 'false')
      t.notMatch(text, OPERATORS)
      t.notMatch(text, SECRET)
      if (dialect === 'anthropic') t.match(body, { type: 'error', error: { type: 'api_error' } })
      if (dialect === 'gemini') t.match(body, { error: { code: 502, status: 'UNAVAILABLE' } })
      if (dialect.startsWith('bedrock')) t.equal(reply.headers.get('x-amzn-errortype'), 'InternalServerException')
      const lines = gateway.logs.map((one) => JSON.parse(one) as JsonObject)
      t.ok(
        lines.some(({ msg }) => msg === "a provider refused the gateway's own key or account"),
        'the operator hears of it',
      )
      t.notMatch(lines.map((line) => JSON.stringify(line)).join('\n'), OPERATORS)
    })
  }
})

t.test('an encoded body is read as well', async (t) => {
  const { gateway, upstream } = await scene(t, 'anthropic')
  const answer = anthropic(400, `Your credit balance is too low to access the Anthropic API. ${OPERATORS}`)
  upstream.script = () => ({ ...answer, gzip: true, split: 7 })
  const reply = await gateway.post('/v1/passage/first/messages', {}, { 'accept-encoding': 'gzip' })
  t.equal(reply.status, 502)
  t.notMatch(await reply.text(), OPERATORS)
})

const LONG = `{ "error" : { "message" : "${'too long '.repeat(20_000)}" } }`
/** Bytes that callers read themselves, unchanged, with spaces, other encodings and whatever else. */
const OWN: readonly [what: string, dialect: string, answer: Answer][] = [
  [
    'a field that is wrong',
    'openai-chat',
    {
      status: 400,
      headers: { 'content-type': 'application/json', 'x-own': '1' },
      body: ['{ "error":', '\n { "message": "No such voice: nova" } }'],
    },
  ],
  ['a context that is too long', 'anthropic', anthropic(400, 'prompt is too long: 213462 tokens > 200000 maximum')],
  ['content that is refused', 'openai-chat', openai(403, 'Content violates usage guidelines.')],
  ['what is not there', 'openai-chat', openai(404, 'No such File object: file-1')],
  [
    'a rate limit',
    'openai-chat',
    {
      ...openai(429, 'Rate limit reached for requests', 'rate_limit_exceeded'),
      headers: { 'retry-after': '7', 'content-type': 'application/json' },
    },
  ],
  ['a body that is too large', 'openai-chat', openai(413, 'Maximum content size limit (26214400) exceeded')],
  ['a validator', 'openai-chat', jsonAnswer({ detail: [{ loc: ['body', 'x'], msg: 'Field required', type: 'missing' }] }, 422)],
  ['what is not JSON', 'openai-chat', { status: 400, headers: { 'content-type': 'text/html' }, body: ['<html>no</html>'] }],
  ['nothing', 'openai-chat', { status: 405 }],
  ['a long one', 'openai-chat', { status: 400, headers: { 'content-type': 'application/json' }, body: [LONG], split: 10_000 }],
  ['a failure of the server', 'openai-chat', openai(500, 'The server had an error: insufficient_quota')],
]

t.test("what is about the caller's request comes byte for byte", async (t) => {
  for (const [what, dialect, answer] of OWN) {
    const { gateway, upstream } = await scene(t, dialect)
    upstream.script = () => answer
    const reply = await gateway.post('/v1/passage/first/things', { any: 'thing' })
    await every(t, what, async (t) => {
      t.equal(reply.status, answer.status)
      t.equal(await reply.text(), (answer.body ?? []).join(''))
      for (const [name, value] of Object.entries(answer.headers ?? {})) t.equal(reply.headers.get(name), value)
      t.equal(reply.headers.get('x-should-retry'), null)
    })
  }
})

t.test('a condition of the caller’s own is no trouble of the account', async (t) => {
  const { gateway, upstream } = await scene(t)
  upstream.script = () => jsonAnswer({ error: { message: 'changed meanwhile' } }, 412)
  const reply = await gateway.get('/v1/passage/first/files/1', { 'if-match': '"a"' })
  t.equal(reply.status, 412)
  t.same(await reply.json(), { error: { message: 'changed meanwhile' } })
})

t.test("a text with the gateway's key is for no caller", async (t) => {
  const { gateway, upstream } = await scene(t)
  upstream.script = () => openai(404, `nothing at /v1 for ${SECRET}`)
  const reply = await gateway.get('/v1/passage/first/files/1')
  t.equal(reply.status, 502)
  t.notMatch(await reply.text(), SECRET)
})

t.test('an error that breaks off is relayed as far as it came, and one of the account is none of it', async (t) => {
  const { gateway, upstream } = await scene(t)
  const asked = `GET /v1/passage/first/files HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEY}\r\n\r\n`
  upstream.script = () => ({ status: 400, headers: { 'content-type': 'application/json' }, body: ['{"error":{"mess'], after: 'close' })
  const text = await rawExchange(gateway.url, asked)
  t.match(text, /^HTTP\/1\.1 400 [\s\S]*\{"error":\{"mess/)
  t.notMatch(text, '\r\n0\r\n\r\n', 'no proper end is feigned')
  upstream.script = () => ({ status: 402, body: [OPERATORS], after: 'close' })
  const other = await (await RawClient.open(gateway.url)).send(asked).until(/out of credit/)
  t.match(other, /^HTTP\/1\.1 502 /)
  t.notMatch(other, OPERATORS)
})

t.test('a line in the log for each request, with the reason of a failed connection', async (t) => {
  const { gateway, upstream } = await scene(t)
  await (await gateway.get('/v1/passage/first/files/secret-path?q=secret-query')).text()
  upstream.script = () => openai(402, OPERATORS)
  await (await gateway.get('/v1/passage/first/files')).text()
  const refusing = await scene(t, 'openai-chat', `${REFUSING_URL}/v1`)
  const refused = await refusing.gateway.get('/v1/passage/first/files')
  t.equal(refused.status, 502)
  t.notMatch(await refused.text(), '"refused"')
  await (await gateway.get('/v1/passage/first/files', { authorization: `Bearer ${MANAGER}` })).text()
  const lines = [...gateway.logs, ...refusing.gateway.logs].filter((one) => one.includes('"msg":"pass-through"'))
  t.notMatch(lines.join(''), /secret-path|secret-query/)
  const [good, bad, forbidden, unreached] = lines.map((one) => JSON.parse(one) as JsonObject)
  t.match(good, { key: 'app', client: 'passage', status: 200, provider: 'first', cost_nano: 250_000_000, gen: /^gen-/ })
  t.match(bad, { status: 502, provider_status: 402, fault: 'upstream_credit', cost_nano: 0 })
  t.match(forbidden, { status: 403, fault: 'forbidden' })
  t.match(unreached, { status: 502, fault: 'upstream_connect', cause: 'refused' })

  const id = refused.headers.get('x-generation-id') ?? ''
  const seenBy = async (key: string): Promise<JsonObject[]> => {
    const found = await refusing.gateway.get(`/v1/generation?id=${id}`, { authorization: `Bearer ${key}` })
    return ((await found.json()) as { data: { provider_responses: JsonObject[] } }).data.provider_responses
  }
  t.match(await seenBy(MANAGER), [{ cause: 'refused' }], 'management keys read it')
  t.notOk((await seenBy(KEY))[0]?.cause, 'and no others')
})

t.test('the reason of a failed connection is in the state of the endpoints', async (t) => {
  const { gateway, clock, ask } = await scene(t, 'openai-chat', `${REFUSING_URL}/v1`)
  const [asked] = await Promise.all([ask(), passPause(clock)])
  await asked.text()
  const reply = await gateway.get('/v1/status', { authorization: `Bearer ${MANAGER}` })
  const { data } = (await reply.json()) as { data: { providers: { endpoints: JsonObject[] }[] } }
  t.match(data.providers[0]?.endpoints[0], { problem: 'Provider could not be reached', cause: 'refused' })
})
