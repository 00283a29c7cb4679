/**
 * Words of a request and of its answer as `gen_ai.input.messages` and `gen_ai.output.messages` have them, for keys whose operator wants
 * to see content. The request is as guardrails have left it, and of media there is only the kind.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { Item, Part } from '../../dialects/canon/request.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { SaidBlock, SaidTap } from '../../pipeline/reply/said-tap.ts'
import type { SpanWriter } from '../../services/telemetry/otlp.ts'

/** Characters of all messages of a request; of those that are too many the last ones are kept. */
const LONGEST = 16 * 1024

/** Of a call that has answered. @param reason how the answer ended, in the words of the conventions. */
export function writeContent(spans: SpanWriter, { request }: Exchange, said: SaidTap, reason: string): void {
  if (!request) return
  const input = new Budget()
  const messages: JsonObject[] = []
  for (const item of request.canonical().items.toReversed()) {
    const message = messageOf(item, input)
    if (message) messages.unshift(message)
    if (input.left === 0) break
  }
  spans.attribute('gen_ai.input.messages', JSON.stringify(messages))
  const parts = [...said.blocks.values()].flatMap(partsOfAnswer)
  spans.attribute('gen_ai.output.messages', JSON.stringify([{ role: 'assistant', parts, finish_reason: reason }]))
  if (said.cut || input.cut) spans.attribute('headgate.content.cut', true)
}

/** Characters that are left. */
class Budget {
  left = LONGEST
  cut = false

  take(text: string): string {
    if (text.length > this.left) this.cut = true
    const kept = text.slice(0, this.left)
    this.left -= kept.length
    return kept
  }
}

function messageOf(item: Item, budget: Budget): JsonObject | undefined {
  switch (item.kind) {
    case 'message':
      return { role: item.role, parts: partsOf(item.parts, budget) }
    case 'reasoning':
      return item.text === undefined ? undefined : { role: 'assistant', parts: [{ type: 'reasoning', content: budget.take(item.text) }] }
    case 'call':
      return {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: item.callId, name: item.name, arguments: budget.take(item.args) }],
      }
    case 'result':
      return { role: 'tool', parts: [{ type: 'tool_call_response', id: item.callId, response: budget.take(textsOf(item.parts)) }] }
    default:
      return undefined
  }
}

function partsOf(parts: readonly Part[], budget: Budget): Json[] {
  return parts.map((part): Json => {
    if (part.kind === 'text' || part.kind === 'refusal') return { type: 'text', content: budget.take(part.text) }
    return { type: part.kind }
  })
}

const textsOf = (parts: readonly Part[]): string => parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')

function partsOfAnswer({ kind, name, id, text }: SaidBlock): JsonObject[] {
  if (kind === 'call') return [{ type: 'tool_call', id: id ?? '', name: name ?? '', arguments: text }]
  if (text === '') return []
  return [{ type: kind === 'reasoning' || kind === 'summary' ? 'reasoning' : 'text', content: text }]
}
