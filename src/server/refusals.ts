/** Which requests count as refused by the gateway itself, and what is kept of each. */
import type { RefusalLog } from '../cluster/refusal-log.ts'
import { FAULTS, type Fault } from '../core/faults.ts'
import { isObject, type Json } from '../core/json.ts'
import { RefusedToken } from '../core/token-refusals.ts'
import type { ExchangeRecorder } from '../pipeline/dependencies.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { PassThroughSeen } from '../pipeline/pass-through/handler.ts'
import { UnusableKey } from '../pipeline/request/authenticate.ts'

type Refusals = Pick<RefusalLog, 'note'>

/** Of what a pass-through has no client format of ours for. */
const PASS_THROUGH = 'pass-through'

/** Notes what ends with a fault before it has a row of the ledger. */
export function refusedExchange(refusals: Refusals): ExchangeRecorder {
  return (exchange, end) => {
    const { fault } = end
    if (fault && exchange.head.costs.heldAt === undefined)
      noteRefusal(refusals, fault, {
        id: exchange.head.id,
        key: (exchange.auth?.key ?? end.key)?.identity,
        operation: exchange.run.client.id,
        model: namedModel(exchange),
      })
  }
}

/** Notes requests of the pass-through that have no row either: what has one has an id. */
export function refusedPassThrough(refusals: Refusals): (seen: PassThroughSeen) => void {
  return ({ id, key, end: { fault } }) => {
    if (fault && id === undefined) noteRefusal(refusals, fault, { id: '', key: key?.identity, operation: PASS_THROUGH, model: null })
  }
}

interface RefusedCall {
  readonly id: string
  readonly key?: string | undefined
  readonly operation: string
  readonly model: string | null
}

/** A caller who left, and a gateway that stops, refuse nothing. */
const NO_REFUSALS: ReadonlySet<string> = new Set(['client_gone', 'shutdown'])

export function noteRefusal(refusals: Refusals, fault: Fault, { id, key, operation, model }: RefusedCall): void {
  const { code, status, type, origin, metadata } = fault
  if (NO_REFUSALS.has(code)) return
  const unusable = fault instanceof UnusableKey ? fault : undefined
  refusals.note({
    id,
    key: key ?? unusable?.key.identity ?? '',
    reason: unusable?.why ?? (fault instanceof RefusedToken ? fault.why : code),
    status,
    type,
    limit: limitWords(metadata?.limit),
    operation,
    model,
    field: typeof metadata?.field === 'string' ? metadata.field : null,
    // The words of a provider may repeat the request.
    message: origin === 'upstream' ? FAULTS[code].message : fault.message,
  })
}

/** Of the words that the gateway has for limits, so there are few; names of keys are not among them. */
function limitWords(limit: Json | undefined): string | undefined {
  if (!isObject(limit)) return undefined
  return [limit.scope, limit.kind, limit.per].map((word) => (typeof word === 'string' ? word : '-')).join(' ')
}

function namedModel({ request }: Exchange): string | null {
  return request?.gateway.requested ?? request?.gateway.model ?? request?.gateway.models[0] ?? null
}

/** Counts what is refused under overload before it is known whose it is. */
export function shedInto(refusals: Refusals): (fault: Fault) => void {
  return (fault) => noteRefusal(refusals, fault, { id: '', operation: '', model: null })
}
