/** Fields that api.anthropic.com takes at /v1/messages (types of @anthropic-ai/sdk 1.14.0, MessageCreateParamsBase and its blocks). */
import { type TSchema, Type } from 'typebox'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { closed, type Departure, departures, words } from '../schema.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const text = Type.String()
const any = Type.Unknown()
const optional = Type.Optional

/** CacheControlEphemeral; blocks of reasoning have no such field. */
const mark = { cache_control: nullable(closed({ type: words('ephemeral'), ttl: optional(words('5m', '1h')) })) }

/** "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" (github.com/maximhq/bifrost/issues/5097). */
const ID = '^[a-zA-Z0-9_-]+$'
/** "server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'" (github.com/ding113/claude-code-hub/issues/470). */
const SERVER_ID = '^srvtoolu_[a-zA-Z0-9_]+$'
/** "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'" (github.com/home-assistant/core/issues/147760). */
const NAME = '^[a-zA-Z0-9_-]{1,128}$'

const imageSource = Type.Union([
  closed({ type: words('base64'), media_type: words('image/jpeg', 'image/png', 'image/gif', 'image/webp'), data: text }),
  closed({ type: words('url'), url: text }),
  closed({ type: words('file'), file_id: text }),
])
const documentSource = Type.Union([
  closed({ type: words('base64'), media_type: words('application/pdf'), data: text }),
  closed({ type: words('text'), media_type: words('text/plain'), data: text }),
  closed({ type: words('content'), content: Type.Union([text, Type.Array(any)]) }),
  closed({ type: words('url'), url: text }),
  closed({ type: words('file'), file_id: text }),
])
const caller = { caller: optional(any) }
/** The answer to a call of a tool that the provider runs; its content differs by tool. */
const answered = closed({ type: text, tool_use_id: Type.String({ pattern: ID }), content: any, ...caller, ...mark })

const BLOCKS = {
  text: closed({ type: text, text, citations: nullable(Type.Array(any)), ...mark }),
  image: closed({ type: text, source: imageSource, transformations: nullable(any), ...mark }),
  document: closed({
    type: text,
    source: documentSource,
    title: nullable(text),
    context: nullable(text),
    citations: nullable(any),
    ...mark,
  }),
  search_result: closed({ type: text, source: text, title: text, content: Type.Array(any), citations: optional(any), ...mark }),
  thinking: closed({ type: text, thinking: text, signature: text }),
  redacted_thinking: closed({ type: text, data: text }),
  tool_use: closed({
    type: text,
    id: Type.String({ pattern: ID }),
    name: Type.String({ pattern: NAME }),
    input: Type.Object({}),
    toolset_name: nullable(text),
    ...caller,
    ...mark,
  }),
  tool_result: closed({
    type: text,
    tool_use_id: Type.String({ pattern: ID }),
    content: optional(Type.Union([text, Type.Array(Type.Object({ type: text }))])),
    is_error: optional(Type.Boolean()),
    toolset_name: nullable(text),
    ...mark,
  }),
  tool_reference: closed({ type: text, tool_name: text, ...mark }),
  server_tool_use: closed({ type: text, id: Type.String({ pattern: SERVER_ID }), name: text, input: Type.Object({}), ...caller, ...mark }),
  web_search_tool_result: answered,
  web_fetch_tool_result: answered,
  code_execution_tool_result: answered,
  bash_code_execution_tool_result: answered,
  text_editor_code_execution_tool_result: answered,
  tool_search_tool_result: answered,
  container_upload: closed({ type: text, file_id: text, ...mark }),
  advisor_tool_result: answered,
  mcp_tool_use: closed({ type: text, id: text, name: text, server_name: text, input: any, ...mark }),
  mcp_tool_result: closed({ type: text, tool_use_id: text, content: optional(any), is_error: optional(Type.Boolean()), ...mark }),
} satisfies Record<string, TSchema>

/** Blocks that one beta alone knows (@anthropic-ai/sdk 1.14.0, BetaContentBlockParam), with how its name begins. */
const BETA_BLOCKS: ReadonlyMap<unknown, string> = new Map([
  ['advisor_tool_result', 'advisor-tool-'],
  ['mcp_tool_use', 'mcp-client-'],
  ['mcp_tool_result', 'mcp-client-'],
])

const BY_ROLE: Readonly<Record<string, readonly (keyof typeof BLOCKS)[]>> = {
  user: ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload'],
  assistant: [
    'text',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'web_search_tool_result',
    'web_fetch_tool_result',
    'code_execution_tool_result',
    'bash_code_execution_tool_result',
    'text_editor_code_execution_tool_result',
    'tool_search_tool_result',
    'container_upload',
  ],
  system: ['text'],
  result: ['text', 'image', 'document', 'search_result', 'tool_reference'],
}

const shared = { ...mark, defer_loading: optional(Type.Boolean()), strict: optional(Type.Boolean()), allowed_callers: optional(any) }
const custom = closed({
  type: nullable(words('custom')),
  name: Type.String({ pattern: NAME }),
  description: optional(text),
  input_schema: Type.Object({ type: words('object') }),
  input_examples: optional(any),
  eager_input_streaming: nullable(Type.Boolean()),
  ...shared,
})
const provided = closed({
  type: words('web_search_20250305', 'web_search_20260209', 'web_search_20260318'),
  name: words('web_search'),
  max_uses: nullable(Type.Integer()),
  allowed_domains: nullable(Type.Array(text)),
  blocked_domains: nullable(Type.Array(text)),
  user_location: nullable(any),
  ...shared,
})
const toolSearch = closed({
  type: words('tool_search_tool_bm25_20251119', 'tool_search_tool_bm25', 'tool_search_tool_regex_20251119', 'tool_search_tool_regex'),
  name: words('tool_search_tool_bm25', 'tool_search_tool_regex'),
  ...shared,
})
const bash = closed({ type: words('bash_20250124'), name: words('bash'), ...shared })

const serial = { disable_parallel_tool_use: optional(Type.Boolean()) }
const display = { display: nullable(words('summarized', 'omitted')) }
/** Only with its beta header (BetaThinkingBlockBinding). */
const binding = {
  block_binding: nullable(closed({ prefix_mismatch_behavior: nullable(words('error', 'drop_block')) })),
}

const BODY = {
  model: text,
  max_tokens: Type.Integer({ minimum: 0 }),
  messages: Type.Array(
    closed({ role: words('user', 'assistant', 'system'), content: Type.Union([text, Type.Array(Type.Object({ type: text }))]) }),
    { minItems: 1 },
  ),
  cache_control: mark.cache_control,
  container: nullable(any),
  diagnostics: nullable(any),
  inference_geo: nullable(text),
  metadata: optional(closed({ user_id: nullable(Type.String({ maxLength: 256 })) })),
  output_config: optional(
    closed({
      effort: nullable(words('low', 'medium', 'high', 'xhigh', 'max')),
      format: nullable(closed({ type: words('json_schema'), schema: Type.Object({}) })),
    }),
  ),
  service_tier: optional(words('auto', 'standard_only')),
  speed: nullable(words('standard', 'fast')),
  stop_sequences: optional(Type.Array(text)),
  stream: optional(Type.Boolean()),
  system: optional(Type.Union([text, Type.Array(BLOCKS.text)])),
  temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: optional(Type.Integer({ minimum: 0 })),
  thinking: optional(
    Type.Union([
      closed({ type: words('enabled'), budget_tokens: Type.Integer({ minimum: 1024 }), ...display, ...binding }),
      closed({ type: words('adaptive'), ...display, ...binding }),
      closed({ type: words('disabled') }),
      // "takes no other field" (platform.claude.com, What's new in Claude Sonnet 5.5, "Turn off up-front thinking").
      closed({ type: words('between_tools') }),
    ]),
  ),
  tool_choice: optional(
    Type.Union([
      closed({ type: words('auto'), ...serial }),
      closed({ type: words('any'), ...serial }),
      closed({ type: words('tool'), name: text, ...serial }),
      closed({ type: words('none') }),
    ]),
  ),
  tools: optional(Type.Array(Type.Union([custom, provided, toolSearch, bash]))),
}

/** Fields that only a request with this value of `anthropic-beta` may have (AnthropicBeta; resources/beta/messages). */
const BETA_FIELDS: readonly (readonly [field: string, beta: string])[] = [
  ['compaction', 'compact-2026-09-04'],
  ['context_management', 'context-management-2025-06-27'],
  ['mcp_servers', 'mcp-client-2026-09-15'],
]

/** A system message within the conversation sets the effort of later turns (platform.claude.com/docs/build-with-claude/effort-per-message). */
const EFFORT_INSIDE = [
  'mid-conversation-output-config-2026-07-01',
  // With which Claude Code 2.1.330 sends it to Anthropic.
  'per-turn-control-2026-07-01',
]

function withoutEffort(message: JsonObject): JsonObject {
  const { output_config: config, ...rest } = message
  const { effort = 'low', ...others } = object(config)
  const isKnown = ['low', 'medium', 'high', 'xhigh', 'max'].includes(String(effort)) && Object.keys(others).length === 0
  return message.role === 'system' && isKnown ? rest : message
}

const checkBody = departures(closed(BODY))
const checks = new Map<string, ReturnType<typeof departures>>(Object.entries(BLOCKS).map(([type, schema]) => [type, departures(schema)]))

function blockDeparture(block: JsonObject, at: string, allowed: readonly string[]): Departure | undefined {
  const type = String(block.type)
  if (!allowed.includes(type))
    return { path: at, message: `Input tag '${type}' found using 'type' does not match any of the expected tags` }
  const wrong = checks.get(type)?.(block)
  if (wrong) return { path: [at, type, wrong.path].filter(Boolean).join('.'), message: wrong.message }
  if (type !== 'tool_result' || !Array.isArray(block.content)) return undefined
  return firstDeparture(list(block.content), (inner, i) => blockDeparture(inner, `${at}.tool_result.content.${i}`, BY_ROLE.result))
}

function firstDeparture<T>(all: readonly T[], check: (each: T, i: number) => Departure | undefined): Departure | undefined {
  for (const [i, each] of all.entries()) {
    const wrong = check(each, i)
    if (wrong) return wrong
  }
  return undefined
}

/** The first departure from the types. @param betas values of `anthropic-beta`. */
export function departure(body: JsonObject, betas: readonly string[]): Departure | undefined {
  const allowed = new Set(BETA_FIELDS.filter(([, beta]) => betas.includes(beta)).map(([field]) => field))
  const fields = Object.fromEntries(Object.entries(body).filter(([field]) => !allowed.has(field)))
  const plain = EFFORT_INSIDE.some((beta) => betas.includes(beta))
    ? { ...fields, messages: list(body.messages).map(withoutEffort) }
    : fields
  const wrong = checkBody(plain)
  if (wrong) return wrong
  const isOfBeta = (type: Json | undefined): boolean => {
    const beta = BETA_BLOCKS.get(type)
    return beta !== undefined && betas.some((each) => each.startsWith(beta))
  }
  return firstDeparture(list(body.messages), ({ role, content }, i) =>
    Array.isArray(content)
      ? firstDeparture(list(content), (block, j) => {
          const allowed = BY_ROLE[String(role)]
          const known = role === 'assistant' && isOfBeta(block.type) ? [...allowed, String(block.type)] : allowed
          return blockDeparture(object(block), `messages.${i}.content.${j}`, known)
        })
      : undefined,
  )
}
