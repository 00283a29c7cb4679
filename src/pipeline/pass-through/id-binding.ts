/** Which ids are read of a request of the pass-through and of its reply, to bind them to the key that got them. */
import type { IncomingMessage } from 'node:http'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { GivenIdStore } from '../../store/given-ids.ts'
import { GivenIds, idsOfPath, SentIds } from './given-ids.ts'
import type { Operation } from './native-requests.ts'

/** What ids are looked for in. */
interface Naming {
  readonly key: ApiKey
  readonly provider: Provider
  readonly path: string
  readonly operation: Operation
  readonly read: Buffer | undefined
}

export interface BoundIds {
  readonly given: GivenIds | undefined
  readonly watch: SentIds | undefined
}

const NO_IDS: BoundIds = { given: undefined, watch: undefined }

/** Bodies of these types are no JSON, and name nothing that the provider keeps. */
const UPLOADS = /^(?:multipart|audio|video|image|font)\/|^application\/(?:octet-stream|pdf|zip|gzip|vnd\.)/i

/** Addresses at Google that take the bytes of a file, such as the lines of a data set. An escape or a `;` may lead out of them. */
function isUpload(path: string): boolean {
  const { pathname } = new URL(`http://provider${path}`)
  return /^\/(?:resumable\/)?upload\/[^%;]*$/.test(pathname)
}

/**
 * Binds ids to the key that got them: what reads those that the request names, and those that its reply gives.
 * @param read the body where it has been read. @throws Fault 404 for an id of another key.
 */
export async function bindIds(
  store: GivenIdStore,
  request: IncomingMessage,
  { key, provider, path, operation, read }: Naming,
): Promise<BoundIds> {
  const { method = 'GET', headers } = request
  const caller = { key, provider }
  const named = await idsOfPath(store, caller, path)
  // Lists of vectors are made of nothing that is kept.
  if (typeof operation === 'object' && operation.replies === 'vectors') return NO_IDS
  const mayMake = !['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method)
  const given = mayMake || named.hasOwn ? new GivenIds(caller, named, isKept(operation, path)) : undefined
  if (UPLOADS.test(headers['content-type'] ?? '') || isUpload(path) || headers.upgrade !== undefined) return { given, watch: undefined }
  const watch = new SentIds(store, { ...caller, named }, headers)
  if (!read) return { given, watch }
  watch.push(read)
  const fault = await watch.verdict()
  if (fault) throw fault
  return { given, watch: undefined }
}

/** Wires whose replies are kept unless the request says otherwise. */
const KEEPING: ReadonlySet<string> = new Set(['openai-responses'])

/** True where the reply is of something that the provider keeps, whatever the request says. */
function isKept(operation: Operation, path: string): boolean {
  return typeof operation === 'string' || KEEPING.has(operation.wire) || /\/batches\/?(?:\?|$)/.test(path)
}
