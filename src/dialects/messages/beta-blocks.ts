/**
 * Blocks that a feature leaves in the conversation which providers take by a name in `anthropic-beta` (platform.claude.com: "Advisor tool",
 * "MCP connector"): one that does not take the feature refuses them ("Input tag 'advisor_tool_result' … does not match any of the
 * expected tags", as of any type that it does not know).
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Target } from '../types.ts'

interface Feature {
  /** Beginning of the names of all its versions. */
  readonly beta: string
  has(block: JsonObject): boolean
}

const FEATURES: readonly Feature[] = [
  { beta: 'advisor-tool-', has: ({ type, name }) => type === 'advisor_tool_result' || (type === 'server_tool_use' && name === 'advisor') },
  { beta: 'mcp-client-', has: ({ type }) => type === 'mcp_tool_use' || type === 'mcp_tool_result' || type === 'mcp_tool_listing' },
]

/** Leaves them out; the caller's own messages are never touched. @param dropped receives their types. */
export function fitBetaBlocks(body: JsonObject, { quirks }: Target, dropped: string[]): void {
  const { betas } = quirks
  if (betas === undefined || !Array.isArray(body.messages)) return
  const missing = FEATURES.filter(({ beta }) => !betas.some((name) => name.startsWith(beta)))
  const isLost = (block: Json): boolean => isObject(block) && missing.some((feature) => feature.has(block))
  const messageContent = (message: Json): Json[] => (isObject(message) && Array.isArray(message.content) ? message.content : [])
  const lost = body.messages.flatMap(messageContent).filter(isLost)
  if (lost.length === 0) return
  dropped.push(...new Set(lost.filter(isObject).map(({ type }) => String(type))))
  body.messages = body.messages.flatMap((message) => {
    const content = messageContent(message)
    if (!isObject(message) || !content.some(isLost)) return [message]
    const kept = content.filter((block) => !isLost(block))
    return kept.length === 0 ? [] : [{ ...message, content: kept }]
  })
}
