/** Additions of providers of this wire to a prompt (platform.claude.com; types of @anthropic-ai/sdk 1.12.0). */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { LEAVE_OUT, type OutsideTable, REST_OF_CONTEXT, USUAL_ADVICE } from '../canon/outside-input.ts'
import { addedDefinitions, addedNativeTools } from './added-tools.ts'

/**
 * Caps that tools are sent with under a limit, where the caller sets none. `max_content_tokens` "is approximate and does not apply to binary
 * content such as PDFs" (types of @anthropic-ai/sdk 1.12.0, `BetaWebFetchTool20250910`).
 */
const FETCHES = 5
const FETCHED_TOKENS = 20_000
/** Searches that a hold counts where the caller sets no bound. */
const SEARCHES = 10

const FETCH = /^web_fetch_/
const SEARCH = /^web_search_/
const ADVISOR = /^advisor_/

const countOr = (value: Json | undefined, otherwise: number): number => (typeof value === 'number' && value > 0 ? value : otherwise)

const isNamed = (value: Json): boolean => typeof value === 'string' && value !== ''

/** Tools that a conversation adds in its middle. */
const addedTools = (body: JsonObject): JsonObject[] =>
  [...addedDefinitions(body)].map(({ definition }) => (FETCH.test(String(definition.type)) ? { ...definition, ...UNCAPPED } : definition))

/** Fetches among them are sent as they are: what the caller has not capped is not capped. */
const UNCAPPED = { max_uses: REST_OF_CONTEXT }

export const outsideInput: OutsideTable = {
  from: 'own',
  elsewhere: addedTools,
  tools: [
    {
      type: FETCH,
      tokens: ({ max_uses: uses, max_content_tokens: tokens }) => countOr(uses, FETCHES) * countOr(tokens, FETCHED_TOKENS),
      leaks: true,
      help: 'set max_uses and max_content_tokens lower',
    },
    { type: /^code_execution_/, tokens: () => REST_OF_CONTEXT, runs: true, help: LEAVE_OUT },
  ],
  fields: {
    // `thread: { type: 'continue', previous_message_id }` goes on with a conversation that the provider keeps; one that begins holds nothing yet.
    thread: {
      tokens: (value) => (isObject(value) && value.type === 'create' ? 0 : REST_OF_CONTEXT),
      help: 'send the whole conversation in messages',
    },
    container: {
      tokens: (value) =>
        isNamed(value) || (isObject(value) && (isNamed(value.id ?? null) || (Array.isArray(value.skills) && value.skills.length > 0)))
          ? REST_OF_CONTEXT
          : 0,
      runs: true,
      help: LEAVE_OUT,
    },
    mcp_servers: { tokens: (value) => (Array.isArray(value) && value.length > 0 ? REST_OF_CONTEXT : 0), runs: true, help: LEAVE_OUT },
  },
  harmless: new Set(['diagnostics', 'fallback_credit_token', 'inference_geo', 'speed', 'anthropic_beta', 'anthropic_version']),
}

/** Under a limit, tools that the provider runs are sent with the caps that the request is held for. */
export function capTools(body: JsonObject): void {
  const { tools, messages } = body
  if (Array.isArray(tools) && tools.some((tool) => isObject(tool) && CAPPED.test(String(tool.type))))
    body.tools = tools.map((tool) => (isObject(tool) ? withCaps(tool) : tool))
  if (!Array.isArray(messages) || addedNativeTools(body).length === 0) return
  body.messages = messages.map((message): Json => {
    if (!isObject(message) || !Array.isArray(message.content)) return message
    const content = message.content.map((block): Json => {
      if (!isObject(block) || block.type !== 'tool_addition' || !isObject(block.tool)) return block
      const capped = Object.entries(block.tool).map(([name, each]) => [
        name,
        isObject(each) && !FETCH.test(String(each.type)) ? withCaps(each) : each,
      ])
      return { ...block, tool: Object.fromEntries(capped) as JsonObject }
    })
    return { ...message, content }
  })
}

const CAPPED = /^(?:web_fetch|web_search|advisor)_/

function withCaps(tool: JsonObject): JsonObject {
  const { type, max_uses: uses, max_content_tokens: tokens } = tool
  const name = String(type)
  if (FETCH.test(name)) return { ...tool, max_uses: countOr(uses, FETCHES), max_content_tokens: countOr(tokens, FETCHED_TOKENS) }
  if (SEARCH.test(name)) return { ...tool, max_uses: countOr(uses, SEARCHES) }
  return ADVISOR.test(name) ? { ...tool, max_uses: countOr(uses, USUAL_ADVICE) } : tool
}
