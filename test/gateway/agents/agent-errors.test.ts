/** Errors that coding agents act on: each says in the words of its format, and in words that agents look for, what happened. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

/** Most input that the endpoint of acme/short takes, by the configuration. */
const SHORT = 10_000

/** Providers' own words for an overflow. */
const OVERFLOWS: Readonly<Record<string, JsonObject>> = {
  'openai-chat': {
    error: { message: 'Input is longer than 8192 tokens.', code: 'context_length_exceeded', type: 'invalid_request_error' },
  },
  'openai-responses': { error: { message: 'Too long.', code: 'context_length_exceeded', type: 'invalid_request_error', param: 'input' } },
  anthropic: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' } },
}

/** Those of servers that answer alike over each wire: llama.cpp b11549 and vLLM 0.32.0, both with a number as their code. */
const OF_SERVERS: Readonly<Record<string, JsonObject>> = {
  llama: {
    error: {
      code: 400,
      type: 'exceed_context_size_error',
      message: 'request (7506 tokens) exceeds the available context size (1024 tokens), try increasing it',
      n_prompt_tokens: 7506,
      n_ctx: 1024,
    },
  },
  vllm: {
    error: {
      message: "This model's maximum context length is 1024 tokens. However, your request has 7506 input tokens.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  },
}

/** The answer of each model, by the part of its slug behind `acme/`. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  ...OVERFLOWS,
  ...Object.fromEntries(
    Object.entries(OF_SERVERS).flatMap(([server, body]) => Object.keys(OVERFLOWS).map((dialect) => [`${server}-${dialect}`, body])),
  ),
}

let script: (seen: Seen) => Answer = () => jsonAnswer({})
const { gateway } = await startScene(t, {
  answer: (seen) => script(seen),
  config: (url) => `
providers:
${Object.keys(OVERFLOWS)
  .map((dialect) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-up }`)
  .join('\n')}
models:
${Object.keys(ANSWERS)
  .map((name) => `  acme/${name}: { endpoints: [ { provider: ${name.replace(/^(?:llama|vllm)-/, '')}, model: m, price: free } ] }`)
  .join('\n')}
  acme/short: { context: ${SHORT}, endpoints: [ { provider: openai-chat, model: m, price: free } ] }
`,
})

const CLIENTS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }
type Client = keyof typeof CLIENTS

function ask(client: Client, model: string, stream: boolean): Promise<Response> {
  const text = 'word '.repeat(20_000)
  const turns = client === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] }
  return gateway.post(CLIENTS[client], { model, stream, ...(client === 'messages' ? { max_tokens: 5 } : {}), ...turns })
}

const parseEvents = (text: string): JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as JsonObject)

/** Phrases that pi 0.73.1 and opencode 1.18.33 look for, among others. */
const WORDS = /exceeds the context window|prompt is too long/i

t.test('an overflow of the context, by the gateway or by a provider', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const model of ['short', ...Object.keys(ANSWERS)])
      for (const client of Object.keys(CLIENTS) as Client[])
        for (const stream of [false, true]) {
          script = () => jsonAnswer(ANSWERS[model], 400)
          const name = `${model}, ${client}, ${stream ? 'streamed' : 'whole'}`
          const response = await ask(client, `acme/${model}`, stream)
          const text = await bodyText(response)
          if (client === 'responses' && stream) {
            t.equal(response.status, 200, name)
            const events = parseEvents(text)
            t.same(
              events.map(({ type }) => type),
              ['response.created', 'response.in_progress', 'error', 'response.failed'],
              name,
            )
            t.match(events[2], { code: 'context_length_exceeded', error: { code: 'context_length_exceeded', message: WORDS } }, name)
            const failed = object(events[3].response)
            t.match(failed, { status: 'failed', error: { code: 'context_length_exceeded' }, error_type: 'context_length_exceeded' }, name)
            t.match(object(failed.error).message, WORDS, name)
            continue
          }
          t.equal(response.status, 400, name)
          const error = object((JSON.parse(text) as JsonObject).error)
          t.equal(error.code, 400, name)
          t.match(error.message, WORDS, name)
          if (client !== 'messages') t.match(error, { metadata: { error_type: 'context_length_exceeded' } }, name)
          else t.match(error, { type: 'invalid_request_error', message: /prompt is too long/ }, name)
        }
  })
})

t.test('Claude Code reads the tokens of the request and of the context', async (t) => {
  // Its expression at 2.1.330.
  const numbers = /prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/i
  const message = async (model: string): Promise<unknown> => {
    script = () => jsonAnswer(OVERFLOWS[model], 400)
    return object(((await (await ask('messages', `acme/${model}`, true)).json()) as JsonObject).error).message
  }
  const own = numbers.exec(String(await message('short')))
  t.ok(Number(own?.[1]) > SHORT)
  t.equal(Number(own?.[2]), SHORT)
  t.same(numbers.exec(String(await message('anthropic')))?.slice(1), ['213462', '200000'])
})

/** A Responses provider whose stream fails after some content. */
const failing =
  (error: JsonObject) =>
  (seen: Seen): Answer => {
    const frames = framesFor(seen.path, { text: ['one ', 'two'] })
    const shown = frames.slice(0, frames.findIndex((frame) => frame.includes('two')) + 1)
    const failed = { type: 'response.failed', response: { id: 'r', object: 'response', status: 'failed', output: [], error } }
    return sseAnswer([...shown, `event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`])
  }

/** The last event that a caller gets of it. */
async function last(client: Client): Promise<JsonObject> {
  return parseEvents(await bodyText(await ask(client, 'acme/openai-responses', true))).at(-1) ?? {}
}

t.test('after content an overflow ends a Response as incomplete, and is an error event elsewhere', async (t) => {
  script = failing({ code: 'context_length_exceeded', message: 'Too long.' })
  t.match(await last('responses'), {
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, error: null },
  })
  t.match(await last('messages'), { type: 'error', error: { type: 'invalid_request_error', message: /prompt is too long/ } })
  const chat = await last('chat')
  t.match(chat, { error: { code: 400, metadata: { error_type: 'context_length_exceeded' } } })
  t.equal(list(chat.choices).length, 1)
})

t.test('an error has its status as a number, its class in the words of OpenAI, and the field at fault', async (t) => {
  script = () => jsonAnswer({ error: { message: 'Slow down.' } }, 429)
  const wrongField = await gateway.post(CLIENTS.chat, {
    model: 'acme/short',
    messages: [{ role: 'user', content: 'Hello' }],
    temperature: 'warm',
  })
  const wrongKey = await gateway.post(CLIENTS.responses, { model: 'acme/short', input: 'Hello' }, { authorization: 'Bearer sk-wrong' })
  const found: [Response, JsonObject][] = [
    [wrongField, { code: 400, type: 'invalid_request_error', param: 'temperature', metadata: { error_type: 'invalid_request' } }],
    [wrongKey, { code: 401, type: 'authentication_error', param: null, metadata: { error_type: 'authentication' } }],
    [
      await ask('chat', 'acme/openai-chat', false),
      { code: 429, type: 'rate_limit_error', param: null, metadata: { error_type: 'rate_limit_exceeded' } },
    ],
  ]
  for (const [response, error] of found) t.match(await response.json(), { error })
  const messages = await ask('messages', 'acme/openai-chat', false)
  t.match(await messages.json(), { type: 'error', error: { type: 'rate_limit_error', code: 429, error_type: 'rate_limit_exceeded' } })
})

t.test('an error in a stream has the number for chat callers, and a word of the list for those of Responses', async (t) => {
  script = failing({ code: 'rate_limit_exceeded', message: 'Slow down.' })
  t.match(await last('chat'), {
    error: { code: 429, type: 'rate_limit_error', param: null, metadata: { error_type: 'rate_limit_exceeded' } },
  })
  t.match(await last('responses'), { type: 'response.failed', response: { status: 'failed', error: { code: 'rate_limit_exceeded' } } })
  t.match(await last('messages'), { type: 'error', error: { type: 'rate_limit_error' } })
})

t.test('a plan of a stream is refused by its status', async (t) => {
  const response = await gateway.post('/v1/plan', { model: 'acme/short', stream: true, input: 'word '.repeat(20_000) })
  t.equal(response.status, 400)
  t.match(await response.json(), { error: { code: 400, metadata: { tokens: Number, context: SHORT } } })
})

t.test('an unknown bare name is a 404 that names it, and the log has the name', async (t) => {
  const turns = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
  for (const name of ['claude-haiku-9', 'x'.repeat(200)]) {
    for (const path of [...Object.values(CLIENTS), '/v1/messages/count_tokens']) {
      const response = await gateway.post(path, { model: name, ...turns, input: 'Hello' })
      t.equal(response.status, 404, path)
      const error = object(((await response.json()) as JsonObject).error)
      t.match(error, { code: 404, message: `No such model: ${name}`, availability: { code: 'model_not_found', requested_models: [name] } })
      if (path === CLIENTS.messages) t.equal(error.type, 'not_found_error')
    }
    const lines = gateway.logs.filter((line) => line.includes('"msg":"exchange"')).map((line) => JSON.parse(line) as JsonObject)
    t.match(lines.at(-1), { status: 404, fault: 'model_not_found', requested: name.slice(0, 128) })
  }
})
