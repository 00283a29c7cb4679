/** Operations that are not generations: who may call them, by method and path. */
import {
  type ApiReply,
  countModels,
  type EndpointSource,
  listEmbeddingModels,
  listEndpoints,
  listKeyModels,
  listModels,
  listPresets,
  listProviders,
  listZdrEndpoints,
  type ModelSource,
  oneModel,
  onePreset,
  readGeneration,
  readKey,
} from '../api/index.ts'
import type { Presets } from '../canon/presets.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { Fault } from '../core/faults.ts'
import { findKey, usableKey } from '../pipeline/layers/authenticate.ts'
import type { KeyLookup } from '../pipeline/parts.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Health } from '../routing/index.ts'
import type { Store } from '../store/open.ts'
import type { OperationRequest, Operations } from './gateway.ts'
import { type ManagementSource, managementOperation } from './management.ts'

export interface OperationSource {
  keys: KeyLookup
  catalog: ModelSource['catalog'] & Pick<Catalog, 'providers'>
  presets: Presets
  store: Store
  health: EndpointSource['health'] & Health
  /** Of the operations for management keys. */
  management: ManagementSource
}

type Operation = (query: URLSearchParams, key: ApiKey) => ApiReply

const MODEL_PREFIX = '/v1/model/'
const PRESET_PREFIX = '/v1/presets/'
const ENDPOINTS_PATH = /^\/v1\/models\/(.+)\/endpoints$/

/** A path that an operation has, with another method, is a 405; any other path is nobody's. */
export function operations(source: OperationSource): Operations {
  const { clock, credit } = source.management
  const models = (): ModelSource => ({ catalog: source.catalog, now: clock.now(), health: source.health })
  const table = new Map<string, Operation>([
    ['/v1/models', (query) => listModels(query, models())],
    ['/v1/models/count', (query) => countModels(query, models())],
    ['/v1/models/user', (query, key) => listKeyModels(query, key, models())],
    ['/v1/embeddings/models', (query) => listEmbeddingModels(query, models())],
    ['/v1/providers', () => listProviders(source.catalog.providers.values())],
    ['/v1/endpoints/zdr', () => listZdrEndpoints(source)],
    ['/v1/presets', (query) => listPresets(source.presets, query)],
    ['/v1/generation', (query, key) => readGeneration(query, key, source.store.journal)],
    ['/v1/key', (_query, key) => readKey(key, credit.account(key.identity))],
  ])
  const find = (path: string): Operation | undefined => {
    if (path.startsWith(MODEL_PREFIX)) return () => oneModel(decoded(path.slice(MODEL_PREFIX.length)), models())
    if (path.startsWith(PRESET_PREFIX)) return presetAt(path.slice(PRESET_PREFIX.length), source.presets)
    const slug = ENDPOINTS_PATH.exec(path)?.[1]
    return slug === undefined ? table.get(path) : () => listEndpoints(decoded(slug), source)
  }
  const callerOf = async ({ request }: OperationRequest): Promise<ApiKey> => usableKey(await findKey(request.headers, source.keys), clock)
  return (asked: OperationRequest) => {
    const managed = managementOperation(asked, source.management)
    if (managed) return callerOf(asked).then(managed)
    const { method, path, query } = asked
    const operation = find(path)
    if (!operation) return undefined
    if (method !== 'GET' && method !== 'HEAD') throw new Fault('method_not_allowed', { headers: { Allow: 'GET' } })
    return callerOf(asked).then((key) => operation(query, key))
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
