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
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { Credit } from '../ledger/credit.ts'
import { findKey, usableKey } from '../pipeline/layers/authenticate.ts'
import type { KeyLookup } from '../pipeline/parts.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Health } from '../routing/index.ts'
import type { Store } from '../store/open.ts'
import type { OperationRequest, Operations } from './gateway.ts'

export interface OperationSource {
  keys: KeyLookup
  catalog: ModelSource['catalog'] & Pick<Catalog, 'providers'>
  presets: Presets
  store: Store
  credit: Credit
  health: EndpointSource['health'] & Health
  clock: Clock
}

type Operation = (query: URLSearchParams, key: ApiKey) => ApiReply

const MODEL_PREFIX = '/v1/model/'
const PRESET_PREFIX = '/v1/presets/'
const ENDPOINTS_PATH = /^\/v1\/models\/(.+)\/endpoints$/

/** A path that an operation has, with another method, is a 405; any other path is nobody's. */
export function operations(source: OperationSource): Operations {
  const models = (): ModelSource => ({ catalog: source.catalog, now: source.clock.now(), health: source.health })
  const table = new Map<string, Operation>([
    ['/v1/models', (query) => listModels(query, models())],
    ['/v1/models/count', (query) => countModels(query, models())],
    ['/v1/models/user', (query, key) => listKeyModels(query, key, models())],
    ['/v1/embeddings/models', (query) => listEmbeddingModels(query, models())],
    ['/v1/providers', () => listProviders(source.catalog.providers.values())],
    ['/v1/endpoints/zdr', () => listZdrEndpoints(source)],
    ['/v1/presets', (query) => listPresets(source.presets, query)],
    ['/v1/generation', (query, key) => readGeneration(query, key, source.store.journal)],
    ['/v1/key', (_query, key) => readKey(key, source.credit.account(key.identity))],
  ])
  const find = (path: string): Operation | undefined => {
    if (path.startsWith(MODEL_PREFIX)) return () => oneModel(decoded(path.slice(MODEL_PREFIX.length)), models())
    if (path.startsWith(PRESET_PREFIX)) return presetAt(path.slice(PRESET_PREFIX.length), source.presets)
    const slug = ENDPOINTS_PATH.exec(path)?.[1]
    return slug === undefined ? table.get(path) : () => listEndpoints(decoded(slug), source)
  }
  return ({ method, path, query, request }: OperationRequest) => {
    const operation = find(path)
    if (!operation) return undefined
    if (method !== 'GET' && method !== 'HEAD') throw new Fault('method_not_allowed', { headers: { Allow: 'GET' } })
    return Promise.resolve(findKey(request.headers, source.keys)).then((key) => operation(query, usableKey(key, source.clock)))
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
