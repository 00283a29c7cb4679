/** The end of a request that generates nothing: a caller continues from it later (`generate: false` of OpenAI's guide "WebSocket mode"). */
import { entryAt } from '../../core/entry-at.ts'
import { answeredHere } from '../attempt/turn.ts'
import type { Guarded } from '../exchange.ts'
import type { Service } from '../layer.ts'
import { ReplyStream } from './reply-stream.ts'

/** Answers with a whole stream without content, free of charge: no provider is called. */
export function prepareResponse(): Service<Guarded> {
  return async function handle(exchange) {
    const { run, route, request, head } = exchange
    const endpoint = entryAt(route.endpoints, 0)
    run.ctx.model = endpoint.model.slug
    run.final = {
      usage: head.costs.noUsage,
      cost: 0,
      inputCost: 0,
      outputCost: 0,
      end: { reason: 'stop' },
      completedAt: Math.floor(head.clock.now() / 1000),
    }
    run.reply = new ReplyStream(exchange)
    const encoder = request.client.streamEncoder(run.ctx)
    return { turn: answeredHere(endpoint), finish: (final) => encoder.finish(final) }
  }
}
