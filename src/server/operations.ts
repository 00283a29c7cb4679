/** Operations that are not generations: who may call them, by method and path. */
import {
  type ApiReply,
  countModels,
  listEmbeddingModels,
  listKeyModels,
  listModels,
  type ModelSource,
  oneModel,
  readGeneration,
  readKey,
  type SpendWindows,
} from '../api/index.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { Credit } from '../ledger/credit.ts'
import { findKey, usableKey } from '../pipeline/layers/authenticate.ts'
import type { KeyLookup } from '../pipeline/parts.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Store } from '../store/open.ts'
import type { OperationRequest, Operations } from './gateway.ts'

export interface OperationSource {
  keys: KeyLookup
  catalog: ModelSource['catalog']
  store: Store
  credit: Credit
  health: ModelSource['health']
  windows: SpendWindows
  clock: Clock
}

type Operation = (query: URLSearchParams, key: ApiKey) => ApiReply

const MODEL_PREFIX = '/v1/model/'

/** A path that an operation has, with another method, is a 405; any other path is nobody's. */
export function operations(source: OperationSource): Operations {
  const models = (): ModelSource => ({ catalog: source.catalog, now: source.clock.now(), health: source.health })
  const table = new Map<string, Operation>([
    ['/v1/models', (query) => listModels(query, models())],
    ['/v1/models/count', (query) => countModels(query, models())],
    ['/v1/models/user', (query, key) => listKeyModels(query, key, models())],
    ['/v1/embeddings/models', (query) => listEmbeddingModels(query, models())],
    ['/v1/generation', (query, key) => readGeneration(query, key, source.store.journal)],
    ['/v1/key', (_query, key) => readKey(key, source.credit.account(key.identity), source.windows.usage(key.identity, source.clock.now()))],
  ])
  const find = (path: string): Operation | undefined => {
    if (!path.startsWith(MODEL_PREFIX)) return table.get(path)
    return () => oneModel(decoded(path.slice(MODEL_PREFIX.length)), models())
  }
  return ({ method, path, query, request }: OperationRequest) => {
    const operation = find(path)
    if (!operation) return undefined
    if (method !== 'GET' && method !== 'HEAD') throw new Fault('method_not_allowed', { headers: { Allow: 'GET' } })
    return Promise.resolve(findKey(request.headers, source.keys)).then((key) => operation(query, usableKey(key, source.clock)))
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new Fault('not_found')
  }
}
