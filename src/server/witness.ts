/** What is told of an exchange once it is over: the metrics and one log line. */
import type { Fault } from '../core/faults.ts'
import type { Log } from '../core/log.ts'
import type { Witness } from '../pipeline/parts.ts'
import type { Metrics } from './metrics.ts'

export function witnessWith(metrics: Metrics, log: Log): Witness {
  return (exchange, { status, fault, lane }) => {
    const { clock, final, books } = exchange
    const elapsed = clock.monotonic() - exchange.started
    const endpoint = exchange.committedEndpoint
    const usage = final?.usage
    const firstEvent = exchange.firstContentAt === 0 ? -1 : exchange.firstContentAt - exchange.started
    metrics.exchange({
      client: exchange.client.id,
      status,
      lane: lane ?? 'none',
      provider: endpoint?.provider.slug ?? '',
      model: endpoint?.model.slug ?? '',
      tokensIn: usage?.input ?? 0,
      tokensOut: usage?.output ?? 0,
      costNano: final?.cost ?? 0,
      firstEventMs: firstEvent,
      addedMs: books.turns.length > 0 ? Math.max(0, elapsed - exchange.upstreamMs) : -1,
    })
    const line = {
      gen: exchange.id,
      key: exchange.key.name,
      client: exchange.client.id,
      status,
      fault: fault?.code,
      model: endpoint?.model.slug ?? (exchange.models[0]?.slug || undefined),
      provider: endpoint?.provider.slug,
      lane,
      stream: exchange.stream,
      attempts: exchange.attempts.length,
      ms: Math.round(elapsed),
      first_ms: firstEvent < 0 ? undefined : Math.round(firstEvent),
      in: usage?.input,
      out: usage?.output,
      cost_nano: final?.cost,
    }
    if (fault?.code === 'internal') log.error({ ...line, cause: causeOf(fault) }, 'exchange')
    else log.info(line, 'exchange')
  }
}

/** Where an error of our own came from: its name and stack, not its message, which may quote a request. */
export function causeOf(fault: Fault): string {
  const { cause } = fault
  if (!(cause instanceof Error)) return String(typeof cause)
  const frames = (cause.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  return [cause.name, ...frames].join('\n')
}
