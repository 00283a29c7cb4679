/**
 * Requests that Ollama accepts at /v1/chat/completions (github.com/ollama/ollama, openai/openai.go: ChatCompletionRequest, FromChatRequest).
 * Unknown fields are ignored: encoding/json does so.
 */
import { Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { departures } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, eachMessage, hasBooleanSchema, may, refusal } from './chat-parts.ts'

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(
      Type.Object({
        role: Type.String(),
        reasoning: Type.Optional(Type.String()),
        name: Type.Optional(Type.String()),
        tool_call_id: Type.Optional(Type.String()),
        tool_calls: may(
          Type.Array(Type.Object({ id: Type.String(), function: Type.Object({ name: Type.String(), arguments: Type.String() }) })),
        ),
      }),
    ),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
    max_tokens: may(Type.Integer()),
    seed: may(Type.Integer()),
    temperature: may(Type.Number()),
    frequency_penalty: may(Type.Number()),
    presence_penalty: may(Type.Number()),
    top_p: may(Type.Number()),
    response_format: may(Type.Object({ type: Type.String(), json_schema: may(Type.Object({ schema: anyObject })) })),
    tools: may(Type.Array(Type.Object({ type: Type.String(), function: Type.Object({ name: Type.String() }) }))),
    reasoning_effort: may(Type.String()),
  }),
)

/** openai.go, decodeImageURL: data alone, and only these forms. */
const IMAGE = /^data:(?:image\/(?:jpeg|jpg|png|webp))?;base64,/

function wrongMessage({ role, content, tool_calls: calls }: JsonObject): string | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return calls === undefined ? 'invalid message content type: <nil>' : undefined
  // Not refused: what is in a list loses the id of its call (openai.go, FromChatRequest), so that the model cannot tell the results apart.
  if (role === 'tool') return 'content of a tool message is a list'
  for (const part of list(content)) {
    if (part.type === 'text' && typeof part.text === 'string') continue
    const image = object(part.image_url)
    if (part.type !== 'image_url') return 'invalid message format'
    if (!IMAGE.test(String(image.url))) return 'invalid image input'
  }
  return undefined
}

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return refusal(400, `json: cannot unmarshal ${wrong.path}: ${wrong.message}`)
  if (hasBooleanSchema(body.tools)) return refusal(400, 'json: cannot unmarshal bool into Go value of type api.ToolProperty')
  const { reasoning_effort: effort } = body
  if (effort !== undefined && !['none', 'low', 'medium', 'high', 'max'].includes(String(effort)))
    return refusal(400, `invalid reasoning value: '${String(effort)}'`)
  if (effort !== undefined && effort !== 'none' && !model.reasons) return refusal(400, `"${model.name}" does not support thinking`)
  const found = list(body.messages)
    .map(wrongMessage)
    .find((each) => each !== undefined)
  return found === undefined ? undefined : refusal(400, found)
}

export const ollama: Rules = {
  preset: 'ollama',
  wire: 'openai-chat',
  sources: ['github.com/ollama/ollama, openai/openai.go, commits 00988753 and fb307609'],
  models: [
    {
      slug: 'ollama/gpt-oss-20b',
      name: 'gpt-oss:20b',
      entry: 'input: [text, image]\nendpoints: [{ provider: ollama, model: "gpt-oss:20b", price: { prompt: "0", completion: "0" } }]',
      reasons: true,
      images: true,
    },
  ],
  path: () => '/chat/completions',
  denied: () => undefined,
  check,
  // openai.go, ToChunk: a call comes whole, its index and name with all arguments.
  rewrite: (written) => eachMessage(written, ({ refusal: _none, ...message }) => message),
}
