/** Operations that are not generations: which keys may call them, by method and path. */

import {
  type ApiReply,
  catalogFor,
  countModels,
  type EndpointSource,
  type ListedCatalog,
  listAnthropicModels,
  listEmbeddingModels,
  listEndpoints,
  listKeyModels,
  listModels,
  listPresets,
  listProviders,
  listZdrEndpoints,
  type ModelSource,
  oneAnthropicModel,
  oneModel,
  onePreset,
  readGeneration,
  readKey,
  retrievedModel,
  sortsByUse,
  weekOfUse,
} from '../api/index.ts'
import { Fault } from '../core/faults.ts'
import type { Presets } from '../dialects/canon/presets.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { LedgerReader } from '../ledger/types.ts'
import type { GuardrailSetting } from '../pipeline/guard/guardrail-setting.ts'
import { termsFor } from '../pipeline/guard/guardrail-terms.ts'
import type { Attempts } from '../pipeline/request/attempt-buckets.ts'
import { authenticator } from '../pipeline/request/authenticate.ts'
import type { Callers } from '../pipeline/request/authentication/index.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Catalog } from '../routing/catalog/catalog.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { Health } from '../routing/index.ts'
import { type ConsentSource, consentOperations } from './consent-routes.ts'
import { type FileSource, fileOperations } from './file-routes.ts'
import type { OperationRequest, Operations } from './gateway.ts'
import { managementOperation } from './management.ts'

export interface OperationSource {
  callers: Callers
  failures: Attempts
  catalog: ModelSource['catalog'] & Pick<Catalog, 'providers'>
  /** Account-wide: of every request. */
  preferences?: ProviderPreferences | undefined
  presets: Presets
  guardrails: readonly GuardrailSetting[]
  ledger: LedgerReader
  health: EndpointSource['health'] & Health
  /** Of the operations for management keys. */
  management: ConsentSource
  files: FileSource
}

type Operation = (query: URLSearchParams, key: ApiKey) => ApiReply | Promise<ApiReply>

const MODEL_PREFIX = '/v1/model/'
const MODELS_PREFIX = '/v1/models/'
const PRESET_PREFIX = '/v1/presets/'
const ENDPOINTS_PATH = /^\/v1\/models\/(.+)\/endpoints$/

/** A path of an operation with another method is a 405; for any other path the result is undefined. */
export function operations(source: OperationSource): Operations {
  const { clock, credit } = source.management
  const listed = (key: ApiKey): ListedCatalog => {
    // A management key cannot generate, and sees the whole catalogue.
    const terms = key.management ? undefined : termsFor(source.guardrails, key)
    const barred = terms && ((endpoint: Endpoint) => terms.bar(endpoint, undefined) !== undefined)
    return catalogFor(source.catalog, key, source.preferences, barred)
  }
  const models = (key: ApiKey): ModelSource => ({ catalog: listed(key), now: clock.now(), health: source.health })
  const table = new Map<string, Operation>([
    [
      '/v1/models',
      (query, key) => {
        if (!sortsByUse(query)) return listModels(query, models(key))
        return weekOfUse(source.management.scans, clock).then((use) => listModels(query, { ...models(key), use }))
      },
    ],
    ['/v1/models/count', (query, key) => countModels(query, models(key))],
    ['/v1/models/user', (query, key) => listKeyModels(query, models(key))],
    ['/v1/embeddings/models', (query, key) => listEmbeddingModels(query, models(key))],
    ['/v1/providers', () => listProviders(source.catalog.providers.values())],
    ['/v1/endpoints/zdr', (_query, key) => listZdrEndpoints({ ...source, catalog: listed(key) })],
    ['/v1/presets', (query) => listPresets(source.presets, query)],
    ['/v1/generation', (query, key) => readGeneration(query, key, source.ledger)],
    ['/v1/key', (_query, key) => readKey(key, credit)],
  ])
  const find = (path: string): Operation | undefined => {
    if (path.startsWith(MODEL_PREFIX)) return (_query, key) => oneModel(decoded(path.slice(MODEL_PREFIX.length)), models(key))
    if (path.startsWith(PRESET_PREFIX)) return presetAt(path.slice(PRESET_PREFIX.length), source.presets)
    const slug = ENDPOINTS_PATH.exec(path)?.[1]
    if (slug !== undefined) return (_query, key) => listEndpoints(decoded(slug), { ...source, catalog: listed(key) })
    return table.get(path) ?? named(path, retrievedModel)
  }
  const named = (path: string, read: typeof retrievedModel): Operation | undefined =>
    path.length > MODELS_PREFIX.length && path.startsWith(MODELS_PREFIX)
      ? (_query, key) => read(decoded(path.slice(MODELS_PREFIX.length)), models(key))
      : undefined
  const anthropic = (path: string): Operation | undefined => {
    if (path === '/v1/models') return (query, key) => listAnthropicModels(query, models(key))
    return table.has(path) || ENDPOINTS_PATH.test(path) ? undefined : named(path, oneAnthropicModel)
  }
  const authenticate = authenticator({ callers: source.callers, clock, failures: source.failures })
  const callerOf = async ({ request: { headers }, address }: OperationRequest): Promise<ApiKey> =>
    authenticate({ headers, connection: { address } })
  const consent = consentOperations(source.management, callerOf)
  const files = fileOperations(source.files, callerOf)
  return (call: OperationRequest) => {
    const own = consent(call) ?? files(call)
    if (own) return own
    const managed = managementOperation(call, source.management)
    if (managed) return callerOf(call).then(managed)
    const { method, path, query } = call
    const operation = call.request.headers['anthropic-version'] === undefined ? find(path) : (anthropic(path) ?? find(path))
    if (!operation) return undefined
    if (method !== 'GET' && method !== 'HEAD') throw new Fault('method_not_allowed', { headers: { Allow: 'GET' } })
    return callerOf(call).then((key) => operation(query, key))
  }
}

function presetAt(path: string, presets: Presets): Operation | undefined {
  return path === '' || path.includes('/') ? undefined : () => onePreset(decoded(path), presets)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new Fault('not_found')
  }
}
