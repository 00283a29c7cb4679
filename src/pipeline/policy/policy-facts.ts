/** Values of the variables of conditions, from what is known of a request. */
import type { IncomingHttpHeaders } from 'node:http'
import { defineFacts } from '../../config/conditions/facts.ts'
import type { Readers } from '../../config/conditions/variables.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
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
  readonly catalog: SlugLookup
  readonly defaultModel: string | undefined
}

/** The part of the catalogue that names of models are looked up in. */
interface SlugLookup {
  readonly bySlug: ReadonlyMap<string, { readonly slug: string }>
  find(slug: string): { readonly model: { readonly slug: string } } | undefined
  bare(slug: string): { readonly slug: string }
}

const NANO = 1e9
/** Names of headers whose values no condition may read. */
const SECRET = /auth|cookie|key|token|secret|password|credential|signature|jwt|assertion|oidc|client-cert|visitor/

const READERS: Readers<PolicySource> = {
  caller: {
    name: ({ key }) => key.name,
    id: ({ key }) => key.identity,
    kind: ({ key: { token } }) => (token === undefined ? 'key' : token.isCertificate ? 'certificate' : 'token'),
    issuer: ({ key }) => key.token?.issuer ?? '',
    user: ({ key }) => key.creator ?? '',
  },
  claims: ({ key }) => key.token?.claims ?? {},
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
    tools: ({ sent }) => sent && toolNames(sent.request.body.tools),
    media: ({ sent }) => sent?.request.mayHoldMedia,
    max_output: ({ sent }) => sent?.request.need.cap,
    bytes: ({ sent }) => sent?.request.bytes,
    user: ({ sent }) => sent && textIn(sent.request.body.user),
    metadata: ({ sent }) => sent && objectIn(sent.request.body.metadata),
    headers: ({ headers }) => shownHeaders(headers),
    time: ({ at }) => new Date(at),
  },
  session: { id: ({ sent }) => sent && (sent.request.gateway.sessionId ?? '') },
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

function budgetNames({ key: { budget } }: PolicySource): readonly string[] {
  return budget ? budgetLevels(budget).map(({ name }) => name) : []
}

/** Slugs behind aliases, the primary model first. A name that no model has stays as it is: the choice of models refuses it. */
function namedModels({ request: { gateway }, catalog, defaultModel }: SentRequest): readonly string[] {
  const named = [...(gateway.model === undefined ? [] : [gateway.model]), ...gateway.models]
  const all = named.length === 0 && defaultModel !== undefined ? [defaultModel] : named
  return all.map((slug) => catalog.bySlug.get(slug)?.slug ?? catalog.find(slug)?.model.slug ?? catalog.bare(slug).slug)
}

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const objectIn = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

/** Formats name a function at the tool, or in an object of its own. */
function toolNames(tools: Json | undefined): readonly string[] {
  if (!Array.isArray(tools)) return []
  return tools.filter(isObject).map((tool) => {
    const { name } = isObject(tool.function) ? tool.function : tool
    const isFunction = tool.type === undefined || tool.type === 'function' || tool.type === 'custom'
    return isFunction && typeof name === 'string' ? name : textIn(tool.type)
  })
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
