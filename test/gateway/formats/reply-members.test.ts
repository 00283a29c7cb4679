/**
 * Members of a reply beside its content reach callers of the provider's own format in every lane, cut and redacted replies among them.
 * OpenAI: `moderation` and `system_fingerprint` (types of openai 7.57.0, `ChatCompletionChunk`, `Response`). Azure:
 * `prompt_filter_results` and `content_filters` (learn.microsoft.com, "Content filtering"). Groq: `x_groq` (console.groq.com, API reference).
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { every } from '../../support/every.ts'
import { object, parseStream } from '../../support/fold.ts'
import { type Gateway, oneModel, startGateway } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { type Answer, jsonAnswer, sseAnswer, startUpstream } from '../../support/upstream.ts'

const LANES = ['pass', 'observe', 'translate'] as const
const TEXT = ['Write to ', 'ann@mail.example', '. END And more.']

const frame = (value: JsonObject): string => `data: ${JSON.stringify(value)}\n\n`

const CHAT = {
  moderation: { input: { flagged: false } },
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } }],
  system_fingerprint: 'fp_1',
  x_groq: { id: 'req_1' },
}

function chatAnswer(stream: boolean): Answer {
  const head = { id: 'c-1', created: 7, model: 'm' }
  const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 }
  if (!stream) {
    const choices = [{ index: 0, message: { role: 'assistant', content: TEXT.join('') }, finish_reason: 'stop' }]
    return jsonAnswer({ ...head, object: 'chat.completion', choices, usage, ...CHAT })
  }
  const { moderation, prompt_filter_results, system_fingerprint, x_groq } = CHAT
  const chunk = (fields: JsonObject): string => frame({ ...head, object: 'chat.completion.chunk', ...fields })
  return sseAnswer([
    chunk({ choices: [], prompt_filter_results }),
    ...TEXT.map((content) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], x_groq }),
    chunk({ choices: [], usage, moderation, system_fingerprint }),
    'data: [DONE]\n\n',
  ])
}

const RESPONSES = {
  moderation: { input: { type: 'moderation_result', flagged: false } },
  content_filters: [{ source_type: 'prompt', blocked: false }],
}

function responsesAnswer(stream: boolean): Answer {
  const text = TEXT.join('')
  const part = { type: 'output_text', text, annotations: [] }
  const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] }
  const response: JsonObject = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [item],
    usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 },
    ...RESPONSES,
  }
  if (!stream) return jsonAnswer(response)
  let sequence = 0
  const event = (type: string, fields: JsonObject): string => frame({ type, sequence_number: sequence++, ...fields })
  const place = { output_index: 0, content_index: 0, item_id: 'msg_1' }
  return sseAnswer([
    event('response.created', { response: { ...response, status: 'in_progress', output: [] } }),
    event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
    event('response.content_part.added', { ...place, part: { ...part, text: '' } }),
    ...TEXT.map((delta) => event('response.output_text.delta', { ...place, delta })),
    event('response.output_text.done', { ...place, text }),
    event('response.content_part.done', { ...place, part }),
    event('response.output_item.done', { output_index: 0, item }),
    event('response.completed', { response }),
  ])
}

const ANSWERS = { chat: chatAnswer, responses: responsesAnswer }
const EXPECTED: Readonly<Record<keyof typeof ANSWERS, JsonObject>> = { chat: CHAT, responses: RESPONSES }
const DIALECTS: Readonly<Record<keyof typeof ANSWERS, string>> = { chat: 'openai-chat', responses: 'openai-responses' }
const FORMATS = ['chat', 'responses'] as const

const upstream = await startUpstream(({ path, json }) => ANSWERS[path.endsWith('responses') ? 'responses' : 'chat'](json.stream === true))
t.teardown(() => upstream.close())

/** The text of the reply, and its members: of a stream those of the last chunk or of the object at the end. */
async function ask(
  gateway: Gateway,
  client: Client,
  stream: boolean,
  more: JsonObject = {},
): Promise<{ text: string; members: JsonObject }> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = client === 'responses' ? { input: messages } : client === 'chat' ? { messages } : { messages, max_tokens: 100 }
  const reply = await gateway.post(PATHS[client], { model: 'acme/one', stream, ...body, ...more })
  const text = await bodyText(reply)
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`)
  if (!stream) return { text, members: JSON.parse(text) as JsonObject }
  if (client === 'messages') return { text, members: {} }
  const last = parseStream(text).at(-1) ?? {}
  return { text, members: client === 'responses' ? object(last.response) : last }
}

t.test('in every lane', async (t) => {
  for (const format of FORMATS)
    for (const lane of LANES) {
      const gateway = await startGateway(oneModel(upstream.url, DIALECTS[format]), { lane })
      t.teardown(() => gateway.close())
      await every(t, `${format}, ${lane}`, async (t) => {
        for (const stream of [false, true]) {
          const { members } = await ask(gateway, format, stream)
          t.match(members, EXPECTED[format], `stream ${stream}`)
        }
      })
    }
})

t.test('in a reply that the gateway cuts at a stop sequence or redacts', async (t) => {
  const cuts = { endpoint: 'supported_parameters: [ max_tokens ]' }
  const rule = `
guardrails:
  - { name: out, direction: output, content_filter_builtins: [ { slug: email, action: redact } ] }
`
  const cutting = await startGateway(oneModel(upstream.url, 'openai-chat', cuts))
  t.teardown(() => cutting.close())
  await every(t, 'cut', async (t) => {
    for (const stream of [false, true]) {
      const { text, members } = await ask(cutting, 'chat', stream, { stop: ['END'] })
      t.notMatch(text, 'And more')
      // The rest of a stream is not read, and the end is the gateway's own.
      const { prompt_filter_results, moderation } = CHAT
      t.match(members, stream ? { prompt_filter_results } : { prompt_filter_results, moderation }, `stream ${stream}`)
    }
  })
  for (const format of FORMATS) {
    const gateway = await startGateway(oneModel(upstream.url, DIALECTS[format]) + rule)
    t.teardown(() => gateway.close())
    await every(t, `redacted, ${format}`, async (t) => {
      for (const stream of [false, true]) {
        const { text, members } = await ask(gateway, format, stream)
        t.notMatch(text, 'ann@mail.example')
        t.match(members, EXPECTED[format], `stream ${stream}`)
      }
    })
  }
})

t.test('another format has no place for them', async (t) => {
  for (const [dialect, client] of [
    ['openai-chat', 'responses'],
    ['openai-chat', 'messages'],
    ['openai-responses', 'chat'],
  ] as const) {
    const gateway = await startGateway(oneModel(upstream.url, dialect))
    t.teardown(() => gateway.close())
    for (const stream of [false, true])
      t.notMatch((await ask(gateway, client, stream)).text, /moderation|filter|x_groq|fp_1/, `${client} at ${dialect}, stream ${stream}`)
  }
})

t.test('the fingerprint of an answer that is cut', async (t) => {
  const cut = await startUpstream(({ json }) => {
    const chunks = ['Hel', 'lo STOP', ' more'].map((content) =>
      frame({
        id: 'c',
        object: 'chat.completion.chunk',
        model: 'm',
        system_fingerprint: 'fp_9',
        choices: [{ index: 0, delta: { content } }],
      }),
    )
    // Without its end where the request is to be cut by the provider.
    return sseAnswer(json.user === 'cut' ? chunks : [...chunks, 'data: [DONE]\n\n'])
  })
  t.teardown(() => cut.close())
  for (const lane of LANES) {
    const gateway = await startGateway(oneModel(cut.url, 'openai-chat', { endpoint: 'supported_parameters: [max_tokens]' }), { lane })
    t.teardown(() => gateway.close())
    const broken = await ask(gateway, 'chat', true, { user: 'cut' })
    t.match(broken.members.error, { code: 502 })
    t.match(broken.text, '"system_fingerprint":"fp_9"', `${lane}, cut by the provider`)
    const stopped = await ask(gateway, 'chat', true, { stop: ['STOP'] })
    t.match(stopped.members, { system_fingerprint: 'fp_9' }, `${lane}, cut at a stop sequence`)
  }
})
