/** The answer of a provider inside this process: its events are written as they come, and nothing is sent. */
import { asFault } from '../../core/faults.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { LocalRun, LocalSink } from '../../dialects/local-run.ts'
import type { Encoded, Target, UpstreamDialect } from '../../dialects/types.ts'
import type { Tap } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { beginTurn } from '../reply/event-path.ts'
import { EventRelay, finishAll } from '../reply/relays.ts'
import { StreamAttempt } from './stream-attempt.ts'
import { translated, WholeAttempt } from './whole-attempt.ts'

interface LocalCall {
  readonly exchange: Planned
  readonly endpoint: Endpoint
  readonly dialect: UpstreamDialect
  readonly target: Target
  readonly observers: readonly Tap[]
}

/** Fails the attempt where taps and encoders throw: a provider inside this process would not catch it. */
function guarded(attempt: Pick<StreamAttempt | WholeAttempt, 'fail'>): (step: () => void) => void {
  return (step) => {
    try {
      step()
    } catch (thrown) {
      attempt.fail(asFault(thrown))
    }
  }
}

export function runLocal(call: LocalCall, encoded: Encoded, dependencies: ChainDependencies): Promise<Reply> {
  const { exchange, endpoint, dialect, target, observers } = call
  const path = exchange.run.path ?? beginTurn(exchange)
  const cap = dialect.cap.written(encoded.body)
  const decodeFault = dialect.decodeFault.bind(dialect)
  const show = (batch: readonly StreamEvent[]): void => {
    for (const tap of observers) for (const event of batch) tap.push(event, () => {})
  }
  if (!exchange.request.stream) {
    const attempt = new WholeAttempt(exchange, {
      endpoint,
      lane: 'translate',
      cap,
      drains: dependencies.drains,
      health: dependencies.health,
      decodeFault,
      read: () => translated([], path),
    })
    const events: StreamEvent[] = []
    const take = guarded(attempt)
    start(attempt, {
      events: (batch) =>
        take(() => {
          show(batch)
          for (const event of batch) events.push(event)
        }),
      fail: (fault) => attempt.fail(fault),
      end: () =>
        take(() => {
          finishAll(observers)
          attempt.complete(translated(events, path))
        }),
    })
    return attempt.done
  }
  const relay = new EventRelay(path)
  const attempt = new StreamAttempt(exchange, {
    endpoint,
    lane: 'translate',
    cap,
    relay,
    drains: dependencies.drains,
    health: dependencies.health,
  })
  const take = guarded(attempt)
  start(attempt, {
    events: (batch) =>
      take(() => {
        show(batch)
        attempt.relay(relay.take(batch))
      }),
    fail: (fault) => attempt.fail(fault),
    end: () => {
      take(() => finishAll(observers))
      attempt.end()
    },
  })
  return attempt.done

  function start(attempt: StreamAttempt | WholeAttempt, sink: LocalSink): void {
    // The run may answer at once: its events before its handle exists must still reach the attempt.
    const run: LocalRun | undefined = dialect.run?.(exchange.request.canonical(), target, exchange.head.clock, sink)
    attempt.flow = run
  }
}
