/** Which ids are read of a request of the pass-through and of its reply, to bind them to the key that got them. */
import type { IncomingMessage } from 'node:http'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { GivenIdStore } from '../../store/given-ids.ts'
import { GivenIds } from './given-ids.ts'
import { idsOfPath } from './id-owners.ts'
import { ListedIds } from './listed-ids.ts'
import type { Operation } from './native-requests.ts'
import { OVERRIDES, refuseOverrides } from './overrides.ts'
import { SentIds } from './sent-ids.ts'

/** A request, with the parts in which ids are looked for. */
interface Naming {
  readonly key: ApiKey
  readonly provider: Provider
  readonly path: string
  readonly operation: Operation
  readonly read: Buffer | undefined
  /** True where the connection is handed over as a WebSocket, whatever the headers say: neither a body nor a list follows. */
  readonly isSocket: boolean
}

export interface BoundIds {
  readonly given: GivenIds | undefined
  readonly watch: SentIds | undefined
  /** Of a reply that may be a list of what several keys have made. */
  readonly pages: ListedIds | undefined
}

const NO_IDS: BoundIds = { given: undefined, watch: undefined, pages: undefined }

/**
 * Binds ids to the key that got them: what reads those that the request names, and those that its reply gives.
 * @param read the body where it has been read. @throws Fault 404 for an id of another key, 400 for a query that turns it into another request.
 */
export async function bindIds(
  store: GivenIdStore,
  request: IncomingMessage,
  { key, provider, path, operation, read, isSocket }: Naming,
): Promise<BoundIds> {
  const { method = 'GET', headers } = request
  refuseOverrides(new URL(`http://provider${path}`).searchParams)
  const holder = { key, provider }
  const named = await idsOfPath(store, holder, path)
  // Lists of vectors are made of nothing that is kept.
  if (typeof operation === 'object' && operation.replies === 'vectors') return NO_IDS
  const mayMake = !['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method)
  const makes = !mayMake ? 'nothing' : typeof operation === 'object' ? 'a generation' : 'a thing'
  const given = mayMake || named.hasOwn ? new GivenIds(holder, named, { isKept: isKept(operation, path), makes }) : undefined
  if (isSocket) return { ...NO_IDS, given }
  const pages = mayList(request, path) && !named.isOfOwn ? new ListedIds(store, holder, { headers, path }) : undefined
  const watch = new SentIds(store, { ...holder, named, path }, headers)
  if (!read) return { given, watch, pages }
  watch.push(read)
  const fault = await watch.verdict()
  if (fault) throw fault
  return { given, watch: undefined, pages }
}

/** Bytes of a file are no list, whatever is in them. At any other letter than these a server may end the path. */
const CONTENT = /^[\w.~@:/-]*(?:\/content|:download)$/

function mayList({ method = 'GET', headers }: IncomingMessage, path: string): boolean {
  const [pathname = ''] = path.split('?', 1)
  return (
    (method === 'GET' || OVERRIDES.some((name) => headers[name] !== undefined)) && (!CONTENT.test(pathname) || /\/\.{0,2}\//.test(pathname))
  )
}

/** Wires whose replies are kept unless the request says otherwise. */
const KEEPING: ReadonlySet<string> = new Set(['openai-responses'])

/** True where the reply is of something that the provider keeps, whatever the request says. */
function isKept(operation: Operation, path: string): boolean {
  return typeof operation === 'string' || KEEPING.has(operation.wire) || /\/batches\/?(?:\?|$)/.test(path)
}
