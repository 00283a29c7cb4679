/**
 * Callers choose models, features and, in the pass-through, paths: replies about these must neither take keys out of a pool nor make
 * identity services work. The replies are those that users have seen (`src/dialects/faults/rows.ts` names them).
 */
import t, { type Test } from 'tap'
import { decodeFault as ofChat } from '../../src/dialects/chat/fault.ts'
import { decodeFault as ofGemini } from '../../src/dialects/gemini/fault.ts'
import { decodeFault as ofMessages } from '../../src/dialects/messages/fault.ts'
import { decodeFault as ofResponses } from '../../src/dialects/responses/fault.ts'
import { FakeClock } from '../support/clock.ts'
import { ANSWER } from '../support/clouds/scene.ts'
import { every } from '../support/every.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream } from '../support/upstream.ts'

const openai = (message: string, code: string | null = null) => ({ error: { message, type: 'invalid_request_error', param: null, code } })
const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } })
const google = (code: number, status: string, message: string, reason?: string) => ({
  error: {
    code,
    status,
    message,
    ...(reason === undefined ? {} : { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }] }),
  },
})
const NO_MODEL = openai('Project `proj_1` does not have access to model `gpt-4o`', 'model_not_found')
const NO_SCOPE = openai('You have insufficient permissions for this operation. Missing scopes: model.request.')
const BAD_KEY = openai('Incorrect API key provided: sk-one.', 'invalid_api_key')

type Case = [decode: typeof ofChat, status: number, body: unknown]

/** Another credential of the account would get the same. */
const RIGHTS: Case[] = [
  [ofChat, 403, NO_MODEL],
  [ofResponses, 403, NO_MODEL],
  [ofChat, 401, NO_SCOPE],
  [ofResponses, 401, NO_SCOPE],
  [ofChat, 403, openai('Project `p` does not have access to model `invalid api key`', 'model_not_found')],
  [ofChat, 403, openai("The model 'expired token' is not for you")],
  [ofChat, 403, { message: 'Forbidden' }],
  [ofChat, 403, undefined],
  [
    ofChat,
    401,
    {
      error: { code: 'PermissionDenied', message: 'The principal `x` lacks the required data action `y` to perform `POST /z` operation.' },
    },
  ],
  [ofMessages, 403, anthropic('permission_error', 'Your API key does not have permission to use the specified resource.')],
  [ofMessages, 403, anthropic('permission_error', 'OAuth token does not meet scope requirement any_of(user:inference)')],
  [
    ofGemini,
    403,
    google(
      403,
      'PERMISSION_DENIED',
      "Permission 'aiplatform.endpoints.predict' denied on resource '//x' (or it may not exist).",
      'IAM_PERMISSION_DENIED',
    ),
  ],
  [
    ofGemini,
    403,
    google(403, 'PERMISSION_DENIED', 'Vertex AI API has not been used in project 1 before or it is disabled.', 'SERVICE_DISABLED'),
  ],
  [ofGemini, 403, google(403, 'PERMISSION_DENIED', 'Request had insufficient authentication scopes.', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT')],
]

/** The account, whatever the key. */
const CREDIT: Case[] = [
  [ofChat, 402, openai('Insufficient balance')],
  [ofMessages, 400, anthropic('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.')],
]
const REGION: Case[] = [[ofGemini, 400, google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.')]]

/** The key or the token itself. */
const CREDENTIAL: Case[] = [
  [ofChat, 401, BAD_KEY],
  [ofResponses, 401, BAD_KEY],
  [ofChat, 401, undefined],
  [ofChat, 403, { status: 403, title: 'Forbidden', detail: 'Authorization failed' }],
  [ofChat, 403, { message: 'The security token included in the request is expired' }],
  [
    ofChat,
    403,
    { message: 'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key.' },
  ],
  [ofChat, 403, { message: 'Signature expired: 20260105T120000Z is now earlier than 20260105T121500Z' }],
  [ofMessages, 401, anthropic('authentication_error', 'invalid x-api-key')],
  [ofMessages, 403, anthropic('permission_error', 'OAuth token has been revoked. Please obtain a new token.')],
  [ofGemini, 400, google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID')],
  [ofGemini, 401, google(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.', 'ACCESS_TOKEN_EXPIRED')],
  [ofGemini, 403, google(403, 'PERMISSION_DENIED', "Permission denied: Consumer 'api_key:AIza' has been suspended.", 'CONSUMER_SUSPENDED')],
  [ofGemini, 403, google(403, 'PERMISSION_DENIED', 'Your API key was reported as leaked. Please use another API key.')],
  [ofGemini, 403, google(403, 'PERMISSION_DENIED', 'Requests to this API method are blocked.', 'API_KEY_SERVICE_BLOCKED')],
]

t.test('refusals of a credential are told apart from those of what its account may do', async (t) => {
  for (const [cases, code] of [
    [RIGHTS, 'upstream_rights'],
    [CREDIT, 'upstream_credit'],
    [REGION, 'upstream_region'],
    [CREDENTIAL, 'upstream_auth'],
  ] as const)
    await every(t, code, (t) => {
      for (const [decode, status, body] of cases) t.equal(decode(status, body as never).code, code, JSON.stringify(body))
    })
})

interface Scene {
  gateway: Gateway
  clock: FakeClock
  /** Keys or tokens that the provider has seen, and forgets. */
  taken(): string[]
  fetches(): number
  chat(model: string): Promise<number>
}

const seenKey = ({ headers }: Seen): string => `${headers.authorization}`.replace('Bearer ', '')

async function scene(t: Test, credential: string, answer: (seen: Seen) => Answer | undefined): Promise<Scene> {
  const clock = new FakeClock()
  const seen: string[] = []
  let fetches = 0
  const identity = await startUpstream(() => jsonAnswer({ access_token: `token-${++fetches}`, expires_in: 36_000 }))
  const provider = await startUpstream((call) => {
    seen.push(seenKey(call))
    return answer(call) ?? jsonAnswer(ANSWER)
  })
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${provider.url}/v1", ${credential.replace('IDENTITY', identity.url)}, pass_through: { price: "0" } }
models:
  acme/open: { endpoints: [ { provider: first, model: open, price: free } ] }
  acme/closed: { endpoints: [ { provider: first, model: closed, price: free } ] }
pass_through: { enabled: true }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), provider.close(), identity.close()]))
  return {
    gateway,
    clock,
    taken: () => seen.splice(0),
    fetches: () => fetches,
    chat: async (model) => {
      const reply = await gateway.post('/v1/chat/completions', { model: `acme/${model}`, messages: [{ role: 'user', content: 'hi' }] })
      await reply.text()
      return reply.status
    },
  }
}

const POOL = 'keys: [ { name: a, key: sk-one }, { name: b, key: sk-two }, { name: c, key: sk-three } ]'
const FETCHED = 'credential: { url: { address: "IDENTITY/token" } }'
const asksFor = (seen: Seen, model: string): boolean => seen.body.includes(`"model":"${model}"`)

for (const [status, body] of [
  [403, NO_MODEL],
  [401, NO_SCOPE],
  [403, { message: 'Forbidden' }],
] as const) {
  t.test(`${status} ${JSON.stringify(body)} for a model leaves every key in its pool`, async (t) => {
    const made = await scene(t, POOL, (seen) => (asksFor(seen, 'closed') ? jsonAnswer(body, status) : undefined))
    for (let call = 0; call < 10; call++) t.equal(await made.chat('closed'), 502)
    t.strictSame(new Set(made.taken()), new Set(['sk-one', 'sk-two', 'sk-three']), 'each key is tried')
    for (let call = 0; call < 30; call++) t.equal(await made.chat('open'), 200)
    t.strictSame(new Set(made.taken()), new Set(['sk-one', 'sk-two', 'sk-three']), 'and each serves others')
    t.notMatch(made.gateway.logs.join(''), 'left out for ten minutes')
  })
}

t.test('a key without the right to a model hands its calls over to one that has it', async (t) => {
  const made = await scene(t, POOL, (seen) =>
    seenKey(seen) !== 'sk-two' && asksFor(seen, 'closed') ? jsonAnswer(NO_MODEL, 403) : undefined,
  )
  for (let call = 0; call < 10; call++) t.equal(await made.chat('closed'), 200)
})

t.test('replies about rights fetch no token', async (t) => {
  const made = await scene(t, FETCHED, (seen) => (asksFor(seen, 'closed') ? jsonAnswer(NO_MODEL, 403) : undefined))
  for (let minute = 0; minute < 10; minute++) {
    t.equal(await made.chat('closed'), 502)
    await made.clock.advance(31_000)
  }
  t.equal(made.fetches(), 1)
  t.equal(await made.chat('open'), 200)
})

t.test('401 for everything fetches a token each half minute, whatever comes', async (t) => {
  const made = await scene(t, FETCHED, (seen) => (asksFor(seen, 'closed') ? jsonAnswer(BAD_KEY, 401) : undefined))
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 20 }, () => made.chat('closed')))
    t.equal(await made.chat('open'), 200, 'others are served')
    await made.clock.advance(31_000)
  }
  t.equal(made.fetches(), 1 + 3)
})

t.test('paths of the pass-through that no key may call leave every key in its pool', async (t) => {
  const made = await scene(t, POOL, (seen) => (seen.path.endsWith('/organization/users') ? jsonAnswer(NO_SCOPE, 401) : undefined))
  for (let call = 0; call < 10; call++) t.equal((await made.gateway.post('/v1/passage/first/organization/users', {})).status, 502)
  made.taken()
  for (let call = 0; call < 30; call++) await made.chat('open')
  t.strictSame(new Set(made.taken()), new Set(['sk-one', 'sk-two', 'sk-three']))
  t.notMatch(made.gateway.logs.join(''), 'left out for ten minutes')
})

t.test('where every key is refused they go on being used, with one alert for each', async (t) => {
  let isRefused = true
  const made = await scene(t, POOL, () => (isRefused ? jsonAnswer(BAD_KEY, 401) : undefined))
  for (let call = 0; call < 20; call++) t.equal(await made.chat('open'), 502)
  const alerts = made.gateway.logs.filter((line) => line.includes('left out for ten minutes'))
  t.equal(alerts.length, 3)
  isRefused = false
  for (let call = 0; call < 30; call++) t.equal(await made.chat('open'), 200)
})
