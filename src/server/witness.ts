/** Records an exchange once it is over: the metrics, one log line, and events for operators. */
import type { AuditTrail } from '../cluster/audit-trail.ts'
import type { LiveFigures } from '../core/live-figures.ts'
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import { type AccessSettings, accessTemplate, logfmt } from '../core/log-settings.ts'
import { counter, type Tallies } from '../core/metrics.ts'
import { closed, open } from '../core/tallies.ts'
import type { Witness } from '../pipeline/dependencies.ts'
import { clientOf, type Exchange } from '../pipeline/exchange.ts'
import { findingsOf } from '../pipeline/guard/guardrail-findings.ts'
import type { BudgetWatch, EventSources } from '../services/events/index.ts'
import { ExchangeMetrics } from './exchange-metrics.ts'
import { logLine } from './log-line.ts'
import type { ExchangeSpans } from './traces/exchange-spans.ts'

const guardrailHits = counter(
  'guardrail_hits_total',
  'Requests in which a guardrail found something, by what it did: flagged, redacted, blocked, or unchecked where its engine did not answer.',
  { labels: [open('guardrail'), closed('action'), closed('direction')], limit: 600 },
)

const answerChecks = counter(
  'answer_checks_total',
  'Answers checked against the form that the request demanded, since the provider does not see to it. `verdict` is fits, misfit, no_json or unchecked.',
  { labels: [open('provider'), closed('verdict')], limit: 160 },
)

export interface Recorders {
  /** Takes what guardrails found, without waiting for anything. */
  readonly audit?: Pick<AuditTrail, 'note'>
  readonly spans?: Pick<ExchangeSpans, 'record' | 'telemetry'>
  /** Counts what an operator watches. */
  readonly live?: Pick<LiveFigures, 'count'>
}

export function witnessWith(tallies: Tallies, logs: LogSink, { audit, live, spans }: Recorders = {}): Witness {
  const exchanges = new ExchangeMetrics(tallies)
  const access = new AccessLog(logs)
  return (exchange, end) => {
    const { status, fault, lane } = end
    const { head, run, auth, request } = exchange
    const { clock, costs } = head
    const { final } = run
    const client = clientOf(exchange).id
    const elapsed = clock.monotonic() - head.started
    const endpoint = run.committedEndpoint
    const usage = final?.usage
    const firstEvent = run.firstContentAt === 0 ? -1 : run.firstContentAt - head.started
    exchanges.count({
      client,
      status,
      lane: lane ?? 'none',
      provider: endpoint?.provider.slug ?? '',
      model: endpoint?.model.slug ?? '',
      tokensIn: usage?.input ?? 0,
      tokensOut: usage?.output ?? 0,
      costNano: final?.cost ?? 0,
      firstEventMs: firstEvent,
      addedMs: costs.turns.length > 0 ? Math.max(0, elapsed - run.upstreamMs) : -1,
    })
    live?.count({
      status,
      failed: status >= 500 || (status < 400 && fault !== undefined && fault.code !== 'client_gone'),
      provider: (endpoint ?? exchange.trail.attempts.at(-1)?.at)?.provider.slug ?? '',
      tokensIn: usage?.input ?? 0,
      tokensOut: usage?.output ?? 0,
      costNano: final?.cost ?? 0,
      elapsedMs: elapsed,
      firstEventMs: firstEvent,
    })
    if (exchange.trail.stages.length > 0) {
      const findings = findingsOf(exchange.trail.stages)
      for (const { guardrail, action, direction } of findings) tallies.of(guardrailHits).series(guardrail, action, direction).add()
      if (findings.length > 0) {
        const where = { at: Math.floor(clock.now()), generation: head.id, key: auth?.key.identity ?? '' }
        audit?.note(findings.map((finding) => ({ ...where, ...finding })))
      }
    }
    const check = exchange.trail.attempts.at(-1)?.answerCheck?.verdict
    if (check)
      tallies
        .of(answerChecks)
        .series(endpoint?.provider.slug ?? '', check)
        .add()
    if (spans && (spans.telemetry.tracing || spans.telemetry.measures)) spans.record(exchange, end)
    const { trace } = exchange.trail
    const model = endpoint?.model.slug ?? (exchange.route?.models ?? exchange.wish?.models)?.[0]?.slug
    const line = {
      level: fault?.code === 'internal' ? 50 : 30,
      time: clock.now(),
      gen: head.id,
      key: auth?.key.name ?? '',
      client,
      status,
      fault: fault?.code,
      model,
      requested: requestedName(request, model),
      provider: endpoint?.provider.slug,
      lane,
      stream: request?.stream ?? false,
      attempts: exchange.trail.attempts.length,
      ms: Math.round(elapsed),
      first_ms: firstEvent < 0 ? undefined : Math.round(firstEvent),
      answer_check: check,
      in: usage?.input,
      out: usage?.output,
      cost_nano: final?.cost,
      trace_id: trace?.traceId,
      span_id: trace?.spanId,
      cause: fault?.code === 'internal' ? stackWithoutMessage(fault.cause) : undefined,
      msg: 'exchange',
    }
    access.write(line, exchange)
  }
}

/** Writes the line of an exchange in the form that the settings state. */
class AccessLog {
  private readonly logs: LogSink
  private template: { format: string; write: (fields: Readonly<Record<string, unknown>>) => string } | undefined

  constructor(logs: LogSink) {
    this.logs = logs
  }

  write(line: { status: number; fault: string | undefined }, exchange: Exchange): void {
    const { access, format } = this.logs.settings
    if (!isWanted(line, access)) return
    const form = access.format ?? format
    if (form === 'json') this.logs.line(`${logLine(line)}\n`)
    else this.logs.line(this.formatted(line, exchange, form), () => `${logLine(line)}\n`)
  }

  private formatted(line: object, { head }: Exchange, form: string): string {
    if (form === 'logfmt' || form === 'journal') return logfmt({ ...line }, form === 'journal')
    if (this.template?.format !== form) this.template = { format: form, write: accessTemplate(form) }
    return this.template.write({ ...line, address: head.connection.address?.() })
  }
}

const isWanted = ({ status, fault }: { status: number; fault: string | undefined }, { lines }: AccessSettings): boolean =>
  lines === 'all' || (lines === 'failures' && (status >= 400 || fault !== undefined))

/** Characters of a name that a caller chose. */
const LONGEST_NAME = 128

/** The model as the caller named it, where that is not what the line says anyway. */
function requestedName(request: Exchange['request'], model: string | undefined): string | undefined {
  const named = request?.gateway.requested ?? request?.gateway.model ?? request?.gateway.models[0]
  return named === model ? undefined : named?.slice(0, LONGEST_NAME)
}

export interface EventRecorders {
  readonly budgets: Pick<BudgetWatch, 'charged' | 'refused'>
  readonly sources: Pick<EventSources, 'guardrailHits'>
}

/** Makes events of an exchange that is over: shares and limits of budgets, hits of guardrails. @param witness is called first. */
export function withEvents(witness: Witness, { budgets, sources }: EventRecorders): Witness {
  return (exchange, end) => {
    witness(exchange, end)
    const key = exchange.auth?.key
    if (!key) return
    if (end.fault?.code === 'no_credit') budgets.refused(key)
    // Nothing was charged before a hold was taken.
    if (key.limit !== null || key.issuer !== undefined) budgets.charged(key)
    if (exchange.trail.stages.length > 0)
      sources.guardrailHits(findingsOf(exchange.trail.stages), { key: key.identity, generation: exchange.head.id })
  }
}

/** A plan is no exchange: it is logged and left out of the metrics, which count what was served. */
export function planWitness({ log }: LogSink): Witness {
  return (exchange, { status, fault }) => {
    const line = { gen: exchange.head.id, key: exchange.auth?.key.name ?? '', client: clientOf(exchange).id, status, fault: fault?.code }
    if (fault?.code === 'internal') log.error({ ...line, cause: stackWithoutMessage(fault.cause) }, 'plan')
    else log.info(line, 'plan')
  }
}
