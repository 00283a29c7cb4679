/** Operations that are not generations, found in the list of them by path and method. */
import { boundedSource } from '../api/bounds/index.ts'
import { csvReply, wantsCsv } from '../api/csv.ts'
import { catalogFor } from '../api/key-catalog.ts'
import type { Call, Operation } from '../api/operation.ts'
import type { ApiReply } from '../api/reply.ts'
import type { ManagementSource, OperationSource } from '../api/source.ts'
import { Fault } from '../core/faults.ts'
import { isEncrypted } from '../core/request-scheme.ts'
import { isManager, mayCall, type RoleHolder, requireRight } from '../core/roles.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { GuardrailSetting } from '../pipeline/guard/guardrail-setting.ts'
import { budgetsFor, holdsFor, termsFor } from '../pipeline/guard/guardrail-terms.ts'
import type { Attempts } from '../pipeline/request/attempt-buckets.ts'
import { authenticator } from '../pipeline/request/authenticate.ts'
import type { Callers } from '../pipeline/request/authentication/index.ts'
import { parseBody } from '../pipeline/request/read.ts'
import { checkBodyHead } from '../pipeline/request/receive.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Catalog } from '../routing/catalog/catalog.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { Answer, OperationRequest, Operations } from './gateway.ts'
import { requestOrigin } from './origins.ts'

export interface ServedOperations {
  readonly callers: Callers
  readonly failures: Attempts
  readonly catalog: Parameters<typeof catalogFor>[0] & Pick<Catalog, 'providers'>
  /** Account-wide: of every request. */
  readonly preferences?: ProviderPreferences | undefined
  readonly guardrails: readonly GuardrailSetting[]
  readonly health: ReturnType<OperationSource['listedFor']>['health']
  readonly presets: OperationSource['presets']
  readonly uploads: OperationSource['uploads']
  readonly management: ManagementSource
}

/** A path of an operation with another method is a 405; for any other path there is no answer. */
export function operations(served: ServedOperations): Operations {
  const { callers, failures, catalog, health, presets, uploads, management } = served
  const { clock } = management
  const source: Omit<OperationSource, 'origin'> = {
    ...management,
    listedFor: (key) => ({ catalog: listedCatalog(key, served), now: clock.now(), health }),
    guardrailsFor: (key) => heldGuardrails(key, served),
    modelCount: catalog.models.length,
    providers: catalog.providers,
    presets,
    uploads,
  }
  const authenticate = authenticator({ callers, clock, failures })
  const findCaller = ({ request: { headers, socket }, address, certificate }: OperationRequest): ApiKey | Promise<ApiKey> =>
    authenticate({ headers, connection: { address, isEncrypted: () => isEncrypted(socket), certificate } })
  return async (request) => {
    const matching = (await allOperations()).filter(({ match }) => match.test(request.path))
    if (matching.length === 0) return undefined
    matching[0]?.requires?.({ ...source, origin: requestOrigin(undefined, '') })
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const operation = matching.find((each) => each.method.toUpperCase() === method)
    if (!operation) throw new Fault('method_not_allowed', { headers: { Allow: operationMethods(matching) } })
    if (operation.roles === 'none') return answer(operation, request, { source })
    const key = await findCaller(request)
    requireRight(key, operation)
    return answer(operation, request, { source, key })
  }
}

/** Operations that a key may call, by method and path, such as `GET /v1/keys`. */
export async function operationsFor(holder: RoleHolder): Promise<string[]> {
  const open = (await allOperations()).filter((each) => mayCall(holder, each))
  return open.map(({ method, path }) => `${method.toUpperCase()} /v1${path}`)
}

let loading: Promise<readonly Operation[]> | undefined

/** Loaded with the first request for one of them: with all that describes them they take a megabyte of each process. */
function allOperations(): Promise<readonly Operation[]> {
  loading ??= import('../api/operations/index.ts').then(({ OPERATIONS }) => OPERATIONS)
  return loading
}

function listedCatalog(key: ApiKey, { catalog, preferences, guardrails }: ServedOperations): ReturnType<typeof catalogFor> {
  // A management key cannot generate, and sees the whole catalogue.
  const terms = isManager(key) ? undefined : termsFor(guardrails, key)
  const barred = terms && ((endpoint: Endpoint) => terms.bar(endpoint, undefined) !== undefined)
  return catalogFor(catalog, key, preferences, barred)
}

function heldGuardrails(key: ApiKey, { guardrails }: ServedOperations): ReturnType<OperationSource['guardrailsFor']> {
  return guardrails
    .filter((guardrail) => holdsFor(guardrail, key))
    .map((guardrail) => {
      const [budget] = budgetsFor([guardrail], key)
      const { limit, limitReset, level = 0 } = budget ?? {}
      return {
        id: guardrail.id,
        name: guardrail.name,
        scope: guardrail.scope,
        budget: limit === undefined || limitReset === undefined ? undefined : { limit, limitReset, level },
      }
    })
}

const METHODS = ['get', 'put', 'patch', 'delete', 'post'] as const

function operationMethods(operations: readonly Operation[]): string {
  const all = METHODS.filter((each) => operations.some(({ method }) => method === each))
  return all.map((method) => method.toUpperCase()).join(', ')
}

async function answer(
  operation: Operation,
  request: OperationRequest,
  { source: given, key }: { source: Omit<OperationSource, 'origin'>; key?: ApiKey },
): Promise<Answer> {
  const { method, query } = request
  const source = { ...given, origin: requestOrigin(key, request.address()) }
  // A handler within a place has the parts of its caller alone, whatever its declaration says of the type.
  const parts = (key && operation.reach === 'place' ? await boundedSource(source, key) : source) as OperationSource
  const { headers } = request.request
  const maxBody = Math.min(operation.maxBody ?? source.maxBody, source.maxBody)
  const call: Call & { readonly path: Record<string, string>; readonly key?: ApiKey } = {
    method,
    query,
    headers,
    path: { ...operation.match.exec(request.path)?.groups },
    address: () => request.address(),
    body: async () => {
      const length = headers['content-length']
      checkBodyHead(headers, length === undefined ? undefined : Number(length), maxBody)
      return parseBody(await request.readBody(maxBody), source.jsonDepth)
    },
    pieces: () => request.readPieces(),
    ...(key ? { key } : {}),
  }
  if (!operation.csv || !wantsCsv(query, headers.accept)) return operation.handle(call, parts)
  const read = async (page: URLSearchParams): Promise<ApiReply> => {
    const reply = await operation.handle({ ...call, query: page }, parts)
    if ('bytes' in reply) throw new TypeError(`${operation.id} is no list`)
    return reply
  }
  const { bytes, ...reply } = await csvReply(operation.csv, query, { ...source, read })
  if (method !== 'HEAD') return { ...reply, bytes }
  bytes.destroy()
  return { ...reply, bytes: undefined }
}
