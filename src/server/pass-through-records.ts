/** Records of each request of the pass-through beside its row: spans, and a line in the log. */
import type { RefusalLog } from '../cluster/refusal-log.ts'
import type { Clock } from '../core/clock.ts'
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import type { PassThroughSource } from '../pipeline/pass-through/handler.ts'
import type { Telemetry } from '../services/telemetry/telemetry.ts'
import { AccessLog } from './access-log.ts'
import { refusedPassThrough } from './refusals.ts'
import { PassThroughSpans } from './traces/pass-through-spans.ts'

export function passThroughRecords(
  telemetry: Pick<Telemetry, 'tracing'>,
  { logs, clock, store }: { logs: LogSink; clock: Clock; store: { readonly refusals: Pick<RefusalLog, 'note'> } },
): Pick<PassThroughSource, 'spans' | 'line'> {
  const line = createLines(logs, clock)
  const note = refusedPassThrough(store.refusals)
  return {
    spans: new PassThroughSpans(telemetry, clock),
    line: (seen, address) => {
      line(seen, address)
      note(seen)
    },
  }
}

/** The path, the query and the body of a request are in no line. */
function createLines(logs: LogSink, clock: Clock): PassThroughSource['line'] {
  const access = new AccessLog(logs)
  return ({ id, key, provider, cost, started, end: { status, fault }, trace }, address) => {
    const isOurs = fault?.code === 'internal'
    const line = {
      level: isOurs ? 50 : 30,
      time: clock.now(),
      gen: id,
      key: key?.name ?? '',
      client: 'passage',
      // What broke off had begun with the status of the provider.
      status: fault?.status ?? status ?? 0,
      fault: fault?.code,
      provider: provider?.slug,
      provider_status: status ?? undefined,
      ms: Math.round(clock.monotonic() - started),
      cost_nano: cost,
      trace_id: trace?.traceId,
      cause: isOurs ? stackWithoutMessage(fault.cause) : fault?.reason,
      msg: 'pass-through',
    }
    access.write(line, address)
  }
}
