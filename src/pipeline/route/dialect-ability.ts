/** What the endpoints' dialects can say of a request: which parameters they send, and tools that only some of them have. */

import { entryAt } from '../../core/entry-at.ts'
import { DOCS_URL, Fault } from '../../core/faults.ts'
import { isObject } from '../../core/json.ts'
import { sentParameters } from '../../dialects/canon/parameters.ts'
import type { Opaque } from '../../dialects/canon/request.ts'
import type { UpstreamDialect } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag, type Removed } from '../../routing/index.ts'
import type { ChainDependencies, ModelLookup } from '../dependencies.ts'
import type { Accepted, Wish } from '../exchange.ts'

/** Endpoints named to a caller whose tool none of the requested ones has. */
const SHOWN = 5

const sentBy = new WeakMap<UpstreamDialect, ReadonlySet<string>>()

interface NativeTool {
  /** The field that names it. */
  path: string
  of: Opaque
}

const NONE: NativeTool[] = []

export class DialectAbility {
  /** True where the request holds something that not every dialect can express. */
  readonly isNeeded: boolean
  private readonly exchange: Accepted
  private readonly catalog: ModelLookup
  private readonly upstreams: ChainDependencies['upstreams']
  private readonly tools: readonly NativeTool[]

  constructor(exchange: Accepted, catalog: ModelLookup, upstreams: ChainDependencies['upstreams']) {
    this.exchange = exchange
    this.catalog = catalog
    this.upstreams = upstreams
    this.tools = nativeTools(exchange)
    this.isNeeded = this.tools.length > 0
  }

  /** For the request as it is now. */
  anew(): DialectAbility {
    return new DialectAbility(this.exchange, this.catalog, this.upstreams)
  }

  /** Parameters that reach the provider. */
  sent(endpoint: Endpoint): ReadonlySet<string> | undefined {
    const dialect = this.upstreams.get(endpoint.provider.dialect)
    if (!dialect) return undefined
    let sent = sentBy.get(dialect)
    if (!sent) {
      sent = sentParameters(dialect.parameters)
      sentBy.set(dialect, sent)
    }
    return sent
  }

  /** The first thing in the request that the endpoint's dialect cannot express; undefined where it can express all. */
  lacks(endpoint: Endpoint): string | undefined {
    const dialect = this.upstreams.get(endpoint.provider.dialect)
    const missing = this.tools.find(({ of }) => !dialect || !has(dialect, of))
    return missing && `its provider has no tool ${missing.of.type}`
  }

  /** 400: names the tool, and the endpoints that could serve it. */
  fault(removed: readonly Removed[], { requested, models }: Pick<Wish, 'requested' | 'models'>): Fault {
    const endpoints = removed.filter(({ filter }) => filter === 'dialect').map(({ endpoint }) => endpoint)
    const lacking = this.tools.find(({ of }) => endpoints.some((endpoint) => !this.hasTool(endpoint, of))) ?? entryAt(this.tools, 0)
    const able = this.able()
    const field = lacking.path
    const others =
      able.length === 0
        ? 'no configured endpoint has it'
        : `these endpoints have it: ${able.map((endpoint) => `${endpoint.model.slug} at ${endpointTag(endpoint)}`).join(', ')}`
    return new Fault('bad_request', {
      message: `${field}: ${lacking.of.type} runs at the provider, and none that serves ${requested} has it; ${others}`,
      metadata: { field },
      availability: {
        code: 'constraint_filtered',
        retryable: false,
        requested_models: models.map((model) => model.slug),
        docs_url: DOCS_URL,
        constraint: { field, detail: lacking.of.type },
        ...(able.length > 0 ? { fallback_models: [...new Set(able.map((endpoint) => endpoint.model.slug))] } : {}),
      },
    })
  }

  private hasTool(endpoint: Endpoint, of: Opaque): boolean {
    const dialect = this.upstreams.get(endpoint.provider.dialect)
    return dialect !== undefined && has(dialect, of)
  }

  private able(): Endpoint[] {
    const found: Endpoint[] = []
    for (const model of this.catalog.models) {
      if (model.kind !== 'generate') continue
      for (const endpoint of model.endpoints) {
        if (this.tools.every(({ of }) => this.hasTool(endpoint, of))) found.push(endpoint)
        if (found.length === SHOWN) return found
      }
    }
    return found
  }
}

function has(dialect: UpstreamDialect, of: Opaque): boolean {
  return of.dialect === dialect.wire || dialect.takesTool?.(of) === true
}

/** Tools that are neither functions nor the gateway's own; a body without them is not decoded for this. */
function nativeTools(exchange: Accepted): NativeTool[] {
  const { tools } = exchange.request.body
  const elsewhere = exchange.request.client.nativeTools?.(exchange.request.body) ?? NONE
  if (!Array.isArray(tools) || !tools.some((tool) => isObject(tool) && tool.type !== undefined && tool.type !== 'function'))
    return elsewhere
  const listed = exchange.request
    .canonical()
    .tools.flatMap((tool, at) => (tool.kind === 'opaque' ? [{ path: `tools[${at}].type`, of: tool.of }] : []))
  return [...listed, ...elsewhere]
}
