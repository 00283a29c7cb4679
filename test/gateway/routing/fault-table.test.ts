/**
 * The table of provider errors from outside: what the caller reads, whether the next endpoint is called, and whether the failure counts
 * in the health of the endpoint. Bodies are those of real servers and providers; each row has its source.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { CLIENTS, type Client, PATHS, questionFor } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const WIRES = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic', gemini: 'gemini', bedrock: 'bedrock-converse' }
type WireName = keyof typeof WIRES
const ALL = Object.keys(WIRES) as WireName[]
/** Error for the caller, which is written for all wires alike: each format of callers at one of them. */
const CALLERS: Readonly<Record<WireName, readonly Client[]>> = {
  chat: CLIENTS,
  responses: ['responses'],
  messages: ['messages'],
  gemini: ['chat'],
  bedrock: ['messages'],
}
/** Servers that speak three wires answer with one error for all of them. */
const THREE: readonly WireName[] = ['chat', 'responses', 'messages']

/** refused: the caller reads the sentence. account: the provider's name and whose matter it is. failed: words of the gateway's. */
type Outcome = 'refused' | 'account' | 'failed'

interface Row {
  readonly what: string
  readonly wires: readonly WireName[]
  readonly answer: Answer
  readonly outcome: Outcome
  /** Error for the caller where no other endpoint is left. */
  readonly status: number
  readonly type: string
  readonly message: RegExp
  /** True where the next endpoint is called. */
  readonly next: boolean
  readonly counts: boolean
  readonly source: string
}

const account = (what: string, wires: readonly WireName[], answer: Answer, message: RegExp, source: string, counts = true): Row => {
  return { what, wires, answer, outcome: 'account', status: 502, type: 'provider_unavailable', message, next: true, counts, source }
}
const credit = (what: string, wires: readonly WireName[], answer: Answer, source: string): Row =>
  account(what, wires, answer, /^The gateway's account at BAD is out of credit$/, source)
const refused = (what: string, wires: readonly WireName[], answer: Answer, source: string, more: Partial<Row> = {}): Row => {
  const usual = { status: 400, type: 'invalid_request', message: /^BAD: .*Sentence of the provider/, next: false, counts: false }
  return { what, wires, answer, outcome: 'refused', ...usual, source, ...more }
}
const CONTEXT = { type: 'context_length_exceeded', message: /context window|prompt is too long/i }
const POLICY = { type: 'content_policy_violation', message: /^BAD: / }
const failed = (what: string, wires: readonly WireName[], answer: Answer, source: string, more: Partial<Row> = {}): Row => {
  const usual = { status: 502, type: 'provider_unavailable', message: /^Provider returned error$/, next: true, counts: true }
  return { what, wires, answer, outcome: 'failed', ...usual, source, ...more }
}

const openai = (status: number, message: string, code: string | null = null, type = 'invalid_request_error', param: string | null = null) =>
  jsonAnswer({ error: { message, type, param, code } }, status)
const anthropic = (status: number, type: string, message: string, code?: string) =>
  jsonAnswer({ type: 'error', error: { type, message, ...(code && { details: { error_code: code } }) }, request_id: 'req_1' }, status)
const google = (code: number, status: string, message: string, reason?: string) => {
  const details = reason === undefined ? {} : { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }] }
  return jsonAnswer({ error: { code, status, message, ...details } }, code)
}
const aws = (status: number, type: string, message: string): Answer => ({
  ...jsonAnswer({ message }, status),
  headers: { 'content-type': 'application/json', 'x-amzn-errortype': type },
})
const UTTERANCES = 'Sentence of the provider'

const ROWS: readonly Row[] = [
  // the operator's account
  credit(
    'usage limits',
    ['messages'],
    anthropic(
      400,
      'invalid_request_error',
      'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    ),
    'Anthropic, public issues',
  ),
  ...['contract_spend_limit_reached', 'enforced_spend_limit_reached'].map((code) =>
    credit(
      code,
      ['messages'],
      anthropic(400, 'invalid_request_error', UTTERANCES, code),
      'npm @anthropic-ai/sdk 1.14.0, details.error_code',
    ),
  ),
  ...['organization_on_hold', 'cmek_key_disabled', 'cmek_anything_new', 'payment_profile_missing', 'subscription_lapsed'].map((code) =>
    account(
      code,
      ['messages'],
      anthropic(400, 'invalid_request_error', UTTERANCES, code),
      /^The gateway's account at BAD cannot be used$/,
      'npm @anthropic-ai/sdk 1.14.0, details.error_code',
    ),
  ),
  credit(
    'billing hard limit',
    ['chat', 'responses'],
    openai(400, 'Billing hard limit has been reached', 'billing_hard_limit_reached'),
    'OpenAI',
  ),
  credit('insufficient_quota', ['chat', 'responses'], openai(429, 'You exceeded your current quota', 'insufficient_quota'), 'OpenAI'),
  credit(
    'arrears',
    ['chat'],
    jsonAnswer({ code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' }, 400),
    'DashScope error codes',
  ),
  account(
    'suspended',
    ['chat'],
    jsonAnswer(
      { error: { message: 'Account acme is suspended, possibly due to reaching the monthly spending limit', code: 'PRECONDITION_FAILED' } },
      412,
    ),
    /^The gateway's account at BAD cannot be used$/,
    'Fireworks',
  ),
  account(
    '412 that calls the request invalid',
    ['chat'],
    openai(412, UTTERANCES),
    /^The gateway's account at BAD cannot be used$/,
    'Fireworks',
  ),
  account(
    'apostrophes are no quotes',
    ['chat'],
    openai(400, "The organization's account isn't active: your organization's plan doesn't allow this"),
    /^BAD does not let the gateway's account do this$/,
    'a sentence with three apostrophes',
  ),
  account('412 without a word', THREE, { status: 412 }, /^The gateway's account at BAD cannot be used$/, 'Fireworks'),
  credit('402', ALL, { status: 402 }, 'DeepSeek, Together'),
  account(
    'tokens per minute',
    ['chat'],
    openai(
      413,
      'Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size',
      'rate_limit_exceeded',
      'tokens',
    ),
    /^The request is larger than the gateway's account at BAD may send in a minute$/,
    'Groq: 413',
    false,
  ),
  account(
    'a wrong key',
    ['chat', 'responses'],
    openai(401, 'Incorrect API key provided: sk-abc.', 'invalid_api_key'),
    /^BAD refused the gateway's key$/,
    'OpenAI',
  ),
  account(
    'a wrong key, as an argument',
    ['chat'],
    jsonAnswer({ code: 'Client specified an invalid argument', error: 'Incorrect API key provided: ab***yz.' }, 400),
    /^BAD refused the gateway's key$/,
    'xAI',
  ),
  account(
    'a wrong key',
    ['messages'],
    anthropic(401, 'authentication_error', 'invalid x-api-key'),
    /^BAD refused the gateway's key$/,
    'Anthropic',
  ),
  account(
    'a wrong key',
    ['gemini'],
    google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID'),
    /^BAD refused the gateway's key$/,
    'Google',
  ),
  account(
    'a wrong key',
    ['bedrock'],
    aws(403, 'AccessDeniedException', 'Authentication failed: Please make sure your API Key is valid.'),
    /^BAD refused the gateway's key$/,
    'Amazon',
  ),
  account(
    'no right',
    ['bedrock'],
    aws(403, 'AccessDeniedException', "You don't have access to the model with the specified model ID."),
    /^BAD does not let the gateway's account do this$/,
    'Amazon',
  ),
  account(
    'an organization that is not verified',
    ['chat', 'responses'],
    openai(400, 'Your organization must be verified to stream this model.', 'unsupported_value', 'invalid_request_error', 'stream'),
    /^BAD does not let the gateway's account do this$/,
    'OpenAI',
  ),
  account(
    'the place',
    ['gemini'],
    google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.'),
    /^BAD does not serve the gateway's region$/,
    'Google',
    false,
  ),
  account(
    'the place',
    ['chat', 'responses'],
    openai(403, 'Country, region, or territory not supported', 'unsupported_country_region_territory'),
    /^BAD does not serve the gateway's region$/,
    'OpenAI',
    false,
  ),
  credit(
    'an overdue account',
    ['chat'],
    jsonAnswer(
      {
        error: {
          code: 'AccountOverdueError',
          message: 'The request failed because your account has an overdue balance.',
          type: 'Forbidden',
        },
      },
      403,
    ),
    'Volcengine',
  ),
  account(
    'an account with a word that is yet to come',
    ['chat'],
    jsonAnswer({ error: { code: 'AccountFrozen', message: UTTERANCES } }, 400),
    /^The gateway's account at BAD cannot be used$/,
    'an open set',
  ),
  // providers that fail
  failed('flex capacity', ['chat'], { status: 498 }, 'Groq', { status: 529, type: 'provider_overloaded' }),
  failed('424', ALL, jsonAnswer({ message: UTTERANCES }, 424), 'Groq; ModelErrorException'),
  ...[406, 414, 415, 418, 431, 444, 451, 460, 499].map((status) =>
    failed(`${status}`, ALL, jsonAnswer({ error: { message: UTTERANCES } }, status), 'RFC 9110, 15.5: not about the content'),
  ),
  ...[405, 406, 415, 418, 424, 451].map((status) =>
    failed(
      `${status} that calls the request invalid`,
      THREE,
      jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', code: 'invalid_value', message: UTTERANCES } }, status),
      'bodies of proxies',
    ),
  ),
  failed('500', ALL, jsonAnswer({ error: { message: UTTERANCES } }, 500), 'RFC 9110'),
  failed(
    'a quota that has the words of a bill',
    ['chat'],
    jsonAnswer(
      [
        {
          error: {
            code: 429,
            status: 'RESOURCE_EXHAUSTED',
            message: 'You exceeded your current quota, please check your plan and billing details.',
          },
        },
      ],
      429,
    ),
    'Google',
    { status: 429, type: 'rate_limit_exceeded', message: /^Provider rate limit exceeded$/, counts: false },
  ),
  failed(
    'a model that only embeds',
    THREE,
    jsonAnswer(
      { error: { code: 500, type: 'server_error', message: 'the current context does not support logits computation. skipping' } },
      500,
    ),
    'llama.cpp server',
    { status: 404, type: 'not_found', message: /not available/ },
  ),
  // the caller's request, answered with 500
  ...[
    'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] Sentence of the provider',
    'image input is not supported - hint: Sentence of the provider',
    'audio input is not supported - hint: Sentence of the provider',
  ].map((message) =>
    refused(message.slice(0, 24), THREE, jsonAnswer({ error: { code: 500, type: 'server_error', message } }, 500), 'llama.cpp server', {
      next: true,
    }),
  ),
  // context
  ...(
    [
      [
        'llama.cpp',
        THREE,
        jsonAnswer(
          {
            error: {
              code: 400,
              type: 'exceed_context_size_error',
              message: 'request (4012 tokens) exceeds the available context size (1024 tokens), try increasing it',
              n_prompt_tokens: 4012,
              n_ctx: 1024,
            },
          },
          400,
        ),
      ],
      [
        'vLLM',
        THREE,
        jsonAnswer(
          {
            error: {
              code: 400,
              type: 'BadRequestError',
              param: 'input_tokens',
              message: "This model's maximum context length is 1024 tokens. However, your request has 4012 input tokens.",
            },
          },
          400,
        ),
      ],
      ['Z.AI', ['chat', 'messages'], jsonAnswer({ error: { code: '1261', message: 'Prompt exceeds max length' } }, 400)],
      [
        'DashScope',
        ['chat'],
        jsonAnswer(
          {
            error: {
              code: 'invalid_parameter_error',
              message: 'Range of input length should be [1, 98304]',
              type: 'invalid_request_error',
            },
          },
          400,
        ),
      ],
      ['Moonshot', ['chat'], openai(400, 'Invalid request: Your request exceeded model token limit: 131072')],
      [
        'Together',
        ['chat'],
        jsonAnswer(
          {
            error: {
              message: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens',
              type: 'invalid_request_error',
              code: null,
            },
          },
          422,
        ),
      ],
      [
        'llama.cpp, a batch',
        THREE,
        jsonAnswer(
          {
            error: {
              code: 500,
              type: 'server_error',
              message: 'input (1202 tokens) is too large to process. increase the physical batch size',
            },
          },
          500,
        ),
      ],
      ['Anthropic', ['messages'], anthropic(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')],
      ['OpenAI', ['chat', 'responses'], openai(400, 'Your input exceeds the context window of this model.', 'context_length_exceeded')],
      [
        'Google',
        ['gemini'],
        google(400, 'INVALID_ARGUMENT', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
      ],
      ['Amazon', ['bedrock'], aws(400, 'ValidationException', 'Input is too long for requested model.')],
    ] as const
  ).map(([what, wires, answer]) => refused(`too long: ${what}`, wires, answer, what, CONTEXT)),
  // policy
  ...(
    [
      ['Z.AI', ['chat', 'messages'], jsonAnswer({ error: { code: '1301', message: 'Unsafe or sensitive content detected' } }, 400)],
      [
        'DashScope',
        ['chat'],
        jsonAnswer({ error: { code: 'data_inspection_failed', message: 'Input data may contain improper content.' } }, 400),
      ],
      ['OpenAI, misalignment', ['chat', 'responses'], openai(400, UTTERANCES, 'misalignment_policy_violation')],
      ['OpenAI, a policy that is yet to come', ['chat', 'responses'], openai(400, UTTERANCES, 'something_new_policy')],
      [
        'OpenAI, flagged',
        ['chat', 'responses'],
        openai(400, 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.', 'invalid_prompt'),
      ],
      ['Anthropic', ['messages'], anthropic(400, 'invalid_request_error', 'Output blocked by content filtering policy')],
    ] as const
  ).map(([what, wires, answer]) => refused(`policy: ${what}`, wires, answer, what, POLICY)),
  // forms of refusals
  refused('an unknown 400', ALL, jsonAnswer({ error: { message: UTTERANCES } }, 400), 'RFC 9110'),
  refused(
    'a list of errors',
    THREE,
    jsonAnswer({ errors: [{ code: 5006, message: `Error: ${UTTERANCES}` }, { message: 'and another' }], success: false }, 400),
    'Cloudflare',
    { message: /^BAD: Error: Sentence of the provider; and another$/ },
  ),
  refused('a list of texts', THREE, jsonAnswer({ errors: [UTTERANCES] }, 400), 'seen at proxies'),
  refused(
    'JSON:API',
    THREE,
    jsonAnswer({ errors: [{ status: '400', title: 'Bad', detail: UTTERANCES }] }, 400),
    'jsonapi.org, error objects',
  ),
  refused('base_resp', ['chat'], jsonAnswer({ base_resp: { status_code: 2013, status_msg: UTTERANCES } }, 400), 'MiniMax'),
  refused(
    'a name that is too long',
    ['chat', 'responses'],
    openai(
      400,
      `Invalid 'tools[0].name': string too long. ${UTTERANCES}`,
      'string_above_max_length',
      'invalid_request_error',
      'tools[0].name',
    ),
    'OpenAI',
  ),
  refused(
    'money in words of the caller',
    ['chat'],
    openai(400, `${UTTERANCES}: no tool is named "insufficient balance, credit balance is too low"`, 'invalid_value'),
    'a caller writes what is quoted',
  ),
]

const bad = await startUpstream(() => ({ status: 500 }))
const { gateway, upstream: good } = await startScene(t, {
  answer: (seen) => answerFor(seen, { text: ['served'] }),
  config: (url) => {
    const base = (wire: WireName, at: string): string =>
      wire === 'messages' || wire === 'bedrock' ? at : `${at}${wire === 'gemini' ? '/v1beta' : '/v1'}`
    const provider = (name: string, wire: WireName, at: string): string =>
      `  ${name}-${wire}: { name: ${name.toUpperCase()}, dialect: ${WIRES[wire]}, base_url: "${base(wire, at)}", key: sk-operator-secret }`
    const models = ROWS.flatMap(({ wires }, at) =>
      wires.flatMap((wire) => [
        `  t/${wire}-${at}: { context: 128000, endpoints: [ { provider: bad-${wire}, model: m, price: free }, { provider: good-${wire}, model: m, price: { prompt: "1", completion: "1" } } ] }`,
        `  t/${wire}-${at}-alone: { context: 128000, endpoints: [ { provider: bad-${wire}, model: m, price: free } ] }`,
      ]),
    )
    return `providers:
${ALL.flatMap((wire) => [provider('bad', wire, bad.url), provider('good', wire, url)]).join('\n')}
models:
${models.join('\n')}`
  },
})
t.teardown(() => bad.close())

async function asked(client: Client, model: string): Promise<{ response: Response; error: JsonObject; type: unknown }> {
  const response = await gateway.post(PATHS[client], { ...questionFor(client), model, provider: { sort: 'price' } })
  const body = (await response.json()) as JsonObject
  const error = response.status === 200 ? {} : object(body.error)
  return {
    response,
    error,
    type: client === 'messages' ? error.error_type : response.status === 200 ? undefined : object(error.metadata).error_type,
  }
}

async function uptime(model: string): Promise<unknown> {
  const { data } = (await (await gateway.get(`/v1/models/${model}/endpoints`)).json()) as { data: { endpoints: JsonObject[] } }
  return data.endpoints[0]?.uptime_last_1d
}

for (const [at, row] of ROWS.entries())
  t.test(`${row.what} (${row.source}): ${row.outcome}`, async (t) => {
    await every(t, 'every wire and caller', async (t) => {
      for (const wire of row.wires)
        for (const client of CALLERS[wire]) {
          const name = `${wire} for ${client}`
          bad.script = () => row.answer
          const called = good.requests.length
          const { response } = await asked(client, `t/${wire}-${at}`)
          t.equal(response.status, row.next ? 200 : row.status, `${name}: ${row.next ? 'the next endpoint serves' : 'no other endpoint'}`)
          t.equal(good.requests.length - called, row.next ? 1 : 0, name)
          const alone = await asked(client, `t/${wire}-${at}-alone`)
          t.equal(alone.response.status, row.status, `${name}: the status`)
          t.equal(alone.type, row.type, `${name}: the type`)
          t.match(alone.error.message, row.message, `${name}: the message`)
          t.equal(
            alone.response.headers.get('x-should-retry'),
            row.outcome === 'account' ? 'false' : null,
            `${name}: whether a retry helps`,
          )
          if (row.outcome === 'account') t.match(alone.error, { availability: { retryable: false } }, name)
          if (row.outcome !== 'refused')
            t.notMatch(JSON.stringify(alone.error), /Sentence|regain|suspended|sk-abc|TPM/, `${name}: nothing of the operator's`)
          t.equal(await uptime(`t/${wire}-${at}-alone`), row.counts ? 0 : null, `${name}: whether it counts`)
        }
    })
  })

t.test('a wait that a provider states with 429, 503 or 529 goes on to the caller, and with no other status', async (t) => {
  await every(t, 'every status and caller', async (t) => {
    const at = ROWS.findIndex(({ what }) => what === '500')
    for (const [status, wait] of [
      [429, '7'],
      [412, null],
      [503, '7'],
      [529, '7'],
      [500, null],
      [401, null],
    ] as const)
      for (const client of CLIENTS) {
        bad.script = () => ({
          ...jsonAnswer({ error: { message: 'Loading model' } }, status),
          headers: { 'retry-after': '7', 'content-type': 'application/json' },
        })
        const { response } = await asked(client, `t/chat-${at}-alone`)
        t.equal(response.headers.get('retry-after'), wait, `${status} for ${client}`)
      }
  })
})

t.test('trouble of the account is told as such only where no endpoint failed otherwise', async (t) => {
  const at = ROWS.findIndex(({ what }) => what === '500')
  bad.script = () => ({ status: 500 })
  const fine = good.script
  good.script = () => openai(401, 'Incorrect API key provided: sk-abc.', 'invalid_api_key')
  t.teardown(() => {
    good.script = fine
  })
  const { response, error } = await asked('chat', `t/chat-${at}`)
  t.equal(response.status, 502)
  t.equal(error.message, "GOOD refused the gateway's key")
  t.equal(response.headers.get('x-should-retry'), null, 'the first may be up again')
  t.match(error, { availability: { retryable: true } })
  bad.script = () => openai(402, 'no money')
  const both = await asked('chat', `t/chat-${at}`)
  t.equal(both.response.headers.get('x-should-retry'), 'false')
})

t.test('an account that fails in the middle of an answer is named, and its sentence is not', async (t) => {
  const at = ROWS.findIndex(({ what }) => what === '402')
  const frames = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Well, ' } },
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'You have reached your specified API usage limits. You will regain access on 2026-12-01.',
      },
    },
  ]
  await every(t, 'every caller, before and after content', async (t) => {
    for (const client of CLIENTS)
      for (const from of [0, 3]) {
        bad.script = () => sseAnswer(frames.slice(from).map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`))
        const body = { ...questionFor(client), model: `t/messages-${at}-alone`, stream: true }
        const text = await (await gateway.post(PATHS[client], body)).text()
        t.match(text, "The gateway's account at BAD is out of credit", `${client} ${from}`)
        t.notMatch(text, 'regain', `${client} ${from}`)
      }
  })
})

t.test('sends a request that one server refuses with 500 to another provider, and not again to the same one', async (t) => {
  const scene = await startScene(t, {
    answer: (seen) =>
      seen.json.model === 'elsewhere'
        ? answerFor(seen, { text: ['served'] })
        : jsonAnswer({ error: { code: 500, message: 'image input is not supported - hint: mmproj' } }, 500),
    config: (url) => `providers:
  one: { dialect: openai-chat, base_url: "${url}/v1" }
  two: { dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/one: { context: 128000, endpoints: [ { provider: one, model: first, price: free }, { provider: one, variant: b, model: again, price: { prompt: "1", completion: "1" } }, { provider: two, model: elsewhere, price: { prompt: "2", completion: "2" } } ] }
`,
  })
  t.equal((await scene.ask({ provider: { sort: 'price' } })).status, 200)
  t.same(
    scene.upstream.requests.map(({ json }) => json.model),
    ['first', 'elsewhere'],
  )
})
