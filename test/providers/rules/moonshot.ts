/**
 * Requests that api.moonshot.ai accepts at /v1/chat/completions: its OpenAPI document, which has no messages of tools (the guides do), and the
 * refusals that users report. Fields outside the document are not known to be refused, save those that reports name.
 */
import { Type } from 'typebox'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { departures, words } from '../schema.ts'
import type { Call, Refusal, Rules } from '../stand-in.ts'
import { anyObject, asReasoningContent, bearer, contentSchema, may, refusal, responseFormat, unpaired } from './chat-parts.ts'
import { unflavored } from './moonshot-schema.ts'

const text = Type.Object({ type: words('text'), text: Type.String() })
const image = Type.Object({
  type: words('image_url'),
  // platform.kimi.ai/docs/guide/use-kimi-vision-model: data or the id of an uploaded file, no address.
  image_url: Type.Object({ url: Type.String({ pattern: '^(data:image/|ms://)' }) }),
})
const call = Type.Object({ id: Type.String(), type: words('function'), function: anyObject })

const message = Type.Union([
  Type.Object({ role: words('system', 'user'), content: contentSchema(text, image) }),
  Type.Object({
    role: words('assistant'),
    content: may(contentSchema(text)),
    reasoning_content: may(Type.String()),
    tool_calls: may(Type.Array(call)),
  }),
  Type.Object({ role: words('tool'), content: contentSchema(text, image), tool_call_id: Type.String() }),
])

const tool = Type.Object({
  type: words('function'),
  function: Type.Object({
    name: Type.String({ pattern: '^[a-zA-Z_][a-zA-Z0-9_-]{2,63}$' }),
    description: may(Type.String()),
    parameters: anyObject,
    strict: may(Type.Boolean()),
  }),
})

const departure = departures(
  Type.Object({
    model: Type.String(),
    messages: Type.Array(message),
    max_tokens: may(Type.Integer()),
    max_completion_tokens: may(Type.Integer()),
    response_format: may(responseFormat),
    stop: may(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 5 })])),
    stream: may(Type.Boolean()),
    stream_options: may(Type.Object({ include_usage: may(Type.Boolean()) })),
    tools: may(Type.Array(tool, { maxItems: 128 })),
    thinking: may(Type.Object({ type: words('enabled', 'disabled') })),
    reasoning_effort: may(Type.String()),
    prompt_cache_key: may(Type.String()),
    safety_identifier: may(Type.String()),
  }),
)

const bad = (message: string): Refusal => refusal(400, message)

function schemaRefusal(body: JsonObject): Refusal | undefined {
  for (const { function: defined } of list(body.tools)) {
    const { parameters } = object(defined)
    // github.com/Hmbown/Codewhale/pull/4613
    const wrong = object(parameters).type === 'object' ? unflavored(parameters) : "parameters.type is required and must be 'object'"
    if (wrong !== undefined)
      return bad(`Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <${wrong}>`)
  }
  const { schema, strict } = object(object(body.response_format).json_schema)
  const wrong = schema === undefined || strict === false ? undefined : unflavored(schema)
  return wrong === undefined
    ? undefined
    : bad(`Invalid request: response_format.json_schema is not a valid moonshot flavored json schema, details: <${wrong}>`)
}

/** Demands of thinking, which is on unless the request switches it off, asks beyond the document. */
function thinkingRefusal({ body, model }: Call): Refusal | undefined {
  if (object(body.thinking).type === 'disabled') return undefined
  const { tool_choice: choice } = body
  // github.com/AstrBotDevs/AstrBot/issues/7805, github.com/can1357/oh-my-pi/issues/1077; kimi-k3 takes them (UKGovernmentBEIS/inspect_ai/pull/5152).
  if (model.name !== 'kimi-k3' && choice === 'required') return bad("tool_choice 'required' is incompatible with thinking enabled")
  if (model.name !== 'kimi-k3' && isObject(choice)) return bad('tool_choice specified is incompatible with thinking enabled')
  const at = list(body.messages).findIndex(
    ({ tool_calls: calls, reasoning_content: thought }) => list(calls ?? []).length > 0 && typeof thought !== 'string',
  )
  // github.com/continuedev/continue/issues/11600
  return at === -1 ? undefined : bad(`thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`)
}

/** The only values of parameters that the newer models take (platform.kimi.ai; java.agentscope.io/v2/en/integration/model/kimi). */
const FIXED: readonly [string, number][] = [
  ['n', 1],
  ['frequency_penalty', 0],
  ['presence_penalty', 0],
]

function check(call: Call): Refusal | undefined {
  const { body, model } = call
  const wrong = departure(body)
  if (wrong) return bad(`Invalid request: ${wrong.path}: ${wrong.message}`)
  // Which temperature and top_p are right depends on thinking: github.com/BerriAI/litellm/pull/29687, github.com/HKUDS/nanobot/pull/4967.
  if ((body.temperature ?? 1) !== 1) return bad('invalid temperature: only 1 is allowed for this model')
  for (const [name, only] of FIXED) if ((body[name] ?? only) !== only) return bad(`invalid ${name}: only ${only} is allowed for this model`)
  const { reasoning_effort: effort } = body
  // github.com/HKUDS/nanobot/issues/3939
  if (effort !== undefined && body.thinking !== undefined) return bad("cannot specify both 'thinking' and 'reasoning_effort'")
  // github.com/mnfst/modelparams.dev/pull/168
  const efforts = model.name === 'kimi-k3' ? ['low', 'high', 'max'] : ['low', 'high']
  if (effort !== undefined && !efforts.includes(String(effort))) return bad(`invalid reasoning_effort: ${effort}`)
  const messages = list(body.messages)
  // github.com/labring/FastGPT/issues/3575
  const empty = messages.findIndex(({ role, content, tool_calls: calls }) => role === 'assistant' && !calls && (content ?? '') === '')
  if (empty !== -1) return bad(`Invalid request: the message at position ${empty} with role 'assistant' must not be empty`)
  const loose = unpaired(messages)
  return loose === undefined ? (schemaRefusal(body) ?? thinkingRefusal(call)) : bad(loose)
}

const entry = (model: string): string =>
  `input: [text, image]\nendpoints: [{ provider: moonshot, model: ${model}, price: { prompt: "1", completion: "1" } }]`

const kimi = (name: string) => ({ slug: `moonshotai/${name}`, name, entry: entry(name), reasons: true, images: true })

export const moonshot: Rules = {
  preset: 'moonshot',
  wire: 'openai-chat',
  sources: [
    'OpenAPI document of platform.kimi.ai, 1.0.0 (copy of 2026: github.com/api-evangelist/moonshot-ai at 30fe047)',
    'https://platform.kimi.ai/docs/guide/use-kimi-vision-model',
    'github.com/continuedev/continue/issues/11600',
    'github.com/AstrBotDevs/AstrBot/issues/7805',
    'github.com/MoonshotAI/walle at 196bb0c, docs/walle.md and its validator',
  ],
  models: [kimi('kimi-k2.6'), kimi('kimi-k3')],
  path: () => '/chat/completions',
  denied: bearer(refusal(401, 'Invalid Authentication', { type: 'invalid_authentication_error' })),
  check,
  rewrite: asReasoningContent,
}
