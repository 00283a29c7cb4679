/**
 * Ability of the endpoints' dialects to express a request: the parameters that they send, and tools and files that only some of them have.
 */

import { entryAt } from '../../core/entry-at.ts'
import { Fault } from '../../core/faults.ts'
import { sentParameters } from '../../dialects/canon/parameters.ts'
import { isStoredFile } from '../../dialects/canon/provider-files.ts'
import type { Opaque } from '../../dialects/canon/request.ts'
import type { Quirks } from '../../dialects/quirks.ts'
import type { ClientDialect, UpstreamDialect } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag, type Removed } from '../../routing/index.ts'
import type { ChainDependencies, ModelLookup } from '../dependencies.ts'
import type { Accepted } from '../exchange.ts'
import type { Demand } from '../records.ts'
import { fieldNaming } from '../request/stored-files.ts'

/** Endpoints named to a caller whose tool or file none of the requested ones has. */
const SHOWN = 5

const sentBy = new WeakMap<UpstreamDialect, ReadonlySet<string>>()

/** Something of a request that not every dialect can express. */
interface NativeThing {
  /** The field that names it. */
  path: string
  /** Type of the tool, or kind of the file. */
  type: string
  words: Words
  isIn(dialect: UpstreamDialect, quirks: Quirks): boolean
}

interface Words {
  lack(type: string): string
  refusal(type: string, requested: string): string
  /** In front of the endpoints that have it, and where there are none. */
  able: string
  none: string
}

const TOOL: Words = {
  lack: (type) => `its provider has no tool ${type}`,
  refusal: (type, requested) => `${type} runs at the provider, and none that serves ${requested} has it`,
  able: 'these endpoints have it: ',
  none: 'no configured endpoint has it',
}

const FILE: Words = {
  lack: (type) => `its format cannot name this ${type} by the id that another provider gave it`,
  refusal: (type, requested) =>
    `the ${type} is stored at a provider, and none that serves ${requested} takes such an id; files of POST /v1/files reach all`,
  able: 'these endpoints take it: ',
  none: 'no configured endpoint takes it',
}

/** Two tools of a caller that would be functions of one name at providers that know functions alone. */
const CLASH: Words = {
  lack: (type) => `two tools would have the name ${type} there`,
  refusal: (type, requested) =>
    `two tools have the name ${type}, since providers of ${requested} know functions alone: a tool t of a namespace n is n__t there; expected another name`,
  able: 'these endpoints have namespaces: ',
  none: 'no configured endpoint has namespaces',
}

const NONE: NativeThing[] = []

/** True for an endpoint that has the caller's own kinds of tools, so that no functions need stand for them. */
export function takesClientTools(client: ClientDialect, dialect: UpstreamDialect, quirks: Quirks): boolean {
  return dialect.wire === client.id && client.clientTools?.areKnown(quirks) !== false
}

/** Parameters that reach the provider. */
export function sentTo(endpoint: Endpoint, upstreams: ChainDependencies['upstreams']): ReadonlySet<string> | undefined {
  const dialect = upstreams.get(endpoint.provider.dialect)
  if (!dialect) return undefined
  let sent = sentBy.get(dialect)
  if (!sent) {
    sent = sentParameters(dialect.parameters)
    sentBy.set(dialect, sent)
  }
  return sent
}

export class DialectAbility {
  /** True where the request holds something that not every dialect can express. */
  readonly isNeeded: boolean
  private readonly exchange: Accepted
  private readonly catalog: ModelLookup
  private readonly upstreams: ChainDependencies['upstreams']
  private readonly things: readonly NativeThing[]

  /** @param spared types of tools that the request can do without: encoders leave them out and record it. */
  constructor(
    exchange: Accepted,
    catalog: ModelLookup,
    upstreams: ChainDependencies['upstreams'],
    spared: (type: string) => boolean = () => false,
  ) {
    this.exchange = exchange
    this.catalog = catalog
    this.upstreams = upstreams
    const tools = nativeTools(exchange).filter(({ words, type }) => words !== TOOL || !spared(type))
    const files = storedFiles(exchange)
    this.things = files.length === 0 ? tools : [...tools, ...files]
    this.isNeeded = this.things.length > 0
  }

  /** For the request as it is now. */
  anew(): DialectAbility {
    return new DialectAbility(this.exchange, this.catalog, this.upstreams)
  }

  /** Without tools of these types; undefined where there are none. */
  sparing(spared: (type: string) => boolean): DialectAbility | undefined {
    if (!this.things.some(({ words, type }) => words === TOOL && spared(type))) return undefined
    return new DialectAbility(this.exchange, this.catalog, this.upstreams, spared)
  }

  /** The first thing in the request that the endpoint's dialect cannot express; undefined where it can express all. */
  lacks(endpoint: Endpoint): string | undefined {
    const missing = this.things.find((thing) => !this.has(endpoint, thing))
    return missing?.words.lack(missing.type)
  }

  /** 400: names the tool or file, and the endpoints that could serve it. */
  fault(removed: readonly Removed[], { requested, models }: Pick<Demand, 'requested' | 'models'>): Fault {
    const endpoints = removed.filter(({ filter }) => filter === 'dialect').map(({ endpoint }) => endpoint)
    const lacking = this.things.find((thing) => endpoints.some((endpoint) => !this.has(endpoint, thing))) ?? entryAt(this.things, 0)
    const able = this.able()
    const { path: field, type, words } = lacking
    const others =
      able.length === 0 ? words.none : words.able + able.map((endpoint) => `${endpoint.model.slug} at ${endpointTag(endpoint)}`).join(', ')
    return new Fault('bad_request', {
      message: `${field}: ${words.refusal(type, requested)}; ${others}`,
      metadata: { field },
      availability: {
        code: 'constraint_filtered',
        retryable: false,
        requested_models: models.map((model) => model.slug),
        constraint: { field, detail: type },
        ...(able.length > 0 ? { fallback_models: [...new Set(able.map((endpoint) => endpoint.model.slug))] } : {}),
      },
    })
  }

  private has(endpoint: Endpoint, thing: NativeThing): boolean {
    const dialect = this.upstreams.get(endpoint.provider.dialect)
    return dialect !== undefined && thing.isIn(dialect, endpoint.quirks ?? endpoint.provider.quirks)
  }

  private able(): Endpoint[] {
    const found: Endpoint[] = []
    for (const model of this.catalog.models) {
      if (model.kind !== 'generate') continue
      for (const endpoint of model.endpoints) {
        if (this.things.every((thing) => this.has(endpoint, thing))) found.push(endpoint)
        if (found.length === SHOWN) return found
      }
    }
    return found
  }
}

/** Tools that are neither functions nor the gateway's own nor the caller's; a body without them is not decoded for this. */
function nativeTools(exchange: Accepted): NativeThing[] {
  const { request } = exchange
  const elsewhere = request.client.nativeTools?.(request.body) ?? []
  if (!request.hasOtherTools && elsewhere.length === 0) return NONE
  const listed = request.hasOtherTools
    ? request.canonical().tools.flatMap((tool, at) => (tool.kind === 'opaque' ? [{ path: `tools[${at}].type`, of: tool.of }] : []))
    : []
  const all = [...listed, ...elsewhere]
  const native = all.filter(({ of }) => request.client.clientTools?.has(of) !== true)
  const things = native.map(nativeTool)
  return native.length === all.length ? things : [...things, ...clashes(exchange)]
}

function clashes({ request }: Accepted): NativeThing[] {
  const { client } = request
  const clash = client.clientTools?.clash(request.canonical())
  if (!clash) return NONE
  return [{ path: clash.at, type: clash.name, words: CLASH, isIn: (dialect, quirks) => takesClientTools(client, dialect, quirks) }]
}

function nativeTool({ path, of }: { path: string; of: Opaque }): NativeThing {
  const isIn: NativeThing['isIn'] = (dialect, quirks) =>
    (of.dialect === dialect.wire && dialect.hasTool?.(of, quirks) !== false) || dialect.takesTool?.(of) === true
  return { path, type: of.type, words: TOOL, isIn }
}

/** Files and images that a provider has stored: to another one their ids mean nothing (`dialects/canon/provider-files.ts`). */
function storedFiles({ request }: Accepted): NativeThing[] {
  const family = request.client.files
  if (!request.mayHoldMedia || family === undefined) return NONE
  const found = new Map<string, NativeThing>()
  for (const item of request.canonical().items) {
    if (item.kind !== 'message' && item.kind !== 'result') continue
    for (const part of item.parts) {
      if (part.kind !== 'media' || !isStoredFile(part) || found.has(part.media)) continue
      const { media } = part
      found.set(media, {
        path: fieldNaming(request.body, 'file_id', part.fileId),
        type: media,
        words: FILE,
        isIn: ({ files }) => files === 'all' || (files?.family === family && files.kinds.includes(media)),
      })
    }
  }
  return [...found.values()]
}
