/** Values of the variables of conditions, from what is known of a request. */
import type { IncomingHttpHeaders } from 'node:http'
import { defineFacts } from '../../config/conditions/facts.ts'
import type { Readers } from '../../config/conditions/variables.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { slugAuthor } from '../../core/model-family.ts'
import { budgetLevels } from '../../core/shared-budget.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag } from '../../routing/index.ts'
import type { ClientRequest } from '../request/client-request.ts'

/** Facts of a request, and of the point of its way; what is undefined fails a condition that reads it. */
export interface PolicySource {
  readonly key: ApiKey
  readonly operation: string
  readonly headers: IncomingHttpHeaders
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Absent of requests of the pass-through, whose bodies are not read. */
  readonly sent?: SentRequest | undefined
  readonly endpoint?: Endpoint | undefined
  readonly cost?: { readonly nano: number; readonly inputTokens: number } | undefined
  readonly tool?: { readonly name: string; readonly function: string; readonly args: JsonObject } | undefined
}

interface SentRequest {
  readonly request: ClientRequest
  readonly named: CallerNames
  readonly catalog: SlugLookup
  readonly defaultModel: string | undefined
}

/** Names that the caller gave its request; those of what a tool of the gateway sends on its behalf are the same. */
export interface CallerNames {
  readonly user: Json | undefined
  readonly metadata: Json | undefined
  readonly session: string | undefined
}

/** The part of the catalogue that names of models are looked up in. */
interface SlugLookup {
  readonly bySlug: ReadonlyMap<string, { readonly slug: string }>
  find(slug: string): { readonly model: { readonly slug: string } } | undefined
  bare(slug: string): { readonly slug: string; readonly variant?: string }
}

const NANO = 1e9
/** Names of headers whose values no condition may read. */
const SECRET = /auth|cookie|key|token|secret|password|credential|signature|jwt|assertion|oidc|client-cert|visitor/

const READERS: Readers<PolicySource> = {
  caller: {
    name: (source) => owner(source).name,
    id: (source) => owner(source).identity,
    kind: (source) => {
      const { token } = owner(source)
      return token === undefined ? 'key' : token.isCertificate ? 'certificate' : 'token'
    },
    issuer: (source) => owner(source).token?.issuer ?? '',
    user: (source) => owner(source).creator ?? '',
  },
  claims: (source) => owner(source).token?.claims ?? {},
  organisation: {
    team: (source) => budgetNames(source)[0] ?? '',
    name: (source) => budgetNames(source).at(-1) ?? '',
    path: budgetNames,
  },
  request: {
    operation: ({ operation }) => operation,
    format: ({ sent }) => sent?.request.client.id,
    model: ({ sent }) => sent && (namedModels(sent)[0] ?? ''),
    models: ({ sent }) => sent && namedModels(sent),
    stream: ({ sent }) => sent?.request.stream,
    tools: ({ sent }) => sent && toolNames(sent),
    media: ({ sent }) => sent?.request.mayHoldMedia,
    max_output: ({ sent }) => sent?.request.need.cap,
    bytes: ({ sent }) => sent?.request.bytes,
    user: ({ sent }) => sent && textIn(sent.named.user),
    metadata: ({ sent }) => sent && objectIn(sent.named.metadata),
    headers: ({ headers }) => shownHeaders(headers),
    time: ({ at }) => new Date(at),
  },
  session: { id: ({ sent }) => sent && (sent.named.session ?? '') },
  model: {
    slug: ({ endpoint }) => endpoint?.model.slug,
    author: ({ endpoint }) => endpoint && slugAuthor(endpoint.model.slug),
    context: ({ endpoint }) => endpoint?.context,
  },
  endpoint: {
    provider: ({ endpoint }) => endpoint?.provider.slug,
    tag: ({ endpoint }) => endpoint && endpointTag(endpoint),
    data_collection: ({ endpoint }) => endpoint?.provider.dataCollection,
    zdr: ({ endpoint }) => endpoint?.provider.zdr,
    headquarters: ({ endpoint }) => endpoint && (endpoint.provider.about.headquarters ?? ''),
    datacenters: ({ endpoint }) => endpoint && (endpoint.provider.about.datacenters ?? []),
    free: ({ endpoint }) => endpoint && endpoint.price === 'free',
    own_key: ({ endpoint }) => endpoint && endpoint.byok !== undefined,
  },
  cost: {
    max_usd: ({ cost }) => cost && cost.nano / NANO,
    input_tokens: ({ cost }) => cost?.inputTokens,
  },
  tool: { name: ({ tool }) => tool?.name, function: ({ tool }) => tool?.function },
  arguments: ({ tool }) => tool?.args,
}

/** The variables of conditions for a source. */
export const PolicyFacts = defineFacts(READERS)

/** A key that was issued through sign-in is the one that issued it: its holder could issue another one to be another caller. */
const owner = ({ key }: PolicySource): ApiKey => key.issuer ?? key

/** Levels of an organisation are none of them: those who manage levels could give one the name of a budget. */
function budgetNames(source: PolicySource): readonly string[] {
  const { budget } = owner(source)
  return budget ? budgetLevels(budget).flatMap(({ kind, name }) => (kind === 'budget' ? name : [])) : []
}

/** Slugs behind aliases, the primary model first. A name that no model has stays as it is: the choice of models refuses it. */
function namedModels(sent: SentRequest): readonly string[] {
  const { catalog } = sent
  return writtenModels(sent).map((slug) => catalog.bySlug.get(slug)?.slug ?? catalog.find(slug)?.model.slug ?? catalog.bare(slug).slug)
}

function writtenModels({ request: { gateway }, defaultModel }: SentRequest): readonly string[] {
  const named = [...(gateway.model === undefined ? [] : [gateway.model]), ...gateway.models]
  return named.length === 0 && defaultModel !== undefined ? [defaultModel] : named
}

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const objectIn = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

const SEARCH = 'web_search'

/** Names of all that a request offers, wherever its format has it: a policy over a tool is not passed by writing it in another form. */
function toolNames(sent: SentRequest): readonly string[] {
  const { body, gateway } = sent.request
  const { tools, input, functions, web_search_options: search } = body
  const offered = [
    ...asObjects(tools),
    // Of the Responses format: `additional_tools`, and the results of searches for tools.
    ...asObjects(input).flatMap((item) => asObjects(item.tools)),
  ]
  const names = [...offered.flatMap(namesIn), ...asObjects(functions).flatMap(({ name }) => textIn(name))]
  const searches = isObject(search ?? null) || gateway.plugins.some(({ id, enabled }) => id === 'web' && enabled !== false)
  const named = writtenModels(sent).some((slug) => sent.catalog.bare(slug).variant?.split(':').includes('online'))
  return searches || named ? [...names, SEARCH] : names
}

/**
 * Formats name a function at the tool, or in an object of its own: a request could have both, of which each format reads one. A namespace
 * offers what is in it.
 */
function namesIn(tool: JsonObject): string[] {
  const { type, name, function: described, custom, tools } = tool
  const isFunction = type === undefined || type === 'function' || type === 'custom'
  const names = [name, ...[described, custom].map((each) => isObject(each ?? null) && (each as JsonObject).name)]
  const found = isFunction ? names.filter((each) => typeof each === 'string') : []
  const own = found.length > 0 ? [...new Set(found)] : [textIn(type)]
  return Array.isArray(tools) ? [...own, ...asObjects(tools).flatMap(namesIn)] : own
}

function shownHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const shown: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' && !holdsSecret(name)) shown[name] = value
  }
  return shown
}

const MAX_NAMES = 1_000
const judged = new Map<string, boolean>()

/** Names of headers are nearly always the same few. */
function holdsSecret(name: string): boolean {
  let found = judged.get(name)
  if (found === undefined) {
    found = SECRET.test(name)
    if (judged.size < MAX_NAMES) judged.set(name, found)
  }
  return found
}
