/** Blocks of a conversation that only the gateway can have written: no provider of this wire takes them as they stand. */

import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { CALL_EXTRA } from '../canon/call-signature.ts'
import { isMarked } from '../canon/reasoning-owner.ts'
import { isWrappedReasoning } from '../canon/wrapped-reasoning.ts'
import { isGatewayTool } from './gateway-tools.ts'

/** True for a citation that was made from another wire's annotation, or from what the gateway read: it quotes nothing, or holds no index. */
export function isForeignCitation(citation: JsonObject): boolean {
  return citation.encrypted_index === '' || citation.cited_text === '' || citation.type === 'file'
}

function isForeign(block: JsonObject): boolean {
  switch (block.type) {
    case 'text':
      return block[CALL_EXTRA] !== undefined || asObjects(block.citations).some(isForeignCitation)
    case 'thinking':
      return isWrappedReasoning(block.signature) || isMarked(block.signature)
    case 'redacted_thinking':
      return isWrappedReasoning(block.data) || isMarked(block.data)
    case 'tool_use':
      return block[CALL_EXTRA] !== undefined
    default:
      return isGatewayTool(block)
  }
}

/** True where a body must be translated, even for a provider of this wire. */
export function holdsForeignBlocks(body: JsonObject): boolean {
  const messages = Array.isArray(body.messages) ? body.messages : []
  return messages.some((message) => isObject(message) && message.role === 'assistant' && asObjects(message.content).some(isForeign))
}
