/** Items that api.openai.com accepts at /v1/responses, by the types of the npm package openai 7.57.0 (resources/responses/responses.d.ts). */
import { Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list } from '../../support/fold.ts'
import { closed, type Departure, departures, words } from '../schema.ts'

type Schema = Parameters<typeof Type.Union>[0][number]

const nullable = <T extends Schema>(schema: T) => Type.Union([schema, Type.Null()])
const maybe = <T extends Schema>(schema: T) => Type.Optional(nullable(schema))
const open = () => Type.Record(Type.String(), Type.Unknown())
const status = maybe(words('in_progress', 'completed', 'incomplete'))
const breakpoint = Type.Optional(closed({ mode: words('explicit') }))

const inputPart = Type.Union([
  closed({ type: words('input_text'), text: Type.String(), prompt_cache_breakpoint: breakpoint }),
  closed({
    type: words('input_image'),
    detail: maybe(words('auto', 'low', 'high', 'original')),
    file_id: maybe(Type.String()),
    image_url: maybe(Type.String({ pattern: '^(data:image/|https?://)' })),
    prompt_cache_breakpoint: breakpoint,
  }),
  closed({
    type: words('input_file'),
    detail: Type.Optional(words('auto', 'low', 'high')),
    file_data: Type.Optional(Type.String()),
    file_id: maybe(Type.String()),
    file_url: Type.Optional(Type.String()),
    filename: Type.Optional(Type.String()),
    prompt_cache_breakpoint: breakpoint,
  }),
])
const outputPart = Type.Union([
  closed({
    type: words('output_text'),
    text: Type.String(),
    annotations: Type.Optional(Type.Array(open())),
    logprobs: Type.Optional(Type.Array(open())),
  }),
  closed({ type: words('refusal'), refusal: Type.String() }),
])

const ITEMS: Readonly<Record<string, Schema>> = {
  reasoning: closed({
    type: words('reasoning'),
    id: Type.Optional(Type.String()),
    summary: Type.Array(closed({ type: words('summary_text'), text: Type.String() })),
    // Codex sends null where there is none (0.169.0; codex-rs/protocol/src/models.rs, `should_serialize_reasoning_content`).
    content: maybe(Type.Array(closed({ type: words('reasoning_text'), text: Type.String() }))),
    encrypted_content: maybe(Type.String()),
    // `status` is among the types; requests are refused with it (github.com/BerriAI/litellm/issues/13420).
  }),
  function_call: closed({
    type: words('function_call'),
    id: Type.Optional(Type.String()),
    call_id: Type.String({ minLength: 1 }),
    name: Type.String({ pattern: '^[a-zA-Z0-9_-]+$' }),
    arguments: Type.String(),
    namespace: Type.Optional(Type.String()),
    async: Type.Optional(Type.Boolean()),
    caller: maybe(open()),
    status,
  }),
  function_call_output: closed({
    type: words('function_call_output'),
    id: maybe(Type.String()),
    call_id: Type.String({ minLength: 1 }),
    output: Type.Union([Type.String(), Type.Array(inputPart)]),
    caller: maybe(open()),
    name: maybe(Type.String()),
    namespace: maybe(Type.String()),
    status,
  }),
  assistant: closed({
    type: Type.Optional(words('message')),
    id: Type.Optional(Type.String()),
    role: words('assistant'),
    content: Type.Union([Type.String(), Type.Array(outputPart)]),
    status,
    phase: maybe(words('commentary', 'final_answer')),
  }),
  message: closed({
    type: Type.Optional(words('message')),
    // As the API lists them (ResponseInputMessageItem); Codex 0.169.0 gives its own.
    id: maybe(Type.String()),
    role: words('user', 'system', 'developer'),
    content: Type.Union([Type.String(), Type.Array(inputPart)]),
    status,
  }),
}

/** Items that are not looked into. */
const OTHERS =
  /^(?:(?:file_search|computer|web_search|image_generation|code_interpreter|local_shell|shell|apply_patch|tool_search|custom_tool)_call(?:_output)?|tool_search_output|additional_tools|configuration_update|compaction(?:_trigger)?|mcp_(?:list_tools|approval_request|approval_response|call)|item_reference|program(?:_output)?)$/

const checks = new Map(Object.entries(ITEMS).map(([name, schema]) => [name, departures(schema)]))

const tool = Type.Union([
  closed({
    type: words('function'),
    name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }),
    description: maybe(Type.String()),
    parameters: maybe(open()),
    strict: maybe(Type.Boolean()),
    allowed_callers: maybe(Type.Array(words('direct', 'programmatic'))),
    async: Type.Optional(Type.Boolean()),
    defer_loading: Type.Optional(Type.Boolean()),
    output_schema: maybe(open()),
  }),
  Type.Object({
    type: Type.String({
      pattern:
        '^(?:file_search|computer|computer_use_preview|web_search(?:_preview)?(?:_20.*)?|mcp|code_interpreter|programmatic_tool_calling|image_generation|local_shell|shell|custom|namespace|tool_search|apply_patch)$',
    }),
  }),
])

const format = Type.Union([
  closed({ type: words('text', 'json_object') }),
  closed({
    type: words('json_schema'),
    name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }),
    schema: open(),
    description: Type.Optional(Type.String()),
    strict: maybe(Type.Boolean()),
  }),
])

const body = departures(
  closed({
    model: Type.String(),
    input: Type.Optional(Type.Union([Type.String(), Type.Array(open())])),
    instructions: maybe(Type.String()),
    access_programs: Type.Optional(open()),
    background: maybe(Type.Boolean()),
    context_management: maybe(Type.Array(open())),
    conversation: maybe(Type.Unknown()),
    image: Type.Optional(open()),
    include: maybe(
      Type.Array(
        words(
          'file_search_call.results',
          'web_search_call.results',
          'web_search_call.action.sources',
          'message.input_image.image_url',
          'computer_call_output.output.image_url',
          'code_interpreter_call.outputs',
          'reasoning.encrypted_content',
          'message.output_text.logprobs',
        ),
      ),
    ),
    // In no type; Codex 0.169.0 sends it to every provider, with keys of OpenAI and of Azure too, which refused other fields of the
    // same requests (github.com/openai/codex/issues/29469, 30161, 37432; codex-rs/codex-api/src/common.rs, ResponsesApiRequest).
    client_metadata: maybe(Type.Record(Type.String(), Type.String())),
    max_output_tokens: maybe(Type.Integer()),
    max_tool_calls: maybe(Type.Integer()),
    metadata: maybe(Type.Record(Type.String(), Type.String({ maxLength: 512 }))),
    moderation: maybe(open()),
    parallel_tool_calls: maybe(Type.Boolean()),
    previous_response_id: maybe(Type.String()),
    prompt: maybe(open()),
    prompt_cache_key: maybe(Type.String()),
    prompt_cache_options: Type.Optional(open()),
    prompt_cache_retention: maybe(words('in_memory', '24h')),
    reasoning: maybe(
      closed({
        context: maybe(words('auto', 'current_turn', 'all_turns')),
        effort: maybe(Type.String()),
        generate_summary: maybe(words('auto', 'concise', 'detailed')),
        mode: Type.Optional(Type.String()),
        summary: maybe(words('auto', 'concise', 'detailed')),
      }),
    ),
    safety_identifier: maybe(Type.String({ maxLength: 128 })),
    service_tier: maybe(words('auto', 'default', 'flex', 'scale', 'priority', 'fast')),
    store: maybe(Type.Boolean()),
    stream: maybe(Type.Boolean()),
    stream_options: maybe(closed({ include_obfuscation: Type.Optional(Type.Boolean()) })),
    temperature: maybe(Type.Number({ minimum: 0, maximum: 2 })),
    text: Type.Optional(closed({ format: Type.Optional(format), verbosity: maybe(words('low', 'medium', 'high')) })),
    tool_choice: Type.Optional(Type.Union([words('none', 'auto', 'required'), open()])),
    tools: Type.Optional(Type.Array(tool)),
    top_logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
    top_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
    truncation: maybe(words('auto', 'disabled')),
    // github.com/maximhq/bifrost/pull/1000.
    user: Type.Optional(Type.String({ maxLength: 64 })),
  }),
)

/** A field of OpenAI's own, which Codex sends to a provider of that name alone; Azure refuses it (github.com/openai/codex/issues/30161). */
export function withoutOwnFields(request: JsonObject): JsonObject {
  if (!Array.isArray(request.input)) return request
  return { ...request, input: list(request.input).map(({ internal_chat_message_metadata_passthrough: _own, ...item }) => item) }
}

function itemDeparture(item: JsonObject, index: number): Departure | undefined {
  const type = String(item.type ?? 'message')
  if (OTHERS.test(type)) return undefined
  const check = checks.get(type === 'message' && item.role === 'assistant' ? 'assistant' : type)
  if (!check) return { path: `input[${index}].type`, message: 'expected the type of an item' }
  const departure = check(item)
  return departure && { ...departure, path: `input[${index}]${departure.path === '' ? '' : `.${departure.path}`}` }
}

/** The first place at which a request departs from the types. */
export function responsesDeparture(request: JsonObject): Departure | undefined {
  const found = body(request)
  if (found) return found
  for (const [index, item] of list(request.input).entries()) {
    const departure = itemDeparture(item, index)
    if (departure) return departure
  }
  return undefined
}
