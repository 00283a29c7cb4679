/**
 * Requests that openrouter.ai accepts at /api/v1/chat/completions (types of @openrouter/sdk 1.3.19, models/chatrequest and its message types).
 * Fields outside them are ignored (openrouter.ai/docs/api/reference/parameters). Signed and encrypted reasoning must come back as it was
 * (openrouter.ai/docs/use-cases/reasoning-tokens, "Preserving reasoning"), which the provider behind it verifies.
 */
import { Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import { type Call, type Refusal, type Rules, Signatures } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, eachMessage, may, refusal, stop, streamOptions, unpaired } from './chat-parts.ts'

const text = Type.Object({ type: words('text'), text: Type.String() })
const content = contentSchema(
  text,
  Type.Object({ type: words('image_url'), image_url: Type.Object({ url: Type.String() }) }),
  Type.Object({ type: words('input_audio'), input_audio: anyObject }),
  Type.Object({ type: words('file'), file: anyObject }),
  Type.Object({ type: words('video_url', 'input_video'), video_url: anyObject }),
)

const known = { format: may(Type.String()), id: may(Type.String()), index: Type.Optional(Type.Integer()) }

const detail = Type.Union([
  Type.Object({ type: words('reasoning.text'), text: may(Type.String()), signature: may(Type.String()), ...known }),
  Type.Object({ type: words('reasoning.summary'), summary: Type.String(), ...known }),
  Type.Object({ type: words('reasoning.encrypted'), data: Type.String(), ...known }),
  Type.Object({ type: words('reasoning.server_tool_call'), tool_name: Type.String(), arguments: Type.String(), result: Type.String() }),
])

const message = Type.Union([
  Type.Object({ role: words('system', 'developer'), content: contentSchema(text) }),
  Type.Object({ role: words('user'), content }),
  Type.Object({
    role: words('assistant'),
    content: may(content),
    reasoning: may(Type.String()),
    reasoning_details: Type.Optional(Type.Array(detail)),
    refusal: may(Type.String()),
    tool_calls: Type.Optional(
      Type.Array(
        Type.Object({
          id: Type.String(),
          type: words('function'),
          function: Type.Object({ name: Type.String(), arguments: Type.String() }),
        }),
      ),
    ),
  }),
  Type.Object({ role: words('tool'), content, tool_call_id: Type.String() }),
])

const effort = may(words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'))

const departure = departures(
  Type.Object({
    messages: Type.Array(message, { minItems: 1 }),
    model: Type.Optional(Type.String()),
    models: Type.Optional(Type.Array(Type.String())),
    max_tokens: may(Type.Integer()),
    max_completion_tokens: may(Type.Integer()),
    parallel_tool_calls: may(Type.Boolean()),
    reasoning: Type.Optional(
      Type.Object({
        effort,
        max_tokens: may(Type.Integer()),
        exclude: may(Type.Boolean()),
        enabled: may(Type.Boolean()),
        summary: may(words('auto', 'concise', 'detailed')),
      }),
    ),
    reasoning_effort: effort,
    response_format: Type.Optional(
      Type.Object({
        type: words('text', 'json_object', 'json_schema', 'grammar', 'python'),
        json_schema: Type.Optional(Type.Object({ name: Type.String(), schema: Type.Optional(anyObject), strict: may(Type.Boolean()) })),
      }),
    ),
    stop: may(stop),
    stream: Type.Optional(Type.Boolean()),
    stream_options: may(streamOptions),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    tool_choice: Type.Optional(Type.Union([words('none', 'auto', 'required'), anyObject])),
    tools: Type.Optional(Type.Array(Type.Object({ type: Type.String() }))),
    // github.com/ujisati/claude-code-provider-proxy/pull/11.
    user: Type.Optional(Type.String({ maxLength: 128 })),
  }),
)

const bad = (message: string): Refusal => ({ status: 400, body: { error: { message, code: 400 } } })

/**
 * Reasoning that the provider behind it signed for this account, and no other. Thinking that Claude signed for another account is left out
 * without a refusal (platform.claude.com, What's new in Claude Sonnet 5.5, "Thinking blocks stay with the account that produced them").
 */
function forged(messages: readonly JsonObject[], { signatures }: Call): string | undefined {
  for (const { reasoning_details: details } of messages)
    for (const { type, text, signature, data } of list(details ?? [])) {
      if (type === 'reasoning.encrypted' && !signatures.verify(data)) return 'The encrypted content could not be verified.'
      const isSigned = type === 'reasoning.text' && signature !== undefined && signature !== null
      // platform.claude.com/docs/en/build-with-claude/extended-thinking: "Invalid `signature` in `thinking` block"
      const isClaudes = isSigned && Signatures.isIssued(String(signature).split('.').at(-1) ?? '')
      if (isSigned && !isClaudes && !signatures.verify(signature, String(text))) return 'Invalid `signature` in `thinking` block'
    }
  return undefined
}

function check(call: Call): Refusal | undefined {
  const { body } = call
  const wrong = departure(body)
  if (wrong) return bad(`${wrong.path}: ${wrong.message}`)
  const { effort, max_tokens: budget } = object(body.reasoning)
  // openrouter.ai/docs/use-cases/reasoning-tokens: "One of the following (not both)"
  if (effort !== undefined && budget !== undefined) return bad('Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified')
  const messages = list(body.messages)
  const loose = unpaired(messages) ?? forged(messages, call)
  return loose ? bad(loose) : undefined
}

/** Reasoning that OpenAI encrypts has a summary beside it, and an id; what Claude thinks is signed. */
function reasoningDetail(isEncrypted: boolean, written: JsonObject): JsonObject[] {
  const { text, signature, index } = written
  if (!isEncrypted) return [{ ...written, format: 'anthropic-claude-v1' }]
  const format = 'openai-responses-v1'
  return [
    ...(text === undefined ? [] : [{ type: 'reasoning.summary', summary: text, format, index }]),
    ...(signature === undefined ? [] : [{ type: 'reasoning.encrypted', data: signature, id: 'rs_1', format, index: Number(index) + 1 }]),
  ]
}

function rewrite(written: JsonObject): JsonObject {
  const isEncrypted = String(written.model).startsWith('openai/')
  return eachMessage(written, (message) =>
    message.reasoning_details === undefined
      ? message
      : { ...message, reasoning_details: list(message.reasoning_details).flatMap((each) => reasoningDetail(isEncrypted, each)) },
  )
}

const entry = (model: string): string =>
  `input: [text, image]\nendpoints: [{ provider: openrouter, model: ${model}, price: { prompt: "1", completion: "1" } }]`

export const openrouter: Rules = {
  preset: 'openrouter',
  wire: 'openai-chat',
  sources: ['npm @openrouter/sdk 1.3.19, models/chatrequest', 'https://openrouter.ai/docs/use-cases/reasoning-tokens'],
  models: [
    {
      slug: 'openrouter/claude-sonnet-5',
      name: 'anthropic/claude-sonnet-5',
      entry: entry('anthropic/claude-sonnet-5'),
      reasons: true,
      images: true,
    },
    { slug: 'openrouter/gpt-5.5', name: 'openai/gpt-5.5', entry: entry('openai/gpt-5.5'), reasons: true, images: true },
  ],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'No auth credentials found', { code: 401 })),
  check,
  says: (utterance, { signatures, model }) => {
    if (utterance.reasoning === undefined) return utterance
    const text = utterance.reasoning.join('')
    return { ...utterance, signature: model.name.startsWith('openai/') ? signatures.issue(text) : signatures.sign(text) }
  },
  rewrite,
}
