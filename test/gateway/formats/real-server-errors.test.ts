/**
 * Errors of model servers as they were measured: llama.cpp's server (wheel xllamacpp 2026.10.11549), vLLM 0.32.0, transformers serve 5.23.0,
 * Ollama 0.17.4. Which are refusals of the request, with their sentence for the caller and nothing held against the server; and which are
 * failures, that move the key which had them and no other.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

t.setTimeout(280_000)

const WIRES = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic' }
type WireName = keyof typeof WIRES
const ALL = Object.keys(WIRES) as WireName[]
const KEYS = { app: 'sk-router-v1-app0-0123456789abcdef', other: 'sk-router-v1-other-0123456789abcdef' }

interface Row {
  readonly what: string
  readonly wires?: readonly WireName[]
  readonly answer: Answer
  /** Error for the caller of the only endpoint. */
  readonly status: number
  readonly message: RegExp
  /** The next endpoint serves. */
  readonly next: boolean
  /** no: nothing is held against the endpoint. key: the caller's key leaves it. all: every key does. */
  readonly moves: 'no' | 'key' | 'all'
  readonly stream?: true
}

const llama = (code: number, message: string, type = 'server_error', more: JsonObject = {}): Answer =>
  jsonAnswer({ error: { code, message, type, ...more } }, code)
const refused = (what: string, answer: Answer, message: RegExp, more: Partial<Row> = {}): Row => {
  return { what, answer, status: 400, message, next: false, moves: 'no', ...more }
}
const failed = (what: string, answer: Answer, more: Partial<Row> = {}): Row => {
  return { what, answer, status: 502, message: /^Provider (?:returned|closed)/, next: true, moves: 'key', ...more }
}

const SCHEMA = 'Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at '
const CUT =
  "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 26: syntax error while parsing value - invalid string: missing closing quote; last read: '\"insufficient_quota'"

const ROWS: readonly Row[] = [
  refused('llama.cpp: cut arguments', llama(500, CUT), /Failed to parse tool call arguments as JSON/, { next: true }),
  refused(
    'llama.cpp: a picture',
    llama(500, 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'),
    /image input is not supported/,
    { next: true },
  ),
  refused(
    'llama.cpp: a sound',
    llama(500, 'audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj'),
    /audio input is not supported/,
    { next: true },
  ),
  refused(
    'llama.cpp: an input beyond its batch',
    llama(500, 'input (1202 tokens) is too large to process. increase the physical batch size (current batch size: 512)'),
    /is too large to process/,
  ),
  refused(
    'llama.cpp: a context that is too long',
    llama(400, 'request (7506 tokens) exceeds the available context size (1024 tokens), try increasing it', 'exceed_context_size_error', {
      n_prompt_tokens: 7506,
      n_ctx: 1024,
    }),
    /exceeds the available context size/,
  ),
  refused(
    'llama.cpp: a boolean schema',
    llama(400, `${SCHEMA}#/properties/a: schema must be an object`, 'invalid_request_error'),
    /schema must be/,
  ),
  refused(
    'llama.cpp: a reference to nothing',
    llama(400, `${SCHEMA}#/properties/a: cannot resolve $ref #/nope, nope not found`),
    /cannot resolve/,
  ),
  failed('llama.cpp: a server for embeddings', llama(500, 'the current context does not support logits computation. skipping'), {
    status: 404,
    message: /not available/,
  }),
  failed('llama.cpp: it still loads', llama(503, 'Loading model', 'unavailable_error'), { moves: 'all' }),
  refused(
    'vLLM: a cap above its length',
    jsonAnswer(
      { error: { message: 'max_tokens=5000 cannot be greater than max_model_len=1024', type: 'BadRequestError', code: 400 } },
      400,
    ),
    /cannot be greater than/,
  ),
  failed(
    'vLLM: a schema that it cannot compile',
    jsonAnswer({ error: { message: 'Internal server error', type: 'InternalServerError', code: 500 } }, 500),
  ),
  failed(
    'vLLM: the same in a stream',
    sseAnswer([
      'data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
      'data: {"error":{"message":"Internal server error","type":"InternalServerError","code":500}}\n\n',
      'data: [DONE]\n\n',
    ]),
    { wires: ['chat'], stream: true },
  ),
  failed(
    'vLLM: the same as an event',
    sseAnswer(['event: error\ndata: {"type":"error","error":{"type":"internal_error","message":"1 validation error"}}\n\n']),
    { wires: ['messages'], stream: true },
  ),
  failed(
    'vLLM: the same as a connection that ends',
    sseAnswer(['event: response.created\ndata: {"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}\n\n'], {
      after: 'close',
    }),
    { wires: ['responses'], stream: true },
  ),
  failed('vLLM: no such route', jsonAnswer({ detail: 'Not Found' }, 404), { status: 404, message: /not available/ }),
  failed('transformers: whatever its template refuses', {
    status: 500,
    headers: { 'content-type': 'text/plain' },
    body: ['Internal Server Error'],
  }),
  refused(
    'transformers: a field that it does not know',
    jsonAnswer({ detail: "Unexpected fields in the request: {'top_k'}" }, 422),
    /Unexpected fields/,
    {
      status: 422,
    },
  ),
  refused(
    'Ollama: arguments that are none',
    llama(400, 'invalid tool call arguments', 'invalid_request_error'),
    /invalid tool call arguments/,
  ),
  failed('Ollama: the end of its queue', llama(503, 'server busy, please try again.  maximum pending requests exceeded', 'api_error'), {
    status: 529,
    moves: 'all',
  }),
  failed('Ollama: no such model', llama(404, "model 'x' not found", 'not_found_error'), { status: 404, message: /not available/ }),
]

const bad = await startUpstream(() => ({ status: 500 }))
const { gateway, clock } = await startScene(t, {
  answer: (seen) => answerFor(seen, { text: ['served'] }),
  config: (url) => `
auth: { keys: [ { name: app, key: "${KEYS.app}" }, { name: other, key: "${KEYS.other}" } ] }
providers:
${ALL.flatMap((wire) => {
  const path = wire === 'messages' ? '' : '/v1'
  return [
    `  bad-${wire}: { name: BAD, dialect: ${WIRES[wire]}, base_url: "${bad.url}${path}" }`,
    `  good-${wire}: { dialect: ${WIRES[wire]}, base_url: "${url}${path}" }`,
  ]
}).join('\n')}
models:
${ROWS.flatMap(({ wires = ALL }, at) =>
  wires.flatMap((wire) => [
    `  t/${wire}-${at}: { context: 128000, endpoints: [ { provider: bad-${wire}, model: m, price: { prompt: "0.01", completion: "0.01" } }, { provider: good-${wire}, model: m, price: { prompt: "5", completion: "5" } } ] }`,
    `  t/${wire}-${at}-alone: { context: 128000, endpoints: [ { provider: bad-${wire}, model: m, price: free } ] }`,
  ]),
).join('\n')}`,
})
t.teardown(() => bad.close())

async function asked(key: keyof typeof KEYS, model: string, stream?: true): Promise<{ status: number; text: string }> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], ...(stream && { stream }) }
  const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${KEYS[key]}` })
  return { status: reply.status, text: await reply.text() }
}

for (const [at, row] of ROWS.entries())
  t.test(row.what, async (t) => {
    await every(t, 'every wire', async (t) => {
      for (const wire of row.wires ?? ALL) {
        bad.script = () => row.answer
        const alone = await asked('app', `t/${wire}-${at}-alone`, row.stream)
        t.equal(alone.status, row.status, `${wire}: ${alone.text}`)
        const { error } = JSON.parse(alone.text) as { error: JsonObject }
        t.match(error.message, row.message, wire)
        const first = await asked('app', `t/${wire}-${at}`, row.stream)
        t.equal(first.status, row.next ? 200 : row.status, `${wire}: ${first.text}`)
        bad.script = (seen) => answerFor(seen, { text: ['bad'] })
        const then = async (key: keyof typeof KEYS): Promise<boolean> => (await asked(key, `t/${wire}-${at}`)).text.includes('"bad"')
        t.equal(await then('other'), row.moves !== 'all', `${wire}: another key`)
        t.equal(await then('app'), row.moves === 'no', `${wire}: the key itself`)
        await clock.advance(31_000)
      }
    })
  })
