/**
 * A last message of the assistant is the beginning of the answer, and callers of every format get what follows it. Servers with the quirk
 * `prefill: repeated` write it into whole replies once more.
 */
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { Target } from '../../dialects/types.ts'
import type { Planned } from '../exchange.ts'

/** The text that a whole reply of the endpoint repeats; undefined for a stream, and where no beginning is given. */
export function repeatedBeginning({ request }: Planned, { quirks }: Target): string | undefined {
  if (quirks.prefill !== 'repeated' || request.stream) return undefined
  const last = request.canonical().items.at(-1)
  if (last?.kind !== 'message' || last.role !== 'assistant') return undefined
  return last.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('') || undefined
}

/** The events of a whole reply without the beginning. One whose first text does not have it stays as it is. */
export function withoutBeginning(events: readonly StreamEvent[], beginning: string): StreamEvent[] {
  const first = events.find((event) => event.type === 'block-start' && event.kind === 'text')
  if (first?.type !== 'block-start') return [...events]
  let found = false
  return events.flatMap((event) => {
    if (found || event.type !== 'block-delta' || event.block !== first.block || !event.text.startsWith(beginning)) return [event]
    found = true
    const text = event.text.slice(beginning.length)
    return text === '' ? [] : [{ ...event, text }]
  })
}
