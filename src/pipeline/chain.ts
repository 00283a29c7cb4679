/** The way of a request, in order. Composed once per configuration, never per request. */

import type { ClientDialect } from '../dialects/types.ts'
import { attemptLayer } from './attempt/attempt.ts'
import { bodyFor, callEndpoint } from './attempt/endpoint-call.ts'
import { compactLayer } from './compaction/compact.ts'
import { countTokens } from './count-tokens.ts'
import type { ChainDependencies, ChainSettings } from './dependencies.ts'
import { previewVectors, vectorBodyFor } from './embeddings/calls.ts'
import { embedAt } from './embeddings/embed-at.ts'
import { filterLayer } from './embeddings/filter.ts'
import type { Accepted, Guarded, Received } from './exchange.ts'
import { guardAdditions, guardLayer, readsTexts } from './guard/guard.ts'
import type { Layer, Service } from './layer.ts'
import { accountLayer } from './money/account.ts'
import { explainLayer, previewEnd } from './plan/answer.ts'
import { previewAnswer } from './plan/candidates.ts'
import { impliedPlugins, shapeForPlan, shapeLayer } from './plugins/shape.ts'
import { policyLayer } from './policy/policy.ts'
import { contextCounter, inputCounter } from './provider-count.ts'
import { authenticateLayer } from './request/authenticate.ts'
import { admitLayer } from './request/rate-limits.ts'
import { readLayer } from './request/read.ts'
import { type Front, prepareResponse, receiveLayer } from './request/receive.ts'
import { planLayer } from './route/plan.ts'
import { type DirectWay, resolveLayer } from './route/resolve.ts'
import { converseForPlan, converseLayer } from './tools/converse.ts'

export type { Front } from './request/receive.ts'

/** Purposes of a chain: an answer, vectors, a count of tokens, an answer without content, or a plan of what a request would do. */
export const OPERATIONS = ['generate', 'embed', 'count', 'prepare', 'plan'] as const
export type Operation = (typeof OPERATIONS)[number]

/** Dependencies of a layer. */
interface Composition {
  readonly operation: Operation
  readonly settings: ChainSettings
  readonly dependencies: ChainDependencies
  /** The way of a call that a tool makes of a model: as a caller's request, from the policies on. */
  readonly inner: Service<Accepted>
  /** Known once the layers below are composed. */
  readonly direct: () => DirectWay | undefined
}

/** A layer of the table, with the operations that it applies to. */
interface Row<In, Out> {
  readonly name: string
  readonly layer: (composition: Composition) => Layer<In, Out>
  readonly applies: readonly Operation[]
  readonly what: string
}

function row<In, Out>(name: string, layer: Row<In, Out>['layer'], applies: readonly Operation[], what: string): Row<In, Out> {
  return { name, layer, applies, what }
}

const ALL = OPERATIONS

/** The layers behind `receive`, from the outermost inwards. */
const LAYERS = inOrder(
  row(
    'authenticate',
    ({ settings, dependencies }) => authenticateLayer(settings, dependencies),
    ALL,
    'finds the key by the head: no body is read without one',
  ),
  row(
    'admit',
    ({ dependencies }) => admitLayer(dependencies.admission),
    ALL,
    'how much a key may have going, before its body takes memory',
  ),
  row('read', ({ dependencies }) => readLayer(dependencies), ALL, 'the body once, parsed once, checked'),
  row(
    'account',
    ({ dependencies }) => accountLayer(dependencies),
    ['generate', 'embed'],
    'settles the cost exactly once, whatever happens below',
  ),
  row('explain', () => explainLayer(), ['plan'], 'adds to a refusal which endpoints were excluded'),
  row(
    'policy',
    ({ operation, settings, dependencies }) => policyLayer(settings, dependencies, operation),
    ALL,
    'conditions of policies over caller and request: refused, limited, or routed elsewhere',
  ),
  row(
    'resolve',
    ({ settings, dependencies, direct }) => resolveLayer(settings, dependencies, direct()),
    ALL,
    'slug to models to endpoints, each exclusion with its reason',
  ),
  row('guard', ({ settings }) => guardLayer(settings.guardrails), ALL, 'guardrails over the request, before anything else sees the text'),
  row(
    'compact',
    ({ operation, dependencies }) =>
      where(({ request }) => request.compaction !== undefined, compactLayer(dependencies, operation === 'plan')),
    ['generate', 'plan'],
    'turns a request for compaction into one for a summary',
  ),
  row('filter', filters, ['embed', 'plan'], 'which endpoints can read the inputs of an embedding'),
  row('shape', shapes, ['generate', 'plan'], 'request plugins, which need to know what the endpoints can do'),
  row('converse', converses, ['generate', 'plan'], 'the server-tool loop: runs what is below once per turn'),
  row(
    'reread',
    ({ settings }) => guardAdditions(settings.guardrails),
    ['generate', 'plan'],
    'guardrails over what plugins and tools have added',
  ),
  row(
    'plan',
    ({ settings, dependencies }) =>
      planLayer(settings, dependencies, { input: inputCounter(dependencies), context: contextCounter(dependencies) }),
    ['generate', 'embed'],
    'the order of the endpoints, and the hold over all that may serve',
  ),
)

/** True where each layer finds the records that it needs set by the layers above it. */
type InOrder<Rows, Now> = Rows extends readonly [Row<infer In, infer Out>, ...infer Below]
  ? Now extends In
    ? InOrder<Below, Now & Out>
    : false
  : true

/** Another order of the rows does not compile. */
function inOrder<Rows extends readonly unknown[]>(...rows: Rows): InOrder<Rows, Received> extends true ? Rows : never {
  return rows as InOrder<Rows, Received> extends true ? Rows : never
}

function filters({ operation, settings, dependencies }: Composition): Layer<Guarded> {
  const layer = filterLayer(settings.guardrails.filter(readsTexts), dependencies)
  return operation === 'plan' ? ofClients((client) => client.embedding !== undefined, layer) : layer
}

function shapes({ operation, settings, dependencies }: Composition): Layer<Guarded> {
  if (operation !== 'plan') return shapeLayer(settings.plugins, dependencies)
  return ofClients((client) => client.embedding === undefined, shapeForPlan(settings.plugins, dependencies))
}

function converses({ operation, settings, dependencies, inner }: Composition): Layer<Guarded> {
  // An edit, too, may have brought tools.
  const mayHaveTools = ({ request }: Guarded): boolean => request.hasOtherTools || request.edited
  if (operation !== 'plan') return where(mayHaveTools, converseLayer(settings, dependencies, inner))
  const layer = where(mayHaveTools, converseForPlan(settings, dependencies, inner))
  return ofClients((client) => client.embedding === undefined, layer)
}

/** Plans have one chain for all client formats: a layer that is not for the format of a request steps aside. */
function ofClients(applies: (client: ClientDialect) => boolean, layer: Layer<Guarded>): Layer<Guarded> {
  return where(({ request }) => applies(request.client), layer)
}

/** A layer that is entered by the requests alone that it does something for. */
function where<From>(applies: (exchange: From) => boolean, layer: Layer<From>): Layer<From> {
  return (next) => {
    const inside = layer(next)
    return (exchange) => (applies(exchange) ? inside(exchange) : next(exchange))
  }
}

function preview({ settings, dependencies }: Composition): Service<Guarded> {
  const answer = previewAnswer(dependencies)
  return previewEnd(settings, dependencies, (exchange, endpoint) =>
    exchange.request.client.embedding ? previewVectors(exchange, endpoint, dependencies) : answer(exchange, endpoint),
  )
}

/** End of the chain of each operation. */
const ENDS: Readonly<Record<Operation, { name: string; end: (composition: Composition) => Service<never>; what: string }>> = {
  generate: {
    name: 'attempt',
    end: ({ dependencies }) => attemptLayer(dependencies, { call: callEndpoint, rewrite: bodyFor }),
    what: 'one endpoint after the other, until content comes',
  },
  embed: {
    name: 'attempt',
    end: ({ dependencies }) => attemptLayer(dependencies, { call: embedAt, rewrite: vectorBodyFor }),
    what: 'one endpoint after the other, until the vectors are there',
  },
  count: { name: 'count', end: ({ dependencies }) => countTokens(dependencies), what: 'has a provider count that does, else estimates' },
  prepare: { name: 'prepare', end: () => prepareResponse(), what: 'an empty response to continue from: nothing is sent or held' },
  plan: { name: 'preview', end: preview, what: 'the plan as JSON: nothing is sent, held, pinned or written down' },
}

/** The chains of all operations, for a configuration. @param recordPlan takes the end of a plan. */
export function composeChains(
  settings: ChainSettings,
  dependencies: ChainDependencies,
  recordPlan: ChainDependencies['recordExchange'],
): Readonly<Record<Operation, Front>> {
  return {
    generate: composeChain('generate', settings, dependencies),
    embed: composeChain('embed', settings, dependencies),
    count: composeChain('count', settings, dependencies),
    prepare: composeChain('prepare', settings, dependencies),
    plan: composeChain('plan', settings, { ...dependencies, recordExchange: recordPlan }),
  }
}

/** The chain of an operation, for a configuration. */
export function composeChain(operation: Operation, settings: ChainSettings, dependencies: ChainDependencies): Front {
  const services = new Map<string, Service<never>>()
  const inner: Service<Accepted> = (exchange) => (services.get('policy') as Service<Accepted>)(exchange)
  const direct = (): DirectWay | undefined => {
    const plan = services.get('plan') as Service<Guarded> | undefined
    // Where guardrails read nothing, their layers add nothing.
    const isOpen = services.get('guard') === services.get('compact') && services.get('reread') === plan
    return operation === 'generate' && isOpen && plan ? { plan, implied: impliedPlugins(settings.plugins) } : undefined
  }
  const composition: Composition = { operation, settings, dependencies, inner, direct }
  let service = ENDS[operation].end(composition)
  for (const { name, layer, applies } of LAYERS.toReversed()) {
    if (!applies.includes(operation)) continue
    // `inOrder` has checked that each is given the records that it needs.
    service = (layer(composition) as unknown as Layer<never, never>)(service)
    services.set(name, service)
  }
  return receiveLayer(settings, dependencies)(service as Service<Received>)
}

/** The layers of an operation from the outermost inwards, with its end: each with one line that says what it does. */
export function operationLayers(operation: Operation): { name: string; what: string }[] {
  const inside = LAYERS.filter(({ applies }) => applies.includes(operation)).map(({ name, what }) => ({ name, what }))
  const { name, what } = ENDS[operation]
  return [{ name: 'receive', what: 'refuses by the head alone; writes the reply when all below has ended' }, ...inside, { name, what }]
}
