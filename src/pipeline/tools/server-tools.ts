/** The gateway's own tools as the model sees them: functions, under names that no tool of the caller has. */
import type { JsonObject } from '../../core/json.ts'
import { allowFunctions } from '../../dialects/canon/allowed-tools.ts'
import type { CanonicalRequest, Item, ToolChoice, ToolSpec } from '../../dialects/canon/request.ts'
import type { Recalled, ServerTool, SessionTool, Tap, ToolFunction, ToolHost, ToolOutcome, ToolSession } from '../../plugin-api/index.ts'
import type { Guarded } from '../exchange.ts'
import type { FoundCall } from '../records.ts'
import { noteServerTools, type OfferDependencies, ToolStarter } from './begin-tools.ts'

export interface OfferedTool {
  /** Without the brand word. */
  name: string
  /** Of the function, as the tool itself calls it. */
  function: string
  session: ToolSession
  run(args: JsonObject, host: ToolHost, signal: AbortSignal): ToolOutcome | Promise<ToolOutcome>
}

export interface Offer {
  /** Nano-dollars that the tools may cost at most, together. */
  readonly bound: number
  /** Views of tools on the reply. */
  readonly taps: readonly Tap[]
  /** Calls of an earlier reply that go on before the first turn. */
  readonly resumes: readonly FoundCall[]
  has(name: string): boolean
  get(name: string): OfferedTool | undefined
  /** Shows the model further tools from the next turn on. */
  add(specs: readonly ToolSpec[]): void
  /** From the next turn on the model may not call anything. */
  withdraw(): void
  /** The request has ended. */
  close(): void
}

/** A tool of the request that the gateway runs, ready to be offered. */
interface Begun {
  readonly place: number
  readonly tool: ServerTool | SessionTool
  readonly session: ToolSession
}

/**
 * Replaces the server tools of a request by functions.
 * @returns a promise only where a tool has to call a server before it can be offered.
 * @throws Fault 400 naming the tool that is unknown or the parameter that does not fit.
 */
export function offerTools(exchange: Guarded, dependencies: OfferDependencies): Offer | Promise<Offer> {
  const { tools } = exchange.request.canonical()
  const starter = new ToolStarter(dependencies)
  const begun: (Begun | Promise<Begun>)[] = []
  const offer = (ready: readonly Begun[]): Offer => {
    try {
      return offered(exchange, ready)
    } catch (thrown) {
      void closeAll(ready)
      throw thrown
    }
  }
  try {
    for (const place of tools.keys()) {
      const started = starter.begin(tools, place)
      if (!started) continue
      const { tool, session } = started
      begun.push(session instanceof Promise ? session.then((ready) => ({ place, tool, session: ready })) : { place, tool, session })
    }
  } catch (thrown) {
    void closeAll(begun)
    throw thrown
  }
  if (begun.some((each) => each instanceof Promise)) return settleAll(begun).then(offer)
  return offer(begun as Begun[])
}

/** @throws what the first of them has thrown, once all have ended; the others are closed. */
async function settleAll(begun: readonly (Begun | Promise<Begun>)[]): Promise<Begun[]> {
  const outcomes = await Promise.allSettled(begun)
  const ready = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (!failed) return ready
  await closeAll(ready)
  throw failed.reason
}

/** Never rejects: a session that is still beginning is closed as soon as it has begun, and its failure is ignored. */
async function closeAll(begun: readonly (Begun | Promise<Begun>)[]): Promise<void> {
  for (const outcome of await Promise.allSettled(begun)) if (outcome.status === 'fulfilled') outcome.value.session.close?.()
}

function offered(exchange: Guarded, begun: readonly Begun[]): Offer {
  const functions = new Map<string, OfferedTool>()
  const sessions = begun.map(({ session }) => session)
  exchange.request.edit('server-tools', (draft) => {
    const taken = new Set(draft.tools.map((spec) => (spec.kind === 'function' ? spec.name : '')))
    const byPlace = new Map(begun.map((each) => [each.place, each]))
    const specs = draft.tools
    draft.tools = draft.tools.flatMap((spec, place): ToolSpec[] => {
      const own = byPlace.get(place)
      if (!own) return sessions.some((session) => session.withholds?.(spec)) ? [] : [spec]
      return sessionFunctions(own).map(({ name: plain, description, parameters }) => {
        const name = freeName(`${exchange.head.brand}_${plain}`, taken)
        functions.set(name, { name: own.tool.name, function: plain, session: own.session, run: own.session.run.bind(own.session) })
        return { kind: 'function', name, description, parameters }
      })
    })
    addTools(
      draft,
      sessions.flatMap((session) => session.offers ?? []),
    )
    if (draft.toolChoice?.mode === 'named') draft.toolChoice = chosenFunction(draft.toolChoice.name, functions)
    if (draft.toolChoice) {
      const own = begun.map(({ place, session }) => ({ spec: specs[place], functions: offeredNames(session, functions) }))
      draft.toolChoice = allowFunctions(draft.toolChoice, own)
    }
    if (sessions.some(({ recalls }) => recalls)) draft.items = recalledItems(draft.items, begun, functions)
  })
  exchange.run.toolNames = new Set(functions.keys())
  if (begun.length > 0)
    noteServerTools(
      exchange,
      'sdk',
      begun.map(({ tool }) => tool.name),
    )
  const opening = sessions.flatMap((session) => session.opening ?? [])
  if (opening.length > 0) exchange.run.opening = opening
  return {
    bound: sessions.reduce((sum, { bound }) => sum + bound, 0),
    taps: sessions.flatMap(({ tap }) => (tap ? [tap] : [])),
    resumes: sessions.flatMap((session) =>
      (session.resumes ?? []).map(({ callId, function: plain, args }) => ({
        id: callId,
        name: offeredName(plain, session, functions),
        args: JSON.stringify(args),
      })),
    ),
    has: (name) => functions.has(name),
    get: (name) => functions.get(name),
    add: (specs) => exchange.request.edit('server-tools', (draft) => addTools(draft, specs)),
    withdraw: () => {
      exchange.run.toolNames = new Set()
      exchange.request.edit('server-tools', (draft) => {
        draft.tools = draft.tools.filter((spec) => spec.kind !== 'function' || !functions.has(spec.name))
        draft.toolChoice = draft.tools.length > 0 ? { mode: 'none' } : undefined
      })
    },
    close: () => {
      for (const session of sessions) session.close?.()
    },
  }
}

function sessionFunctions({ tool, session }: Begun): readonly ToolFunction[] {
  return session.functions ?? [tool]
}

/** Those that the model has already are not named twice. */
function addTools(draft: CanonicalRequest, specs: readonly ToolSpec[]): void {
  const known = new Set(draft.tools.map((spec) => (spec.kind === 'function' ? spec.name : '')))
  const fresh = specs.filter((spec) => spec.kind !== 'function' || !known.has(spec.name))
  if (fresh.length > 0) draft.tools = [...draft.tools, ...fresh]
}

/** Items of a tool that the caller sends back, as calls of the functions that the tool is offered as, and their results. */
function recalledItems(items: readonly Item[], begun: readonly Begun[], offered: ReadonlyMap<string, OfferedTool>): Item[] {
  const called = new Set(items.flatMap((item) => (item.kind === 'call' ? [item.callId] : [])))
  return items.flatMap((item): Item[] => {
    if (item.kind !== 'opaque') return [item]
    for (const { session } of begun) {
      const recalled = session.recalls?.(item.of)
      if (recalled) return recalled.flatMap((one) => recalledItem(one, called, (plain) => offeredName(plain, session, offered)))
    }
    return [item]
  })
}

function recalledItem(one: Recalled, called: Set<string>, offeredName: (plain: string) => string): Item[] {
  if (one.kind === 'call') {
    called.add(one.callId)
    return [{ kind: 'call', callId: one.callId, name: offeredName(one.function), args: one.args }]
  }
  if (!called.has(one.callId)) return []
  return [{ kind: 'result', callId: one.callId, parts: [{ kind: 'text', text: one.text }], ...(one.error ? { error: true } : {}) }]
}

function offeredNames(session: ToolSession, offered: ReadonlyMap<string, OfferedTool>): string[] {
  return [...offered].flatMap(([name, tool]) => (tool.session === session ? [name] : []))
}

function offeredName(plain: string, session: ToolSession, offered: ReadonlyMap<string, OfferedTool>): string {
  for (const [name, tool] of offered) if (tool.session === session && tool.function === plain) return name
  return plain
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted
  while (taken.has(name)) name += '_'
  taken.add(name)
  return name
}

/** A tool by its own name becomes its function; one that brings several leaves the model the choice among all. */
function chosenFunction(chosen: string, offered: ReadonlyMap<string, OfferedTool>): ToolChoice {
  const names = [...offered].flatMap(([name, tool]) => (tool.name === chosen ? [name] : []))
  return names.length > 1 ? { mode: 'required' } : { mode: 'named', name: names[0] ?? chosen }
}
