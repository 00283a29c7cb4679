/**
 * Requests that api.minimax.io accepts at /v1/chat/completions: its OpenAPI document, MiniMax Text API OpenAI 1.0.0 (platform.minimax.io,
 * api-reference/text-chat-openai.md). `tool_choice` stands in the documents of its other addresses: auto and none. Other fields are
 * ignored ("Some OpenAI parameters will be ignored", api-reference/text-openai-api).
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, eachMessage, may } from './chat-parts.ts'

const text = Type.Object({ type: words('text'), text: Type.String() })
const image = Type.Object({
  type: words('image_url'),
  image_url: Type.Object({ url: Type.String(), detail: Type.Optional(words('low', 'default', 'high')) }),
})
const call = Type.Object({
  id: Type.String(),
  type: words('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(
      Type.Object({
        role: words('system', 'user', 'assistant', 'tool'),
        name: Type.Optional(Type.String()),
        content: may(contentSchema(text, image)),
        tool_calls: Type.Optional(Type.Array(call)),
        tool_call_id: Type.Optional(Type.String()),
      }),
    ),
    service_tier: Type.Optional(words('standard', 'priority')),
    thinking: Type.Optional(Type.Object({ type: Type.Optional(words('disabled', 'adaptive')) })),
    reasoning_split: Type.Optional(Type.Boolean()),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    max_completion_tokens: may(Type.Integer({ minimum: 1 })),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: may(Type.Number({ minimum: 0, maximum: 1 })),
    tools: Type.Optional(
      Type.Array(
        Type.Object({
          type: words('function'),
          function: Type.Object({ name: Type.String(), description: Type.Optional(Type.String()), parameters: anyObject }),
        }),
      ),
    ),
    tool_choice: Type.Optional(words('auto', 'none')),
  }),
)

/** github.com/can1357/oh-my-pi/issues/955, github.com/MiniMax-AI/MiniMax-M2/issues/76: the body and the code of a refusal. */
const bad = (message: string): Refusal => ({
  status: 400,
  body: {
    type: 'error',
    error: { type: 'bad_request_error', message: `invalid params, ${message} (2013)`, http_code: '400' },
    request_id: 'r1',
  },
})

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return bad(`${wrong.path}: ${wrong.message}`)
  const messages = list(body.messages)
  // github.com/MiniMax-AI/MiniMax-M2/issues/51
  if (messages.some(({ role }, index) => index > 0 && role === 'system')) return bad('invalid chat setting')
  const called = new Set<unknown>()
  for (const { role, tool_calls: calls, tool_call_id: id } of messages) {
    for (const call of list(calls ?? [])) called.add(call.id)
    if (role === 'tool' && !called.has(id)) return bad(`tool result's tool id(${String(id)}) not found`)
  }
  return undefined
}

export const minimaxChat: Rules = {
  preset: 'minimax-chat',
  wire: 'openai-chat',
  sources: [
    'OpenAPI document MiniMax Text API OpenAI 1.0.0, https://platform.minimax.io/docs/api-reference/text-chat-openai.md',
    'OpenAPI document MiniMax Text API 1.0.0 (tool_choice), https://platform.minimax.io/docs/api-reference/text-post',
    'github.com/MiniMax-AI/MiniMax-M2/issues/51',
    'github.com/MiniMax-AI/MiniMax-M2/issues/76',
  ],
  models: [
    {
      slug: 'minimax-chat/MiniMax-M3',
      name: 'MiniMax-M3',
      entry: 'input: [text, image]\nendpoints: [{ provider: minimax-chat, model: MiniMax-M3, price: { prompt: "1", completion: "1" } }]',
      reasons: true,
      images: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer({
    status: 401,
    body: { type: 'error', error: { type: 'authorized_error', message: 'login fail (1004)', http_code: '401' } },
  }),
  check,
  rewrite: (written) =>
    eachMessage(written, ({ reasoning, ...message }) =>
      typeof reasoning !== 'string'
        ? message
        : {
            ...message,
            reasoning_content: reasoning,
            reasoning_details: [
              { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0, text: reasoning },
            ],
          },
    ),
}
