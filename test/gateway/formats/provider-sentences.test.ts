/**
 * The provider's own sentence of a 400, 404, 409, 413 or 422 reaches the caller after the provider's name, and
 * nothing of the operator's does. Bodies named `recorded` are those of real providers.
 */
import OpenAI from 'openai'
import t from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object, parseStream } from '../../support/fold.ts'
import { CLIENTS, type Client, PATHS } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Script } from '../../support/upstream.ts'
import { framesFor, says } from '../../support/wire.ts'

const KEY = 'sk-provider-Q9w8E7r6T5y4'
const PRESET = 'Never mention the merger with Initech before Friday.'
const PROMPT = 'You work for the secret department of weather.'
const SET = 'internal routing note of the operator'

let script: Script = says({ text: ['fine'] })
const provider = (name: string, dialect: string, base: string, more = ''): string =>
  `  ${name}: { name: ${name.toUpperCase()}, dialect: ${dialect}, base_url: "${base}", key: "${KEY}"${more} }`
const { gateway, upstream } = await startScene(t, {
  answer: (seen, index) => script(seen, index),
  config: (url) => `
providers:
${provider('chat', 'openai-chat', `${url}/v1`, ', headers: { x-account: acct-0a1b2c3d }')}
${provider('responses', 'openai-responses', `${url}/v1`)}
${provider('claude', 'anthropic', url)}
${provider('gemini', 'gemini', `${url}/v1beta`)}
${provider('mistral', 'openai-chat', `${url}/v1`, `, quirks: { body: { rename: { seed: random_seed, user: end_user }, set: { note: "${SET}" } } }`)}
${provider('newer', 'openai-chat', `${url}/v1`, ', quirks: { max_tokens_field: max_completion_tokens }')}
${provider('cohere', 'cohere', `${url}/v1`)}
models:
${['chat', 'responses', 'claude', 'gemini', 'mistral', 'newer']
  .map((name) => `  m/${name}: { context: 128000, endpoints: [ { provider: ${name}, model: prod-deployment-7, price: free } ] }`)
  .join('\n')}
  m/both: { context: 128000, endpoints: [ { provider: chat, model: one, price: free }, { provider: mistral, model: two, price: free } ] }
  m/vectors: { kind: embedding, input: [text], endpoints: [ { provider: cohere, model: embed-v4, price: free } ] }
presets: { quiet: { system_prompt: "${PRESET}" } }
prompts: { greet: { messages: [ { role: system, content: "${PROMPT}" } ] } }
`,
})
const { port } = new URL(upstream.url)

function question(client: Client, model: string, more: JsonObject = {}): JsonObject {
  const content = 'Hello there, how is the weather in Oslo today?'
  if (client === 'responses') return { model, input: content, ...more }
  const body: JsonObject = { model, messages: [{ role: 'user', content }], ...more }
  return client === 'messages' ? { max_tokens: 100, ...body } : body
}

interface Refused {
  status: number
  message: string
  param: unknown
  text: string
}

async function refused(client: Client, body: JsonObject): Promise<Refused> {
  const response = await gateway.post(PATHS[client], body)
  const text = await response.text()
  const failed = /^data: (.*"type":"response\.failed".*)$/m.exec(text)?.[1]
  const told = failed === undefined ? (JSON.parse(text) as JsonObject) : object((JSON.parse(failed) as JsonObject).response)
  const error = object(told.error)
  return { status: response.status, message: String(error.message), param: error.param, text }
}

const answers = (status: number, body: unknown): Script => {
  return () => (typeof body === 'string' ? { status, headers: { 'content-type': 'text/html' }, body: [body] } : jsonAnswer(body, status))
}

/** An error in the form of each wire. */
const FORMS: Readonly<Record<string, (message: string) => JsonObject>> = {
  chat: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  responses: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  claude: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_1' }),
  gemini: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
}

/** Model, status, body of the provider, and the sentence that the caller reads. */
const SENTENCES: readonly (readonly [what: string, model: string, status: number, body: unknown, sentence: string])[] = [
  [
    'recorded: OpenAI Responses',
    'responses',
    400,
    {
      error: {
        code: 'decimal_below_min_value',
        message: "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
        param: 'temperature',
        type: 'invalid_request_error',
      },
    },
    "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
  ],
  [
    'recorded: OpenAI chat',
    'chat',
    400,
    {
      error: {
        code: null,
        message: 'Web search options not supported with this model.',
        param: 'web_search_options',
        type: 'invalid_request_error',
      },
    },
    'Web search options not supported with this model.',
  ],
  [
    'recorded: Groq',
    'chat',
    400,
    {
      error: {
        code: 'tool_use_failed',
        failed_generation: 'maybe',
        message: 'Tool choice is required, but model did not call a tool',
        type: 'invalid_request_error',
      },
    },
    'Tool choice is required, but model did not call a tool',
  ],
  [
    'recorded: Anthropic',
    'claude',
    400,
    {
      error: {
        message: "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        type: 'invalid_request_error',
      },
      request_id: 'req_011Ca7jT9AHpgXgdv8igm4z9',
      type: 'error',
    },
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
  ],
  [
    'recorded: Gemini',
    'gemini',
    400,
    {
      error: {
        code: 400,
        message: 'Cannot fetch content from the provided URL. Please ensure the URL is valid and accessible by Vertex AI.',
        status: 'INVALID_ARGUMENT',
      },
    },
    'Cannot fetch content from the provided URL. Please ensure the URL is valid and accessible by Vertex AI.',
  ],
  [
    'the list of a validator',
    'chat',
    422,
    { detail: [{ type: 'extra_forbidden', loc: ['body', 'messages', 0, 'name'], msg: 'Extra inputs are not permitted', input: 'Ada' }] },
    'messages[0].name: Extra inputs are not permitted',
  ],
  [
    'the list of a validator within message',
    'mistral',
    422,
    {
      object: 'error',
      message: {
        detail: [
          { loc: ['body', 'top_k'], msg: 'Input should be 1' },
          { loc: ['body'], msg: 'No' },
        ],
      },
    },
    'top_k: Input should be 1; No',
  ],
  ['a text as detail', 'chat', 422, { detail: 'Prompt has no user turn' }, 'Prompt has no user turn'],
  ['409', 'chat', 409, FORMS.chat('The conversation is locked.'), 'The conversation is locked.'],
  ['413', 'claude', 413, FORMS.claude('Request exceeds the maximum size'), 'Request exceeds the maximum size'],
  [
    'too long',
    'chat',
    400,
    { error: { message: 'This model has a maximum context length of 8192 tokens.', code: 'context_length_exceeded' } },
    'This model has a maximum context length of 8192 tokens.',
  ],
  ['no more than spaces between', 'chat', 400, FORMS.chat('One\u0007\u202e two\n\n three'), 'One two three'],
]

t.test('the sentence comes after the name of the provider, in every format', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [what, model, status, body, sentence] of SENTENCES)
      for (const client of CLIENTS)
        for (const stream of [false, true]) {
          script = answers(status, body)
          const got = await refused(client, question(client, `m/${model}`, { stream }))
          // An overflow of the context is an event of the stream there (test/gateway/agents/agent-errors.test.ts).
          const shown = stream && client === 'responses' && what === 'too long' ? 200 : status
          t.match(got, { status: shown, message: `${model.toUpperCase()}: ${sentence}` }, `${what}, ${client}, ${stream}`)
        }
  })
  const logged = gateway.logs.join('\n')
  t.notMatch(logged, /decimal below|effort level|Extra inputs/, 'no sentence is logged')
})

t.test('other errors of a provider keep their own words', async (t) => {
  const sentence = 'The quick brown error of this provider'
  const cases: readonly (readonly [string, number, unknown, number])[] = [
    ['the key is refused', 401, FORMS.chat(sentence), 502],
    ['the account has no money', 402, FORMS.chat(sentence), 502],
    ['the place is refused', 403, FORMS.chat(sentence), 502],
    ['a limit', 429, FORMS.chat(sentence), 429],
    ['a failure', 500, FORMS.chat(sentence), 502],
    ['overload', 529, FORMS.chat(sentence), 529],
    ['no such model', 404, FORMS.chat(sentence), 404],
    [
      'recorded: no such model, Groq',
      404,
      { error: { code: 'model_not_found', message: 'The model `prod-deployment-7` does not exist or you do not have access to it.' } },
      404,
    ],
    ['a page', 400, '<html><body>The quick brown error</body></html>', 400],
    ['a page as the message', 400, FORMS.chat('<html><head><title>The quick brown error</title></head></html>'), 400],
    ['another member', 400, { error: { type: 'bad', detail: sentence, description: sentence, stack: sentence } }, 400],
    ['a message that is none', 400, { error: { message: { text: sentence } } }, 400],
    ['a megabyte', 400, FORMS.chat(`${sentence} ${'x'.repeat(1_000_000)}`), 400],
  ]
  await every(t, 'every case', async (t) => {
    for (const [what, status, body, expected] of cases)
      for (const client of CLIENTS) {
        script = answers(status, body)
        const got = await refused(client, question(client, 'm/chat'))
        t.equal(got.status, expected, `${what}, ${client}`)
        t.notMatch(got.text, /quick brown|CHAT: |prod-deployment/, `${what}, ${client}`)
      }
  })
})

t.test('a model that the provider does not have is no reason to try again', async (t) => {
  const models = ['chat', 'responses', 'claude', 'gemini']
  const recorded: readonly JsonObject[] = [
    { error: { code: 'model_not_found', message: "The requested model 'gpt-5.2-proo' does not exist.", param: 'model' } },
    { error: { code: 'model_not_found', message: "The requested model 'gpt-5.2-proo' does not exist.", param: 'model' } },
    { error: { message: 'model: claude-sonet-4-5', type: 'not_found_error' }, type: 'error' },
    { error: { code: 404, message: 'models/gemini-3.6-flahs is not found for API version v1beta', status: 'NOT_FOUND' } },
  ]
  await every(t, 'every provider', async (t) => {
    for (const [index, model] of models.entries()) {
      script = answers(model === 'chat' || model === 'responses' ? 400 : 404, recorded[index])
      const response = await gateway.post(PATHS.chat, question('chat', `m/${model}`))
      t.equal(response.status, 404, model)
      t.match(
        await response.json(),
        {
          error: {
            code: 404,
            message: 'The model is not available at the provider',
            type: 'invalid_request_error',
            availability: { code: 'model_unavailable_upstream', retryable: false, affected_providers: [model] },
          },
        },
        model,
      )
    }
  })
})

t.test('a 404 about an id that the caller sent is about the request', async (t) => {
  const missing = "Item with id 'msg_0123456789abcdef' not found. Items are not persisted when `store` is set to false."
  script = answers(404, FORMS.responses(missing))
  const item = (id: string) => [
    { type: 'message', id, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] },
    { role: 'user', content: 'Go on.' },
  ]
  const own = await refused('responses', { model: 'm/responses', input: item('msg_0123456789abcdef') })
  t.match(own, { status: 404, message: `RESPONSES: ${missing}` })
  const other = await refused('responses', { model: 'm/responses', input: item('msg_another0another') })
  t.match(other, { status: 404, message: 'The model is not available at the provider' })
  t.notMatch(other.text, /0123456789abcdef/)
  script = says({ text: ['fine'] })
  t.equal((await gateway.post(PATHS.responses, question('responses', 'm/responses'))).status, 200, 'the endpoint is not ejected')
})

t.test('text that the operator or the gateway added is never shown', async (t) => {
  const quoting = (text: string): string => `messages.0: the text ${JSON.stringify(text)} is too strict`
  await every(t, 'every case', async (t) => {
    for (const model of Object.keys(FORMS)) {
      const ask = (sentence: string, body: JsonObject, client: Client = 'chat'): Promise<Refused> => {
        script = answers(400, FORMS[model](sentence))
        return refused(client, body)
      }
      for (const client of CLIENTS) {
        const preset = question(client, `m/${model}`, { preset: 'quiet' })
        for (const part of [PRESET, PRESET.slice(6, 26)]) {
          const { status, text } = await ask(quoting(part), preset, client)
          t.equal(status, 400, `${model}, ${client}`)
          t.notMatch(text, /merger|Never men|too strict/, `${model}, ${client}: a preset`)
        }
        t.match((await ask(quoting(PRESET.slice(6, 25)), preset, client)).message, /too strict/, `${model}: 19 characters`)
        const sent = client === 'messages' ? { system: PRESET } : { instructions: PRESET }
        const own =
          client === 'chat'
            ? {
                messages: [
                  { role: 'system', content: PRESET },
                  { role: 'user', content: 'Hi' },
                ],
              }
            : sent
        t.match((await ask(quoting(PRESET), question(client, `m/${model}`, own), client)).message, /merger/, `${model}: the caller's own`)
      }
      const prompt = { model: `m/${model}`, prompt: { id: 'greet' }, input: 'Hello there' }
      t.notMatch((await ask(quoting(PROMPT), prompt, 'responses')).text, /secret department/, `${model}: a stored prompt`)
      const json = { model: `m/${model}`, messages: [{ role: 'user', content: 'Line one is mine\nline two is mine as well' }] }
      t.match((await ask(quoting('Line one is mine\nline two is mine'), json)).message, /Line one is mine/, `${model}: escapes`)
    }
  })
  script = answers(400, FORMS.chat(`extra field: ${SET}`))
  t.notMatch((await refused('chat', question('chat', 'm/mistral'))).text, /routing note/, 'a field that a quirk sets')
})

t.test('keys, ids of the account and addresses are removed', async (t) => {
  const secrets: readonly (readonly [string, RegExp])[] = [
    [`Wrong key ${KEY} for this model`, /Q9w8E7/],
    ['A key sk-proj-********************Zx3A was named.', /Zx3A/],
    ['The organization org-Ab3dEf6hIjkLmnOp12345678 must be verified', /Ab3dEf6/],
    ['Quota of project proj_Ab3dEf6hIjkL is used up', /Ab3dEf6/],
    ['Quota of project 123456789012 is used up', /123456789012/],
    ['The account acct-0a1b2c3d is not allowed', /0a1b2c3d/],
    ['The deployment prod-deployment-7 has no vision', /prod-deployment/],
    ["Resource projects/my-shop/locations/us/publishers/google/models/x isn't there", /my-shop/],
    ['See https://platform.example.com/account/usage?org=shop for more.', /example\.com|usage/],
    ['Ask admin@shop.example.com or shop-eu.openai.azure.com/openai', /shop/],
    [`Call http://127.0.0.1:${port}/v1/chat/completions`, new RegExp(port)],
    ['Trace 3f0b5c1e-7d55-4a53-9a4f-0c7f5d0a1b2c', /3f0b5c1e/],
    ['Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl was refused', /eyJ|c2lnb/],
    ['arn:aws:bedrock:us-east-1:123456789012:model/x is unknown', /123456789012/],
  ]
  await every(t, 'every case', async (t) => {
    for (const model of Object.keys(FORMS))
      for (const [sentence, secret] of secrets) {
        script = answers(400, FORMS[model](`This is wrong. ${sentence}`))
        const { text, message } = await refused('chat', question('chat', `m/${model}`))
        t.notMatch(text, secret, `${model}: ${sentence}`)
        t.match(message, /This is wrong\./, `${model}: the rest stays`)
      }
    for (const sentence of [
      'This model does not support web_search_20250305; use claude-haiku-4-5-20251001 or gpt-4o-mini-2024-07-18.',
      'messages.1.content.0.tool_use.id: expected call_abc, key [toolResult] is not permitted',
      'max_tokens must be below 2147483648, organization must be verified',
    ]) {
      script = answers(400, FORMS.chat(sentence))
      t.equal((await refused('chat', question('chat', 'm/chat'))).message, `CHAT: ${sentence}`)
    }
  })
  const id = 'call_Zm9vYmFyMTIzNDU2'
  script = answers(400, FORMS.chat(`No tool output found for tool call ${id}.`))
  const call = { id, type: 'function', function: { name: 'f', arguments: '{}' } }
  const body = question('chat', 'm/chat', {
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ],
  })
  t.equal((await refused('chat', body)).message, `CHAT: No tool output found for tool call ${id}.`, 'an id that the caller sent stays')
})

t.test('a message has 2,000 characters at most', async (t) => {
  script = answers(400, FORMS.chat(`Long: ${'wörter 😀 '.repeat(2000)}`))
  const { message } = await refused('chat', question('chat', 'm/chat'))
  t.ok(message.length > 1900 && message.length <= 2000)
  t.ok(message.isWellFormed())
  t.match(message, /^CHAT: Long: wörter .*…$/)
})

t.test('a field that the gateway renamed is named as the caller wrote it', async (t) => {
  const cases: readonly (readonly [string, Client, JsonObject, JsonObject, RegExp, string])[] = [
    [
      'mistral',
      'chat',
      { seed: -1 },
      { detail: [{ loc: ['body', 'random_seed'], msg: 'Input should be greater than 0' }] },
      /^MISTRAL: random_seed: Input should be greater than 0 \(random_seed is seed in your request\)$/,
      'seed',
    ],
    [
      'chat',
      'chat',
      { max_completion_tokens: 9 },
      { error: { message: 'max_tokens is too small', param: 'max_tokens' } },
      /\(max_tokens is max_completion_tokens in your request\)$/,
      'max_completion_tokens',
    ],
    [
      'newer',
      'chat',
      { max_tokens: 9 },
      { error: { message: 'Wrong value', param: 'max_completion_tokens' } },
      /^NEWER: Wrong value$/,
      'max_tokens',
    ],
    [
      'chat',
      'responses',
      { max_output_tokens: 16 },
      { error: { message: "'max_tokens' is too large", param: 'max_tokens' } },
      /\(max_tokens is max_output_tokens in your request\)$/,
      'max_output_tokens',
    ],
    [
      'chat',
      'responses',
      {},
      { error: { message: "'messages[0].role' is wrong", param: 'messages[0].role' } },
      /\(messages is input in your request\)$/,
      'input',
    ],
    [
      'gemini',
      'chat',
      { max_tokens: 9 },
      {
        error: {
          code: 400,
          status: 'INVALID_ARGUMENT',
          message: 'Invalid value at generation_config.max_output_tokens',
          details: [
            { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'generation_config.max_output_tokens' }] },
          ],
        },
      },
      /\(max_output_tokens is max_tokens in your request\)$/,
      'max_tokens',
    ],
    [
      'claude',
      'chat',
      { stop: ['x'] },
      FORMS.claude('stop_sequences: each must have a letter'),
      /\(stop_sequences is stop in your request\)$/,
      'stop',
    ],
    [
      'responses',
      'chat',
      { reasoning_effort: 'low' },
      { error: { message: "Item of type 'reasoning' without the input that follows", param: 'input' } },
      /^RESPONSES: Item of type 'reasoning' without the input that follows \(input is messages in your request\)$/,
      'messages',
    ],
    ['responses', 'chat', { temperature: 1 }, { error: { message: 'No', param: 'temperature' } }, /^RESPONSES: No$/, 'temperature'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [model, client, more, body, message, param] of cases)
      for (const stream of [false, true]) {
        script = answers(400, body)
        const got = await refused(client, question(client, `m/${model}`, { ...more, stream }))
        t.match(got.message, message, `${model} for ${client}`)
        t.equal(got.param, param, `${model} for ${client}`)
      }
  })
  script = answers(400, { message: 'output_dimension is not one of 256, 512' })
  const response = await gateway.post('/v1/embeddings', { model: 'm/vectors', input: 'Hello', dimensions: 3 })
  t.equal(response.status, 400)
  t.match(await response.json(), {
    error: { message: 'COHERE: output_dimension is not one of 256, 512 (output_dimension is dimensions in your request)' },
  })
})

t.test('the sentence is that of the last provider', async (t) => {
  script = (_seen, index): Answer => jsonAnswer(FORMS.chat(`sentence ${index}`), index % 2 === 0 ? 500 : 400)
  if (upstream.requests.length % 2 === 1) await refused('chat', question('chat', 'm/chat'))
  const order = { provider: { order: ['chat', 'mistral'] } }
  const { message, text } = await refused('chat', question('chat', 'm/both', order))
  const last = upstream.requests.length - 1
  t.equal(message, `MISTRAL: sentence ${last}`)
  t.notMatch(text, `sentence ${last - 1}`)
})

t.test('an error within a stream says the same', async (t) => {
  const broken = `data: ${JSON.stringify({ error: { message: 'Tool call validation failed', code: 400, type: 'invalid_request_error' } })}\n\n`
  await every(t, 'every client', async (t) => {
    for (const client of ['chat', 'responses'] as const) {
      script = (seen) => ({
        headers: { 'content-type': 'text/event-stream' },
        body: [...framesFor(seen.path, { text: ['one '] }).slice(0, 2), broken],
      })
      const response = await gateway.post(PATHS[client], question(client, 'm/chat', { stream: true }))
      const last = parseStream(await response.text()).at(-1)
      const error = client === 'chat' ? last?.error : isObject(last?.response) ? last.response.error : undefined
      t.match(error, { message: 'CHAT: Tool call validation failed' }, client)
    }
  })
})

t.test('the SDK of OpenAI shows type, field and code', async (t) => {
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  script = answers(422, { error: { message: 'Too hot', param: 'temperature' } })
  const caught = async (asking: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
    const error = await asking.catch((reason: unknown) => reason)
    if (!(error instanceof OpenAI.APIError)) throw new Error('no error of the API')
    return error
  }
  const unprocessable = await caught(openai.chat.completions.create({ model: 'm/chat', messages, temperature: 2 }))
  t.ok(unprocessable instanceof OpenAI.UnprocessableEntityError)
  t.match(unprocessable, { status: 422, type: 'invalid_request_error', param: 'temperature', code: 422 })
  t.equal(unprocessable.message, '422 CHAT: Too hot')
  t.match(unprocessable.requestID, /^gen-/)
  const unknown = { status: 404, type: 'invalid_request_error', param: 'model' }
  t.match(await caught(openai.responses.create({ model: 'm/none', input: 'Hi' })), unknown)
  t.match(await caught(openai.embeddings.create({ model: 'm/none', input: 'Hi' })), unknown)
  t.match(await caught(openai.models.retrieve('m/none')), unknown)
  const wrong = await caught(openai.chat.completions.create({ model: 'm/chat', messages, temperature: 'hot' as unknown as number }))
  t.match(wrong, { status: 400, type: 'invalid_request_error', param: 'temperature' })
  const nobody = new OpenAI({ apiKey: 'sk-wrong', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  t.match(await caught(nobody.responses.create({ model: 'm/chat', input: 'Hi' })), { type: 'authentication_error', param: null })
  script = answers(429, FORMS.chat('slow'))
  t.match(await caught(openai.chat.completions.create({ model: 'm/chat', messages })), { type: 'rate_limit_error', param: null })
  script = answers(500, FORMS.chat('broken'))
  t.match(await caught(openai.responses.create({ model: 'm/chat', input: 'Hi' })), { status: 502, type: 'server_error' })
})
