/** Guardrails: block a request, redact its texts before they reach a provider, and have the answer read where they apply to it. */

import { isObject, type Json } from '../../core/json.ts'
import {
  AnswerPolicy,
  blockFault,
  hitStages,
  itemPassages,
  jsonTexts,
  type Passage,
  passages,
  type Rule,
  rewrite,
  Scan,
  TextPolicy,
  Vault,
} from '../../guardrails/index.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Guarded, Routed } from '../exchange.ts'
import type { Layer, Service } from '../layer.ts'
import type { OutputGuardrails } from '../records.ts'
import { endedEarly } from '../reply/final-fault.ts'
import { askEngine } from './engines.ts'
import type { GuardrailSetting } from './guardrail-setting.ts'
import { holdsFor } from './guardrail-terms.ts'

/** Guardrails of one key, compiled once. */
interface Watch {
  readonly policy: TextPolicy | undefined
  /** Guardrails that call an engine. */
  readonly asking: readonly GuardrailSetting[]
  /** Something that is hidden comes back in the answer. */
  readonly restores: boolean
  readonly answers: OutputGuardrails | undefined
}

/** Milliseconds for which one request may keep the event loop. */
const TURN = 5
/** Texts that surely take less. */
const SHORT = 16_384

export function guardLayer(guardrails: readonly GuardrailSetting[]): Layer<Routed, Guarded> {
  const createWatch = watches(guardrails)
  return (next) =>
    createWatch === undefined
      ? // It begins so.
        (next as Service<Routed>)
      : function handle(exchange) {
          const watch = createWatch(exchange.auth.key)
          if (watch === undefined) return next(exchange as Guarded)
          const { request } = exchange
          // Vectors have no texts.
          const answers = request.client.embedding ? undefined : watch.answers
          const vault = watch.restores && !request.client.embedding ? new Vault(() => requestTexts(exchange)) : undefined
          const watched = Object.assign(exchange, { guard: { answers, vault, read: undefined } })
          if (!readsRequests(watch)) return next(watched)
          // Files that the body only names are not among its bytes.
          const short = request.bytes <= SHORT && !request.edited
          const checked = check(watched, watch, { texts: () => passages(request.canonical()), short })
          if (checked) return checked.then(() => next(watched))
          return next(watched)
        }
}

/**
 * Reads what later layers have added to the request, such as the results of server tools: it stands below them, and is
 * passed by every turn. What the model itself wrote is not read (docs/contract.md#guardrails).
 */
export function guardAdditions(guardrails: readonly GuardrailSetting[]): Layer<Guarded> {
  const createWatch = watches(guardrails)
  return (next) =>
    createWatch === undefined
      ? next
      : function guardedAgain(exchange) {
          const before = exchange.guard.read
          const watch = before && exchange.request.edits.length > before.edits ? createWatch(exchange.auth.key) : undefined
          if (!before || !watch || !readsRequests(watch)) return next(exchange)
          // How much a tool or a plugin has brought is not known.
          const checked = check(exchange, watch, { texts: () => added(exchange, before.items), short: false })
          if (checked) return checked.then(() => next(exchange))
          return next(exchange)
        }
}

function readsRequests({ policy, asking }: Watch): boolean {
  return policy !== undefined || asking.length > 0
}

/** All texts of a request: placeholders must not be among them. */
function* requestTexts(exchange: Routed): Generator<string> {
  for (const { texts } of passages(exchange.request.canonical())) yield* texts
  yield* jsonTexts(exchange.request.body)
}

function* added(exchange: Guarded, known: WeakSet<object>): Generator<Passage> {
  for (const item of exchange.request.canonical().items) {
    const written = item.kind === 'reasoning' || (item.kind === 'message' && item.role === 'assistant')
    if (!known.has(item) && !written) yield* itemPassages(item)
  }
}

/** False for a guardrail that only bounds models, endpoints or spend, or reads answers alone. */
export function readsTexts(guardrail: GuardrailSetting): boolean {
  return guardrail.settings.direction !== 'output' && looksAtTexts(guardrail)
}

/** True for a guardrail that reads what models answer. */
export function readsAnswers(guardrail: GuardrailSetting): boolean {
  return guardrail.settings.direction !== 'input' && looksAtTexts(guardrail)
}

function looksAtTexts({ rules, engine }: GuardrailSetting): boolean {
  return rules.length > 0 || engine !== undefined
}

/** @returns undefined where no guardrail reads texts, for any key. */
function watches(guardrails: readonly GuardrailSetting[]): ((key: ApiKey) => Watch | undefined) | undefined {
  const reading = guardrails.filter(looksAtTexts)
  if (reading.length === 0) return undefined
  const known = new WeakMap<ApiKey, Watch | null>()
  /** Keys for which the same holds share what reads their texts. */
  const shared = new Map<string, Watch>()
  // What is shared by all is compiled before the first request comes.
  createWatch(reading, shared)
  return (key) => {
    let watch = known.get(key)
    if (watch === undefined) {
      const own = reading.filter((guardrail) => holdsFor(guardrail, key))
      watch = own.length === 0 ? null : createWatch(own, shared)
      known.set(key, watch)
    }
    return watch ?? undefined
  }
}

function createWatch(own: readonly GuardrailSetting[], shared: Map<string, Watch>): Watch {
  const name = own.map(({ id }) => id).join('\n')
  let watch = shared.get(name)
  if (!watch) {
    watch = newWatch(own)
    shared.set(name, watch)
  }
  return watch
}

function newWatch(own: readonly GuardrailSetting[]): Watch {
  const requests = own.filter(readsTexts)
  const rules = requests.flatMap(({ rules, settings: { restore } }) =>
    restore ? rules.map((rule): Rule => ({ ...rule, restore })) : rules,
  )
  return {
    policy: rules.length > 0 ? new TextPolicy(rules) : undefined,
    asking: requests.filter(({ engine }) => engine !== undefined),
    restores: rules.some(({ restore, action }) => restore === true && action === 'redact'),
    answers: answerGuardrails(own.filter(readsAnswers)),
  }
}

function answerGuardrails(own: readonly GuardrailSetting[]): OutputGuardrails | undefined {
  if (own.length === 0) return undefined
  const policy = new AnswerPolicy(own.flatMap(({ rules }) => rules))
  const asking = own.filter(({ engine }) => engine !== undefined)
  if (policy.groups.length === 0 && asking.length === 0) return undefined
  return { policy: policy.groups.length > 0 ? policy : undefined, asking }
}

interface Reading {
  texts: () => Iterable<Passage>
  /** It surely takes little time. */
  short: boolean
}

/** @returns a promise only where there is much to read, or an engine to call. @throws Fault 403. */
function check(exchange: Guarded, watch: Watch, { texts, short }: Reading): Promise<void> | undefined {
  const asking = watch.asking.length > 0 ? () => ask(exchange, watch.asking, texts) : undefined
  if (!watch.policy) {
    remember(exchange)
    return asking?.()
  }
  const scan = new Scan(watch.policy, exchange.guard.vault)
  const steps = scan.read(texts())
  const done = (): Promise<void> | undefined => {
    act(exchange, scan)
    return asking?.()
  }
  if (short) while (!steps.next().done);
  else if (!ended(steps, exchange)) return rest(steps, exchange).then(done)
  return done()
}

/** Takes steps until the time of this turn is over. */
function ended(steps: Generator<void, void>, { head: { clock } }: Guarded): boolean {
  const until = clock.monotonic() + TURN
  for (;;) {
    if (steps.next().done) return true
    if (clock.monotonic() >= until) return false
  }
}

async function rest(steps: Generator<void, void>, exchange: Guarded): Promise<void> {
  do {
    await new Promise((resolve) => setImmediate(resolve))
    if (exchange.head.cancel.aborted) throw endedEarly(exchange, [])
  } while (!ended(steps, exchange))
}

function act(exchange: Guarded, scan: Scan): void {
  if (scan.hits.size > 0) {
    const hits = [...scan.hits.values()]
    exchange.history.stages.push(...hitStages(hits))
    const fault = blockFault(hits)
    if (fault) throw fault
    redact(exchange, scan.replaced)
  }
  remember(exchange)
}

function redact(exchange: Guarded, replaced: ReadonlyMap<string, string>): void {
  if (replaced.size === 0) return
  const replace = (text: string): string | undefined => replaced.get(text)
  exchange.request.edit('guard', (draft) => rewrite(draft, replace))
  if (exchange.request.client.embedding) redactInputs(exchange, replace)
}

function remember(exchange: Guarded): void {
  const read = { edits: exchange.request.edits.length, items: new WeakSet(exchange.request.canonical().items) }
  Object.assign(exchange, { guard: { ...exchange.guard, read } })
}

/** One after the other: each reads what the one before has left. */
async function ask(exchange: Guarded, guardrails: readonly GuardrailSetting[], texts: () => Iterable<Passage>): Promise<void> {
  for (const guardrail of guardrails) {
    const found = [...texts()].flatMap((passage) => passage.texts)
    const verdict = await askEngine(exchange, guardrail, found, 'input')
    if (!verdict) continue
    redact(exchange, verdict.replaced)
  }
  remember(exchange)
}

/** Embeddings are read from the body itself: what guardrails hide is hidden there, too. @param replace what stands in place of a text; undefined where it stays. */
function redactInputs(exchange: Guarded, replace: (text: string) => string | undefined): void {
  const { body } = exchange.request
  exchange.request.replaceBody({ ...body, input: withTexts(body.input ?? null, replace) })
}

/** An input is a text, a list of texts, or a list of objects with parts. */
function withTexts(value: Json, replace: (text: string) => string | undefined): Json {
  if (typeof value === 'string') return replace(value) ?? value
  if (Array.isArray(value)) return value.map((each) => withTexts(each, replace))
  if (!isObject(value)) return value
  if (Array.isArray(value.content)) return { ...value, content: value.content.map((each) => withTexts(each, replace)) }
  return typeof value.text === 'string' ? { ...value, text: replace(value.text) ?? value.text } : value
}
