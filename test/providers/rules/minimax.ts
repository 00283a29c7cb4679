/**
 * Requests that api.minimax.io accepts at /anthropic/v1/messages: its OpenAPI document, MiniMax Text API Anthropic 1.0.0 (platform.minimaxi.com,
 * api-reference/text/api/openapi-chat-anthropic.json). It refuses what is missing and types that it does not list (its answer 400);
 * nothing there closes an object, so that other fields are ignored.
 */
import { type TSchema, Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'

const text = Type.String()
const optional = Type.Optional
const mark = { cache_control: optional(Type.Object({ type: words('ephemeral') })) }
const source = Type.Object({ type: words('base64', 'url'), media_type: optional(text), data: optional(text), url: optional(text) })

/** RequestContentBlock: which member each type uses stands in its descriptions. */
const BLOCKS: Readonly<Record<string, (body: unknown) => { path: string; message: string } | undefined>> = Object.fromEntries(
  Object.entries({
    text: { text },
    image: { source },
    video: { source },
    tool_use: { id: text, name: text, input: Type.Object({}) },
    tool_result: { tool_use_id: text, content: optional(Type.Union([text, Type.Array(Type.Object({ type: text }))])) },
    thinking: { thinking: text, signature: optional(text) },
    mid_conv_system: {},
  } satisfies Record<string, Record<string, TSchema>>).map(([type, members]) => [
    type,
    departures(Type.Object({ type: words(type), ...members, ...mark })),
  ]),
)

const departure = departures(
  Type.Object({
    model: words('MiniMax-M3', 'MiniMax-M2.7'),
    messages: Type.Array(
      Type.Object({
        role: words('user', 'assistant', 'user_system', 'group', 'sample_message_user', 'sample_message_ai'),
        content: Type.Union([text, Type.Array(Type.Object({ type: text }))]),
      }),
    ),
    system: optional(Type.Union([text, Type.Array(Type.Object({ type: words('text'), text, ...mark }))])),
    service_tier: optional(words('standard', 'priority')),
    stream: optional(Type.Boolean()),
    max_tokens: optional(Type.Integer({ minimum: 1 })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    tools: optional(Type.Array(Type.Object({ name: text, description: optional(text), input_schema: Type.Object({}), ...mark }))),
    tool_choice: optional(Type.Object({ type: words('auto', 'none') })),
    thinking: optional(Type.Object({ type: optional(words('disabled', 'adaptive')) })),
    metadata: optional(Type.Object({ user_id: optional(text) })),
  }),
)

const refused = (message: string): Refusal => ({
  status: 400,
  body: { type: 'error', request_id: 'req_refused', error: { type: 'invalid_request_error', message } },
})

function blockRefusal(block: JsonObject, at: string, call: Call): string | undefined {
  const { model, signatures } = call
  const check = BLOCKS[String(block.type)]
  if (!check) return `${at}: unsupported content type '${String(block.type)}'`
  const wrong = check(block)
  if (wrong) return `${at}.${wrong.path}: ${wrong.message}`
  // Only M3 sees ("image and video blocks: MiniMax-M3 alone").
  if ((block.type === 'image' || block.type === 'video') && model.name !== 'MiniMax-M3')
    return `${at}: unsupported content type '${block.type}'`
  // "signature: sent back as it is in later turns". Of other makers' signatures, whose form has dots here, the document says nothing.
  const { signature } = block
  if (block.type === 'thinking' && typeof signature === 'string' && !signature.includes('.'))
    if (!signatures.verify(signature, String(block.thinking))) return `${at}: invalid signature`
  if (block.type !== 'tool_result') return undefined
  for (const [i, inner] of list(block.content).entries()) {
    if (inner.type !== 'text' && inner.type !== 'image') return `${at}.content.${i}: unsupported content type '${String(inner.type)}'`
    const refusal = blockRefusal(inner, `${at}.content.${i}`, call)
    if (refusal) return refusal
  }
  return undefined
}

function check(call: Call): Refusal | undefined {
  const wrong = departure(call.body)
  if (wrong) return refused(`${wrong.path}: ${wrong.message}`)
  for (const [i, { content }] of list(call.body.messages).entries())
    for (const [j, block] of list(content).entries()) {
      const refusal = blockRefusal(block, `messages.${i}.content.${j}`, call)
      if (refusal) return refused(refusal)
    }
  return undefined
}

const entry = (name: string, input: string): string =>
  `input: ${input}\nendpoints: [{ provider: minimax, model: ${name}, price: { prompt: "1", completion: "1" } }]`

export const minimax: Rules = {
  preset: 'minimax',
  wire: 'anthropic',
  sources: [
    'OpenAPI document MiniMax Text API Anthropic 1.0.0, https://platform.minimaxi.com/docs/api-reference/text-chat-anthropic (openapi-chat-anthropic.json)',
  ],
  models: [
    { slug: 'minimax/MiniMax-M3', name: 'MiniMax-M3', entry: entry('MiniMax-M3', '[text, image]'), reasons: true, images: true },
    { slug: 'minimax/MiniMax-M2.7', name: 'MiniMax-M2.7', entry: entry('MiniMax-M2.7', '[text]'), reasons: true, images: false },
  ],
  path: () => '/v1/messages',
  denied: (request, key) =>
    request.headers['x-api-key'] === key || request.headers.authorization === `Bearer ${key}`
      ? undefined
      : { status: 401, body: { type: 'error', request_id: 'req_denied', error: { type: 'authentication_error', message: 'API Key' } } },
  check,
  // M3 thinks where the request says so, models before it always do.
  says: (utterance, { body, model, signatures }) => {
    if (!utterance.reasoning) return utterance
    if (model.name === 'MiniMax-M3' && object(body.thinking).type !== 'adaptive') return { ...utterance, reasoning: undefined }
    return { ...utterance, signature: signatures.issue(utterance.reasoning.join('')) }
  },
}
