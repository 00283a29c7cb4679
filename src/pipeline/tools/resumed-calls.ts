/** Calls of an earlier reply that waited for the caller: they go on before the first turn. */

import { Fault } from '../../core/faults.ts'
import type { Item } from '../../dialects/canon/request.ts'
import type { Exchange } from '../exchange.ts'
import { EventPath } from '../reply/event-path.ts'
import { ReplyStream } from '../reply/reply-stream.ts'
import type { Reply } from '../reply.ts'
import type { CallOutput } from './tool-turn.ts'

/**
 * Shows what came of them and tells the model, as soon as there is a turn.
 * @returns a reply where one of them waits for the caller again: there is no turn then.
 */
export async function resumed(exchange: Exchange, outputs: readonly CallOutput[]): Promise<Reply | undefined> {
  exchange.opening = [...(exchange.opening ?? []), ...outputs.flatMap(({ outcome }) => outcome.shown ?? [])]
  if (outputs.some(({ outcome }) => outcome.handOver)) return await replyWithoutTurn(exchange)
  const byCall = new Map<string, CallOutput>()
  // Of two calls with one id the first counts.
  for (const output of outputs) if (!byCall.has(output.call.id)) byCall.set(output.call.id, output)
  exchange.edit('server-tools', (draft) => {
    draft.items = draft.items.flatMap((item) => withResult(item, byCall))
  })
  return undefined
}

/** A result stands behind its call, whatever the caller has said since. */
function withResult(item: Item, outputs: ReadonlyMap<string, CallOutput>): Item[] {
  const answered = item.kind === 'call' ? outputs.get(item.callId) : undefined
  if (!answered) return [item]
  const { call, outcome } = answered
  const parts = [{ kind: 'text' as const, text: outcome.output }]
  return [item, { kind: 'result', callId: call.id, parts, error: outcome.status === 'failed' }]
}

/** The turns that there were are those of the tools; the books have them. One that came to nothing does not speak for the others. */
async function replyWithoutTurn(exchange: Exchange): Promise<Reply> {
  const turn = exchange.books.turns.findLast(({ usage, fault, refused, aborted }) => usage && !fault && !refused && !aborted)
  if (!turn) throw new Fault('internal', { cause: new Error('a call was handed over that nobody has made') })
  exchange.path ??= new EventPath(exchange)
  const { path } = exchange
  let text = ''
  let fault: Fault | undefined
  path.late = {
    text: (more) => {
      text += more
    },
    fail: (thrown) => {
      fault = thrown
    },
  }
  text += path.push([]) + path.close()
  if (path.pending) await path.pending
  if (path.refusal ?? fault) throw path.refusal ?? fault
  if (exchange.stream) {
    exchange.reply ??= new ReplyStream(exchange, { 'X-Generation-Id': exchange.id }, exchange.silence)
    exchange.reply.prepare(undefined)
    exchange.reply.open()
    exchange.reply.write(text, false)
  }
  return { turn, finish: (final) => path.finish(final) }
}
