/**
 * Requests that api.cohere.ai accepts at /compatibility/v1/chat/completions: the lists of supported and unsupported parameters of
 * github.com/cohere-ai/cohere-developer-experience, fern/pages/v2/text-generation/compatibility-api.mdx, commit 0f369fc0.
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, bearer, contentSchema, may, unpaired } from './chat-parts.ts'

const text = Type.Object({ type: words('text'), text: Type.String() })
const message = Type.Union([
  Type.Object({ role: words('system', 'developer'), content: contentSchema(text) }),
  Type.Object({ role: words('user'), content: contentSchema(text, Type.Object({ type: words('image_url'), image_url: anyObject })) }),
  Type.Object({
    role: words('assistant'),
    content: may(contentSchema(text)),
    tool_calls: may(
      Type.Array(
        Type.Object({
          id: Type.String(),
          type: words('function'),
          function: Type.Object({ name: Type.String(), arguments: Type.String() }),
        }),
      ),
    ),
  }),
  Type.Object({ role: words('tool'), content: contentSchema(text), tool_call_id: Type.String() }),
])

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(message),
    stream: Type.Optional(Type.Boolean()),
    reasoning_effort: Type.Optional(words('none', 'high')),
    response_format: Type.Optional(Type.Object({ type: words('text', 'json_object', 'json_schema') })),
    tools: Type.Optional(Type.Array(Type.Object({ type: words('function'), function: Type.Object({ name: Type.String() }) }))),
    temperature: may(Type.Number({ minimum: 0 })),
    max_tokens: may(Type.Integer()),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 5 })])),
    seed: may(Type.Integer()),
    top_p: may(Type.Number()),
    frequency_penalty: may(Type.Number({ minimum: 0, maximum: 1 })),
    presence_penalty: may(Type.Number({ minimum: 0, maximum: 1 })),
  }),
)

const UNSUPPORTED = [
  'store',
  'metadata',
  'logit_bias',
  'top_logprobs',
  'n',
  'modalities',
  'prediction',
  'audio',
  'service_tier',
  'parallel_tool_calls',
]

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return { status: 422, body: { message: `${wrong.path}: ${wrong.message}` } }
  // github.com/davidmigloz/ai_clients_dart/issues/26
  const found = UNSUPPORTED.find((name) => body[name] !== undefined)
  if (found !== undefined) return { status: 422, body: { message: `${found} is not supported` } }
  const open = unpaired(list(body.messages))
  return open ? { status: 400, body: { message: open } } : undefined
}

const entry = (model: string): string => `endpoints: [{ provider: cohere-chat, model: ${model}, price: { prompt: "1", completion: "1" } }]`

export const cohereChat: Rules = {
  preset: 'cohere-chat',
  wire: 'openai-chat',
  sources: ['https://docs.cohere.com/docs/compatibility-api', 'github.com/davidmigloz/ai_clients_dart/issues/26'],
  models: [{ slug: 'cohere-chat/command-a', name: 'command-a-03-2025', entry: entry('command-a-03-2025') }],
  path: () => '/chat/completions',
  denied: bearer({ status: 401, body: { message: 'invalid api token' } }),
  check,
}
