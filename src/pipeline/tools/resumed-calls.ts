/** Calls of an earlier reply that waited for the caller: they go on before the first turn. */

import { Fault } from '../../core/faults.ts'
import type { Item } from '../../dialects/canon/request.ts'
import type { Guarded } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { EventPath } from '../reply/event-path.ts'
import { ReplyStream } from '../reply/reply-stream.ts'
import type { CallOutput } from './tool-turn.ts'

/**
 * Shows their results, and adds them to the request for the next turn of the model.
 * @returns a reply where one of them waits for the caller again: there is no turn then.
 */
export async function resumed(exchange: Guarded, outputs: readonly CallOutput[]): Promise<Reply | undefined> {
  exchange.run.opening = [...(exchange.run.opening ?? []), ...outputs.flatMap(({ outcome }) => outcome.shown ?? [])]
  if (outputs.some(({ outcome }) => outcome.handOver)) return await replyWithoutTurn(exchange)
  const byCall = new Map<string, CallOutput>()
  // Of two calls with one id the first counts.
  for (const output of outputs) if (!byCall.has(output.call.id)) byCall.set(output.call.id, output)
  exchange.request.edit('server-tools', (draft) => {
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

/** Replies in the name of the last turn of the tools that succeeded, since the request itself has had no turn. */
async function replyWithoutTurn(exchange: Guarded): Promise<Reply> {
  const turn = exchange.head.books.turns.findLast(({ usage, fault, refused, aborted }) => usage && !fault && !refused && !aborted)
  if (!turn) throw new Fault('internal', { cause: new Error('a call was handed over that no turn has made') })
  exchange.run.path ??= new EventPath(exchange)
  const {
    run: { path },
  } = exchange
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
  if (exchange.request.stream) {
    exchange.run.reply ??= new ReplyStream(exchange, { 'X-Generation-Id': exchange.head.id }, exchange.run.silence)
    exchange.run.reply.prepare(undefined)
    exchange.run.reply.open()
    exchange.run.reply.write(text, false)
  }
  return { turn, finish: (final) => path.finish(final) }
}
