/** Requests that api.anthropic.com accepts at /v1/messages. */

import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import type { Call, Refusal, RuledModel, Rules } from '../stand-in.ts'
import { schemaRefusal } from './anthropic-json-schema.ts'
import { departure } from './anthropic-schema.ts'
import { type ModelFacts, thinkingRefusal, thinkingUtterance } from './anthropic-thinking.ts'

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']

const NEWEST: ModelFacts = {
  thinking: ['adaptive'],
  thinksUnasked: true,
  efforts: EFFORTS,
  forcedTools: false,
  prefill: false,
  sampling: false,
  preserved: true,
  systemInside: true,
}

/** Each model's own pages at platform.claude.com/docs/en/models: overview, what's new, migration guide. */
const FACTS: Readonly<Record<string, ModelFacts>> = {
  'claude-opus-5-5': NEWEST,
  'claude-sonnet-5-5': { ...NEWEST, thinking: ['adaptive', 'between_tools'] },
  'claude-haiku-5-5': { ...NEWEST, thinking: ['adaptive', 'disabled'], forcedTools: true },
  'claude-haiku-4-5': {
    thinking: ['enabled', 'disabled'],
    thinksUnasked: false,
    forcedTools: true,
    prefill: true,
    sampling: true,
    preserved: false,
    systemInside: false,
  },
}

const modelFacts = (model: RuledModel): ModelFacts => FACTS[model.name] ?? NEWEST

export const refused = (message: string): Refusal => ({
  status: 400,
  // Recorded: test_anthropic_explicit_effort_xhigh_unsupported_model_errors.
  body: { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_refused' },
})

const isEmptyText = (block: JsonObject): boolean => block.type === 'text' && String(block.text).trim() === ''

/** Empty texts and messages, and how calls and results pair (github.com/anthropics/claude-code/issues/8210, 18947). */
function contentRefusal(messages: readonly JsonObject[]): string | undefined {
  for (const [i, { role, content }] of messages.entries()) {
    if (content === '' || (Array.isArray(content) && content.length === 0))
      return `messages.${i}: all messages must have non-empty content except for the optional final assistant message`
    if (list(content).some(isEmptyText)) return 'messages: text content blocks must be non-empty'
    const called = role === 'assistant' ? blockIds(content, 'tool_use', 'id') : []
    const next = messages[i + 1]
    const answered = next?.role === 'user' ? leadingResults(next.content) : []
    const open = called.filter((id) => !answered.includes(id))
    if (open.length > 0)
      return `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    const before = messages[i - 1]
    const known = before?.role === 'assistant' ? blockIds(before.content, 'tool_use', 'id') : []
    const strange = blockIds(content, 'tool_result', 'tool_use_id').find((id) => !known.includes(id))
    if (strange !== undefined)
      return `messages.${i}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${strange}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
  }
  return undefined
}

function blockIds(content: Json | undefined, type: string, member: string): string[] {
  return list(content).flatMap((block) => (block.type === type ? [String(block[member])] : []))
}

/** Results come first in their message (platform.claude.com, Handle tool calls). */
function leadingResults(content: Json | undefined): string[] {
  const blocks = list(content)
  const end = blocks.findIndex(({ type }) => type !== 'tool_result')
  return blockIds(end === -1 ? blocks : blocks.slice(0, end), 'tool_result', 'tool_use_id')
}

/** Places of system messages, and permitted ends of the conversation. */
function orderRefusal(messages: readonly JsonObject[], facts: ModelFacts): string | undefined {
  for (const [i, { role }] of messages.entries()) {
    if (role !== 'system') continue
    if (!facts.systemInside) return `messages.${i}.role: Input should be 'user' or 'assistant'`
    // platform.claude.com, Change tools or instructions without failing the prefix check, "Change instructions".
    if (messages[i - 1]?.role !== 'user' || messages[i + 1]?.role === 'user')
      return `messages.${i}: a system message must follow a user message and come before an assistant message`
  }
  const last = messages.at(-1)
  // A turn that the API paused is sent back as it is (platform.claude.com, Server tools, "The server-side loop and pause_turn").
  const paused = list(last?.content).some(({ type }) => type === 'server_tool_use')
  if (last?.role !== 'assistant' || paused) return undefined
  if (!facts.prefill) return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  const text = typeof last.content === 'string' ? last.content : String(list(last.content).at(-1)?.text ?? '')
  return text === text.trimEnd() ? undefined : 'messages: final assistant content cannot end with trailing whitespace'
}

function marksIn(value: Json | undefined): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + marksIn(each), 0)
  const block = object(value)
  return (block.cache_control ? 1 : 0) + (block.content === undefined ? 0 : marksIn(block.content))
}

function samplingRefusal(
  { temperature, top_p: topP, top_k: topK, stop_sequences: stop }: JsonObject,
  facts: ModelFacts,
): string | undefined {
  if (Array.isArray(stop) && stop.some((each) => String(each).trim() === ''))
    return 'stop_sequences: each stop sequence must contain non-whitespace'
  // platform.claude.com, migrating to Claude 4.5: temperature or top_p, not both.
  if (temperature !== undefined && topP !== undefined)
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'
  if (facts.sampling) return undefined
  // Claude Haiku 5.5 migration guide, "Remove sampling parameters".
  if (temperature !== undefined && temperature !== 1) return '`temperature` is deprecated for this model.'
  if (topP !== undefined && topP !== 0.99) return '`top_p` is deprecated for this model.'
  return topK === undefined ? undefined : '`top_k` is deprecated for this model.'
}

function toolsRefusal({ tools, tool_choice: choice }: JsonObject): string | undefined {
  const names = list(tools).map(({ name }) => name)
  if (new Set(names).size < names.length) return 'tools: Tool names must be unique.'
  if (choice !== undefined && names.length === 0) return 'tool_choice may only be specified while providing tools'
  if (object(choice).type === 'tool' && !names.includes(object(choice).name))
    return `tool_choice: Tool '${object(choice).name}' not found in provided tools`
  for (const [i, tool] of list(tools).entries()) {
    const wrong = tool.strict === true ? schemaRefusal(tool.input_schema) : undefined
    if (wrong) return `tools.${i}.custom.input_schema: ${wrong}`
  }
  return undefined
}

/** The first rule of the format that a request breaks. @param betas features that it requests. */
export function ruleBroken(call: Call, betas: readonly string[], facts: ModelFacts): string | undefined {
  const { body } = call
  const wrong = departure(body, betas)
  if (wrong) return `${wrong.path}: ${wrong.message === 'unknown field' ? 'Extra inputs are not permitted' : wrong.message}`
  const messages = list(body.messages)
  const marks = messages.reduce(
    (sum, { content }) => sum + marksIn(content),
    marksIn(body.tools) + marksIn(body.system) + (body.cache_control ? 1 : 0),
  )
  // github.com/tghamm/Anthropic.SDK/issues/50
  if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`
  if (list(body.system).some(isEmptyText)) return 'system: text content blocks must be non-empty'
  const schema = schemaRefusal(object(object(body.output_config).format).schema)
  if (schema) return `output_config.format.schema: ${schema}`
  return (
    toolsRefusal(body) ??
    thinkingRefusal(call, facts, betas) ??
    samplingRefusal(body, facts) ??
    orderRefusal(messages, facts) ??
    contentRefusal(messages)
  )
}

/** Refusals of version 2026-10-21 (platform.claude.com, Migrating to API version 2026-10-21). */
function removed(body: JsonObject): string | undefined {
  const sampling = ['temperature', 'top_p', 'top_k'].find((name) => body[name] !== undefined)
  if (sampling !== undefined) return `${sampling}: Extra inputs are not permitted`
  for (const [i, { role, content }] of list(body.messages).entries()) {
    const document = list(content).findIndex(({ type }) => role === 'assistant' && type === 'document')
    if (document >= 0) return `messages.${i}.content.${document}: document blocks are not permitted in assistant messages`
    const texts = list(content).flatMap((block) => (block.type === 'search_result' ? list(block.content) : [block]))
    const cited = role === 'user' && texts.some(({ type, citations }) => type === 'text' && list(citations).length > 0)
    if (cited) return `messages.${i}.content: citations are not permitted on text blocks of user messages`
  }
  return undefined
}

const VERSIONS = ['2023-06-01', '2026-10-21']

function check(call: Call): Refusal | undefined {
  const version = String(call.request.headers['anthropic-version'] ?? '')
  if (version === '') return refused('anthropic-version: header is required')
  if (!VERSIONS.includes(version)) return refused(`anthropic-version: "${version}" is not a valid version`)
  const wrong = version === '2023-06-01' ? undefined : removed(call.body)
  return wrong === undefined ? checkBody(call) : refused(wrong)
}

/** Without what differs between the provider's own address and those of clouds. */
export function checkBody(call: Call): Refusal | undefined {
  const { headers } = call.request
  const betas = String(headers['anthropic-beta'] ?? '').split(',')
  const broken = ruleBroken(call, betas, modelFacts(call.model))
  return broken === undefined ? undefined : refused(broken)
}

export const anthropic: Rules = {
  preset: 'anthropic',
  wire: 'anthropic',
  sources: [
    'npm @anthropic-ai/sdk 1.14.0, resources/messages, resources/beta/messages, lib/transform-json-schema',
    'platform.claude.com/docs/en: models/sonnet-5-5/whats-new-sonnet-5-5, models/haiku-5-5/migration-guide, build-with-claude/preserved-thinking',
    'Recorded traffic of api.anthropic.com (182 accepted requests, 3 refusals)',
  ],
  models: [
    { slug: 'anthropic/claude-sonnet-5.5', name: 'claude-sonnet-5-5', reasons: true, images: true },
    { slug: 'anthropic/claude-opus-5.5', name: 'claude-opus-5-5', reasons: true, images: true },
    { slug: 'anthropic/claude-haiku-5.5', name: 'claude-haiku-5-5', reasons: true, images: true },
    { slug: 'anthropic/claude-haiku-4.5', name: 'claude-haiku-4-5', reasons: true, images: true },
  ],
  path: () => '/v1/messages',
  denied: (request, key) =>
    request.headers['x-api-key'] === key
      ? undefined
      : {
          status: 401,
          body: { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' }, request_id: 'req_denied' },
        },
  check,
  says: (utterance, call) => thinkingUtterance(utterance, call, modelFacts(call.model)),
}
