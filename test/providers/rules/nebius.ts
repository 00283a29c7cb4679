/**
 * Requests that api.tokenfactory.nebius.com accepts at /v1/chat/completions: the page docs.tokenfactory.nebius.com/api-reference/inference/
 * create-chat-completion, which shows the OpenAPI document of the service, version 20260506-297d05704. Other fields go through to the model.
 * Efforts as the live service takes them (github.com/anomalyco/models.dev/pull/4377).
 */
import { Type } from 'typebox'
import { list } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import {
  anyObject,
  asReasoningContent,
  bearer,
  may,
  optionalWord,
  refusal,
  stop,
  streamOptions,
  toolChoice,
  unpaired,
} from './chat-parts.ts'

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(
      Type.Object({
        role: words('system', 'user', 'assistant', 'tool'),
        content: may(Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))])),
        name: may(Type.String()),
        tool_calls: may(Type.Array(Type.Object({ id: Type.String(), type: words('function'), function: anyObject }))),
        tool_call_id: may(Type.String()),
        reasoning_content: may(Type.String()),
        reasoning: may(Type.String()),
      }),
    ),
    store: may(Type.Boolean()),
    max_tokens: may(Type.Integer({ minimum: 1 })),
    max_completion_tokens: may(Type.Integer({ minimum: 1 })),
    temperature: may(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: may(Type.Number({ minimum: 0, maximum: 1 })),
    tools: may(Type.Array(Type.Object({ type: words('function'), function: Type.Object({ name: Type.String() }) }))),
    tool_choice: may(toolChoice),
    n: may(Type.Integer()),
    stream: may(Type.Boolean()),
    stream_options: may(streamOptions),
    stop: may(stop),
    presence_penalty: may(Type.Number()),
    frequency_penalty: may(Type.Number()),
    logit_bias: may(anyObject),
    logprobs: may(Type.Boolean()),
    top_logprobs: may(Type.Integer()),
    user: may(Type.String()),
    response_format: may(Type.Object({ type: Type.String() })),
    reasoning_effort: optionalWord('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  }),
)

function check({ body }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return { status: 422, body: { detail: [{ loc: ['body', wrong.path], msg: wrong.message, type: 'value_error' }] } }
  const open = unpaired(list(body.messages))
  return open ? refusal(400, open) : undefined
}

export const nebius: Rules = {
  preset: 'nebius',
  wire: 'openai-chat',
  sources: ['https://docs.tokenfactory.nebius.com/api-reference/inference/create-chat-completion'],
  models: [
    {
      slug: 'nebius/kimi-k2.7-code',
      name: 'moonshotai/Kimi-K2.7-Code',
      entry: 'endpoints: [{ provider: nebius, model: moonshotai/Kimi-K2.7-Code, price: { prompt: "1", completion: "1" } }]',
      reasons: true,
    },
  ],
  path: () => '/chat/completions',
  denied: bearer({ status: 401, body: { detail: 'Unauthorized' } }),
  check,
  rewrite: asReasoningContent,
}
