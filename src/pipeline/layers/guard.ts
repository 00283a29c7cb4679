/** 7. Input guardrails: what a key's policy forbids never reaches a provider, and what it hides goes out hidden. */
import { asFault, Fault } from '../../core/faults.ts'
import {
  blockFault,
  engineFault,
  engineStage,
  itemPassages,
  type Passage,
  passages,
  rewrite,
  Scan,
  silentStage,
  stagesOf,
  TextPolicy,
} from '../../guardrails/index.ts'
import type { Resolved } from '../../plugin-api/exchange.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Exchange } from '../exchange.ts'
import { redactInputs } from '../guardrail-inputs.ts'
import { holdsFor } from '../guardrail-terms.ts'
import type { GuardrailSetting } from '../parts.ts'
import type { At, Layer } from '../reply.ts'

/** What holds for one key, compiled once. */
interface Watch {
  readonly policy: TextPolicy | undefined
  /** Guardrails that ask an engine. */
  readonly asking: readonly GuardrailSetting[]
}

/** Milliseconds for which one request may keep the event loop. */
const TURN = 8
/** Texts that surely take less. */
const SHORT = 16_384

export function guard(guardrails: readonly GuardrailSetting[]): Layer<At<Resolved>> {
  const watchOf = watches(guardrails)
  return (next) =>
    watchOf === undefined
      ? next
      : function guarded(exchange) {
          const watch = watchOf(exchange.key)
          if (watch === undefined) return next(exchange)
          const checked = check(exchange, watch, () => passages(exchange.request()))
          if (checked) return checked.then(() => next(exchange))
          return next(exchange)
        }
}

/**
 * Reads what later layers have added to the request, such as the results of server tools: it stands below them, and is
 * passed by every turn. What the model itself wrote is not read (contract section 9, C-161).
 */
export function guardAdditions(guardrails: readonly GuardrailSetting[]): Layer<At<Resolved>> {
  const watchOf = watches(guardrails)
  return (next) =>
    watchOf === undefined
      ? next
      : function guardedAgain(exchange) {
          const before = exchange.guarded
          const watch = before && exchange.edits.length > before.edits ? watchOf(exchange.key) : undefined
          if (!before || !watch) return next(exchange)
          const checked = check(exchange, watch, () => added(exchange, before.items))
          if (checked) return checked.then(() => next(exchange))
          return next(exchange)
        }
}

function* added(exchange: Exchange, known: WeakSet<object>): Generator<Passage> {
  for (const item of exchange.request().items) {
    const written = item.kind === 'reasoning' || (item.kind === 'message' && item.role === 'assistant')
    if (!known.has(item) && !written) yield* itemPassages(item)
  }
}

/** False for a guardrail that only bounds models, endpoints or spend. */
export function readsTexts({ rules, engine }: GuardrailSetting): boolean {
  return rules.length > 0 || engine !== undefined
}

/** @returns undefined where no guardrail reads texts, for any key. */
function watches(guardrails: readonly GuardrailSetting[]): ((key: ApiKey) => Watch | undefined) | undefined {
  const reading = guardrails.filter(readsTexts)
  if (reading.length === 0) return undefined
  const known = new WeakMap<ApiKey, Watch | null>()
  return (key) => {
    let watch = known.get(key)
    if (watch === undefined) {
      const own = reading.filter((guardrail) => holdsFor(guardrail, key))
      const rules = own.flatMap((guardrail) => guardrail.rules)
      const policy = rules.length > 0 ? new TextPolicy(rules) : undefined
      watch = own.length === 0 ? null : { policy, asking: own.filter(({ engine }) => engine !== undefined) }
      known.set(key, watch)
    }
    return watch ?? undefined
  }
}

/** @returns a promise only where there is much to read, or an engine to ask. @throws Fault 403. */
function check(exchange: Exchange, watch: Watch, texts: () => Iterable<Passage>): Promise<void> | undefined {
  const asking = watch.asking.length > 0 ? () => ask(exchange, watch.asking, texts) : undefined
  if (!watch.policy) {
    remember(exchange)
    return asking?.()
  }
  const scan = new Scan(watch.policy)
  const steps = scan.read(texts())
  const done = (): Promise<void> | undefined => {
    act(exchange, scan)
    return asking?.()
  }
  if (exchange.bodyBytes <= SHORT) while (!steps.next().done);
  else if (!ended(steps, exchange)) return rest(steps, exchange).then(done)
  return done()
}

/** Takes steps until the time of this turn is over. */
function ended(steps: Generator<void, void>, { clock }: Exchange): boolean {
  const until = clock.monotonic() + TURN
  for (;;) {
    if (steps.next().done) return true
    if (clock.monotonic() >= until) return false
  }
}

async function rest(steps: Generator<void, void>, exchange: Exchange): Promise<void> {
  do {
    await new Promise((resolve) => setImmediate(resolve))
    if (exchange.cancel.aborted) throw asFault(exchange.cancel.reason instanceof Fault ? exchange.cancel.reason : new Fault('client_gone'))
  } while (!ended(steps, exchange))
}

function act(exchange: Exchange, scan: Scan): void {
  if (scan.hits.size > 0) {
    const hits = [...scan.hits.values()]
    exchange.stages.push(...stagesOf(hits))
    const fault = blockFault(hits)
    if (fault) throw fault
    redact(exchange, scan.replaced)
  }
  remember(exchange)
}

function redact(exchange: Exchange, replaced: ReadonlyMap<string, string>): void {
  if (replaced.size === 0) return
  const replace = (text: string): string | undefined => replaced.get(text)
  exchange.edit('guard', (draft) => rewrite(draft, replace))
  if (exchange.client.embedding) redactInputs(exchange, replace)
}

function remember(exchange: Exchange): void {
  exchange.guarded = { edits: exchange.edits.length, items: new WeakSet(exchange.request().items) }
}

/** One after the other: each reads what the one before has left. */
async function ask(exchange: Exchange, guardrails: readonly GuardrailSetting[], texts: () => Iterable<Passage>): Promise<void> {
  for (const guardrail of guardrails) {
    const { engine, name } = guardrail
    const found = [...texts()].flatMap((passage) => passage.texts)
    if (!engine || found.length === 0) continue
    const question = {
      texts: [...new Set(found)],
      guardrail: name,
      key: exchange.key.name,
      model: exchange.requested,
      direction: 'input' as const,
    }
    const context = { clock: exchange.clock, onAbort: (fn: () => void) => exchange.cancel.onAbort(fn) }
    const verdict = await engine.ask(question, context).catch((cause: unknown) => {
      if (exchange.cancel.aborted) throw exchange.cancel.reason instanceof Fault ? exchange.cancel.reason : new Fault('client_gone')
      exchange.stages.push(silentStage(guardrail, engine.name))
      if (engine.open) return undefined
      throw new Fault('unavailable', { message: `The guardrail ${name} could not be asked, and nothing passes without it`, cause })
    })
    const stage = verdict && engineStage(guardrail, engine.name, verdict)
    if (!verdict || !stage) continue
    exchange.stages.push(stage)
    const fault = engineFault(verdict)
    if (fault) throw fault
    redact(exchange, verdict.replaced)
  }
  remember(exchange)
}
