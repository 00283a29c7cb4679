/** Requests that api.mistral.ai accepts at /v1/chat/completions (types of @mistralai/mistralai 2.7.0, ChatCompletionRequest$Outbound). */
import { Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { eachMessage, nullable } from './chat-parts.ts'

const part = Type.Union([
  closed({ type: words('text'), text: Type.String() }),
  closed({
    type: words('image_url'),
    image_url: Type.Union([Type.String(), closed({ url: Type.String(), detail: Type.Optional(nullable(Type.String())) })]),
  }),
  closed({ type: words('document_url'), document_url: Type.String(), document_name: Type.Optional(nullable(Type.String())) }),
  closed({ type: words('reference'), reference_ids: Type.Array(Type.Union([Type.Integer(), Type.String()])) }),
  closed({ type: words('file'), file_id: Type.String() }),
  closed({ type: words('input_audio'), input_audio: Type.Unknown() }),
  closed({ type: words('thinking'), thinking: Type.Array(Type.Unknown()), closed: Type.Optional(Type.Boolean()) }),
])
const content = Type.Union([Type.String(), Type.Array(part)])
const toolCall = closed({
  id: Type.Optional(Type.String()),
  type: Type.Optional(words('function')),
  function: closed({ name: Type.String(), arguments: Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]) }),
  index: Type.Optional(Type.Integer()),
})

const message = Type.Union([
  closed({ role: words('system'), content }),
  closed({ role: words('user'), content: nullable(content) }),
  closed({
    role: words('assistant'),
    content: Type.Optional(nullable(content)),
    tool_calls: Type.Optional(nullable(Type.Array(toolCall))),
    prefix: Type.Optional(Type.Boolean()),
  }),
  closed({
    role: words('tool'),
    content: nullable(content),
    tool_call_id: Type.Optional(nullable(Type.String())),
    name: Type.Optional(nullable(Type.String())),
  }),
])

const tool = closed({
  type: Type.Optional(words('function')),
  function: closed({
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.Optional(Type.String()),
    strict: Type.Optional(Type.Boolean()),
    parameters: Type.Record(Type.String(), Type.Unknown()),
  }),
})

const jsonSchema = closed({
  name: Type.String(),
  description: Type.Optional(nullable(Type.String())),
  schema: Type.Record(Type.String(), Type.Unknown()),
  strict: Type.Optional(Type.Boolean()),
})

const departure = departures(
  closed({
    model: Type.String(),
    messages: Type.Array(message),
    temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1.5 }))),
    top_p: Type.Optional(nullable(Type.Number())),
    max_tokens: Type.Optional(nullable(Type.Integer({ minimum: 0 }))),
    stream: Type.Optional(Type.Boolean()),
    // Not in the types; recorded as accepted (test_mistral_model_thinking_part_iter).
    stream_options: Type.Optional(Type.Unknown()),
    stop: Type.Optional(nullable(Type.Union([Type.String(), Type.Array(Type.String())]))),
    random_seed: Type.Optional(nullable(Type.Integer())),
    metadata: Type.Optional(nullable(Type.Record(Type.String(), Type.Unknown()))),
    response_format: Type.Optional(
      closed({ type: words('text', 'json_object', 'json_schema'), json_schema: Type.Optional(nullable(jsonSchema)) }),
    ),
    tools: Type.Optional(nullable(Type.Array(tool))),
    tool_choice: Type.Optional(
      Type.Union([
        words('auto', 'none', 'any', 'required'),
        closed({ type: Type.Optional(words('function')), function: closed({ name: Type.String() }) }),
      ]),
    ),
    presence_penalty: Type.Optional(nullable(Type.Number())),
    frequency_penalty: Type.Optional(nullable(Type.Number())),
    n: Type.Optional(nullable(Type.Integer())),
    prediction: Type.Optional(Type.Unknown()),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    // docs.mistral.ai/inference/conversations/reasoning; the types leave it open.
    reasoning_effort: Type.Optional(nullable(words('none', 'low', 'medium', 'high'))),
    prompt_mode: Type.Optional(nullable(Type.String())),
    guardrails: Type.Optional(Type.Unknown()),
    prompt_cache_key: Type.Optional(nullable(Type.String())),
    service_tier: Type.Optional(nullable(words('auto', 'standard_only'))),
    safe_prompt: Type.Optional(Type.Boolean()),
  }),
)

/** The body of a 422 (github.com/editor-code-assistant/eca/issues/231). */
function unprocessable(path: string, text: string): Refusal {
  const loc = ['body', ...path.split(/[.[\]]+/).filter(Boolean)]
  const type = text === 'unknown field' ? 'extra_forbidden' : 'value_error'
  return {
    status: 422,
    body: {
      object: 'error',
      message: { detail: [{ type, loc, msg: text, input: null }] },
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  }
}

const bad = (message: string, code: number): Refusal => ({
  status: 400,
  body: { object: 'error', message, type: 'invalid_request_message_order', param: null, code: String(code) },
})

/** Which role may follow which, and how calls and results pair (github.com/BerriAI/litellm/issues/17761, nearai/ironclaw/issues/1241). */
function messageOrder(messages: readonly JsonObject[]): Refusal | undefined {
  let open: string[] = []
  for (const [index, { role, tool_calls: calls, tool_call_id: id }] of messages.entries()) {
    const before = messages[index - 1]?.role
    if (role === 'user' && before === 'tool') return bad("Unexpected role 'user' after role 'tool'", 3230)
    if (role === 'tool') {
      if (!open.includes(String(id))) return bad('Unexpected tool call id in tool results', 3230)
      open = open.filter((each) => each !== id)
      continue
    }
    if (open.length > 0) return bad('Not the same number of function calls and responses', 3230)
    open = list(calls).map((call) => String(call.id))
    for (const each of open)
      if (!/^[A-Za-z0-9]{9}$/.test(each)) return bad(`Tool call id was ${each} but must be a-z, A-Z, 0-9, with a length of 9.`, 3280)
  }
  const last = messages.at(-1)
  if (last?.role === 'assistant' && last.prefix !== true)
    return bad(`Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant`, 3230)
  return undefined
}

/** docs.mistral.ai/inference/conversations/reasoning; github.com/architects-toolkit/SmartHopper/issues/647. */
const EFFORTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['mistral-medium-3-5', ['none', 'high']],
  ['mistral-large-4-0', ['low', 'medium', 'high']],
])

/** Reasoning is part of the content (recorded: test_mistral_model_thinking_part, and in a stream test_mistral_model_thinking_part_iter). */
function withThinkingParts({ reasoning, refusal: _refusal, ...message }: JsonObject): JsonObject {
  if (typeof reasoning !== 'string') return message
  const text = typeof message.content === 'string' && message.content !== '' ? [{ type: 'text', text: message.content }] : []
  return { ...message, content: [{ type: 'thinking', thinking: [{ type: 'text', text: reasoning }] }, ...text] }
}

function check({ body, model }: Call): Refusal | undefined {
  const wrong = departure(body)
  if (wrong) return unprocessable(wrong.path, wrong.message)
  const { reasoning_effort: effort } = body
  if (effort !== undefined && !EFFORTS.get(model.name)?.includes(String(effort)))
    return bad(`reasoning_effort ${String(effort)} is not supported for this model`, 3051)
  if (object(body.response_format).type === 'json_schema' && object(body.response_format).json_schema === undefined)
    return unprocessable('response_format.json_schema', 'is required')
  return messageOrder(list(body.messages))
}

export const mistral: Rules = {
  preset: 'mistral',
  wire: 'openai-chat',
  sources: [
    'npm @mistralai/mistralai 2.7.0, models/components/chatcompletionrequest',
    'github.com/editor-code-assistant/eca/issues/231',
    'github.com/BerriAI/litellm/issues/17761',
  ],
  models: [
    { slug: 'mistralai/mistral-medium-3.5', name: 'mistral-medium-3-5', images: true, reasons: true },
    { slug: 'mistralai/mistral-large-4', name: 'mistral-large-4-0', images: true, reasons: true },
  ],
  path: () => '/chat/completions',
  denied: (request, key) =>
    request.headers.authorization === `Bearer ${key}` ? undefined : { status: 401, body: { detail: 'Unauthorized' } },
  check,
  // Ids of calls are nine letters and digits.
  says: (utterance) => ({ ...utterance, calls: utterance.calls?.map((call) => ({ ...call, id: call.id.slice(-9) })) }),
  rewrite: (written) => eachMessage(written, withThinkingParts),
}
