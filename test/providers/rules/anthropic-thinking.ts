/**
 * Thinking that Claude's models take, and their signatures with their content (platform.claude.com: What's new in Claude
 * Sonnet 5.5; Claude Haiku 5.5 migration guide; Preserved thinking; Extended thinking).
 */
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import type { Utterance } from '../../support/wire.ts'
import { type Call, Signatures } from '../stand-in.ts'

/** Facts of a model, from its page and its migration guide. */
export interface ModelFacts {
  /** Values of `thinking.type` that it takes. */
  readonly thinking: readonly string[]
  /** True where it thinks when `thinking` is absent, which is as `adaptive`. */
  readonly thinksUnasked: boolean
  /** Efforts that it takes; absent where it knows no such parameter. */
  readonly efforts?: readonly string[]
  readonly forcedTools: boolean
  readonly prefill: boolean
  /** False where sampling parameters other than their defaults are refused. */
  readonly sampling: boolean
  /** True where a block of thinking is refused once something before it has changed. */
  readonly preserved: boolean
  readonly systemInside: boolean
}

const OFF = ['disabled', 'between_tools']

function thinks({ body }: Call, facts: ModelFacts): boolean {
  const type = object(body.thinking).type
  if (type === undefined ? !facts.thinksUnasked : OFF.includes(String(type))) return false
  // "the response starts with the tool call and has no thinking block" (Claude Haiku 5.5 migration guide, "Configure thinking").
  return !['any', 'tool'].includes(String(object(body.tool_choice).type))
}

/** Content as blocks, without what the check leaves out: cache marks and earlier thinking (Preserved thinking, "What counts as an edit"). */
function plainBlocks(content: Json | undefined): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return list(content)
    .filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    .map(({ cache_control: _, ...block }) => (block.content === undefined ? block : { ...block, content: plainBlocks(block.content) }))
}

/** Digest of all that stands before the message at this place. */
function prefixAt(body: JsonObject, index: number): string {
  const before = list(body.messages)
    .slice(0, index)
    .map(({ role, content }) => [role, plainBlocks(content)])
  const tools = list(body.tools)
    .filter((tool) => tool.defer_loading !== true)
    .map(({ cache_control: _, ...tool }) => tool)
  return createHash('sha256')
    .update(JSON.stringify([plainBlocks(body.system), tools, before]))
    .digest('hex')
    .slice(0, 16)
}

/** Signatures hold at every provider of Claude (platform.claude.com, Extended thinking, `signature`): of another one the text is not known here. */
function isClaudes(signatures: Signatures, hmac: string, text: string): boolean {
  return signatures.verify(hmac, text) || (Signatures.isIssued(hmac) && !signatures.verify(hmac))
}

/** `model.prefix.hmac`: opaque to callers. */
function signed(signatures: Signatures, text: string, model: string, prefix: string): string {
  return `${model}.${prefix}.${signatures.issue(`${model}.${prefix}.${text}`)}`
}

/** The reply with its thinking signed; without it where the request turned it off, and without its text where that is omitted. */
export function thinkingUtterance(utterance: Utterance, call: Call, facts: ModelFacts): Utterance {
  if (!utterance.reasoning) return utterance
  if (!thinks(call, facts)) return { ...utterance, reasoning: undefined }
  const { body, model, signatures } = call
  // The newer models omit the text unless `display` says otherwise (Claude Haiku 5.5 migration guide, "Configure thinking").
  const omitted = object(body.thinking).display === 'omitted' || (facts.preserved && object(body.thinking).display !== 'summarized')
  const reasoning = omitted ? [''] : utterance.reasoning
  const prefix = prefixAt(body, list(body.messages).length)
  return { ...utterance, reasoning, signature: signed(signatures, reasoning.join(''), model.name, prefix) }
}

/** Error of the API for the first block of thinking that it refuses; undefined where there is none. */
function signatureRefusal(call: Call, facts: ModelFacts): string | undefined {
  const { body, model, signatures } = call
  const drops = object(object(body.thinking).block_binding).prefix_mismatch_behavior === 'drop_block'
  for (const [i, { content }] of list(body.messages).entries())
    for (const [j, block] of list(content).entries()) {
      if (block.type !== 'thinking') continue
      // Of Claude at Bedrock: signatures hold at all its providers (platform.claude.com, Extended thinking).
      if (Signatures.isIssued(String(block.signature))) continue
      const [maker, prefix, hmac] = String(block.signature).split('.')
      const at = `messages.${i}.content.${j}: Invalid \`signature\` in \`thinking\` block.`
      if (hmac === undefined || !isClaudes(signatures, hmac, `${maker}.${prefix}.${String(block.thinking)}`)) return at
      // Another model's block is dropped without an error ("Thinking blocks are tied to the model").
      if (!facts.preserved || maker !== model.name || prefix === prefixAt(body, i) || drops) continue
      return `${at} The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`
    }
  return undefined
}

/** "messages.1.content.0.type: Expected `thinking` …" (github.com/anomalyco/opencode/issues/3077), of manual budgets alone. */
function orderRefusal(body: JsonObject): string | undefined {
  if (object(body.thinking).type !== 'enabled') return undefined
  const messages = list(body.messages)
  let start = messages.length
  while (start > 0 && (messages[start - 1]?.role === 'assistant' || list(messages[start - 1]?.content)[0]?.type === 'tool_result')) start--
  const at = messages.findIndex(({ role }, i) => i >= start && role === 'assistant')
  if (at === -1) return undefined
  const found = list(messages[at]?.content)[0]?.type ?? 'text'
  if (found === 'thinking' || found === 'redacted_thinking') return undefined
  return `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
}

function typeRefusal(body: JsonObject, facts: ModelFacts): string | undefined {
  const { type, budget_tokens: budget } = object(body.thinking)
  const { effort } = object(body.output_config)
  if (typeof effort === 'string') {
    if (!facts.efforts) return 'This model does not support the effort parameter.'
    // Recorded: test_anthropic_explicit_effort_xhigh_unsupported_model_errors.
    if (!facts.efforts.includes(effort))
      return `This model does not support effort level '${effort}'. Supported levels: ${facts.efforts.join(', ')}.`
  }
  if (type === undefined) return undefined
  if (!facts.thinking.includes(String(type))) {
    // github.com/diegosouzapw/OmniRoute/pull/1563
    if (type === 'adaptive') return 'adaptive thinking is not supported on this model'
    return `"thinking.type.${String(type)}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
  }
  if (type === 'between_tools' && (effort === 'xhigh' || effort === 'max'))
    return `thinking.type.between_tools is not supported at effort '${effort}'`
  if (type === 'enabled' && Number(budget) >= Number(body.max_tokens)) return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  return undefined
}

/** The first rule of thinking that a request breaks, in the API's words. @param betas values of `anthropic-beta`. */
export function thinkingRefusal(call: Call, facts: ModelFacts, betas: readonly string[]): string | undefined {
  const { thinking, tool_choice: choice, temperature, top_p: topP, top_k: topK } = call.body
  const { type, block_binding: binding } = object(thinking)
  const forced = ['any', 'tool'].includes(String(object(choice).type))
  const refusal = typeRefusal(call.body, facts)
  if (refusal) return refusal
  // github.com/Wei-Shaw/sub2api/pull/6677
  if (binding !== undefined && !betas.includes('thinking-binding-controls-2026-08-01'))
    return `thinking.${String(type)}.block_binding: Extra inputs are not permitted`
  if (forced && !facts.forcedTools) return 'tool_choice: type "tool" and "any" are not supported for this model.'
  // Of manual budgets alone; adaptive thinking takes forced tools (github.com/pydantic/pydantic-ai/issues/7195, 2425).
  if (forced && type === 'enabled') return 'Thinking may not be enabled when tool_choice forces tool use.'
  if (type === 'enabled' && temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled.'
  if (type === 'enabled' && topK !== undefined) return '`top_k` must be unset when thinking is enabled.'
  if (type === 'enabled' && typeof topP === 'number' && topP < 0.95)
    return '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.'
  return signatureRefusal(call, facts) ?? orderRefusal(call.body)
}
