/** Reads a generating request of the pass-through before it is sent: the requests in its body, and input that stands outside of it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { OutsideInput, OutsideTable } from '../../dialects/canon/outside-input.ts'
import type { UpstreamDialect } from '../../dialects/types.ts'
import { readsTwoWays } from '../../machines/json-bytes/json-source.ts'
import { type IdOwner, withPlainBody } from './native-ids.ts'
import { nativeInput } from './native-input.ts'
import type { NativeRequest } from './native-requests.ts'

/** Reads the body as a whole. @param limit bytes. @throws Fault 408, 413, 499, 503. */
export type ReadBody = (limit: number) => Promise<Buffer>

export interface NativeReading {
  readonly requests: readonly JsonObject[]
  /** True where the reply says nothing of what the work has cost. */
  readonly isLater: boolean
  readonly inputs: readonly OutsideInput[]
  /** The body as it goes out. */
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
  /** Of the wire. */
  readonly table: OutsideTable | undefined
}

/** A request whose cost nothing here bounds. */
export interface Unread {
  /** The part that cannot be read, and what the caller can do. */
  readonly unread: string
  readonly help: string
  /** The body where it was read. */
  readonly body?: Buffer
}

/** Bytes of a body that is read. */
export const MAX_READ = 4 * 1024 * 1024

interface Reader extends IdOwner {
  readonly upstreams: ReadonlyMap<string, UpstreamDialect>
  readonly read: ReadBody
}

/** @throws Fault 404 for an id of another key, 413 for a body without a length that is too long to be read. */
export async function readNative(native: NativeRequest, request: IncomingMessage, reader: Reader): Promise<NativeReading | Unread> {
  const { headers } = request
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  if (contentCoding(headers['content-encoding']) !== undefined) return { unread: 'a body in a content coding', help: 'send it without' }
  if (length !== undefined && length > MAX_READ) return { unread: `a body of more than ${MAX_READ} bytes`, help: 'send a shorter one' }
  const bytes = await reader.read(MAX_READ).catch((thrown: unknown) => {
    if (!(thrown instanceof Fault) || thrown.code !== 'too_large') throw thrown
    const message = `Request payload too large: of a key with a limit, a body without Content-Length may have ${MAX_READ} bytes here`
    throw new Fault('too_large', { message })
  })
  const body = objectIn(bytes)
  if (!body) return { unread: 'a body that is no JSON object', help: 'send one', body: bytes }
  const table = reader.upstreams.get(native.wire)?.outside
  if (readsTwoWays(bytes, body) || differsInCase(body, table))
    return { unread: 'a body that can be read in two ways', help: 'name each member once, in small letters', body: bytes }
  const requests = native.requestsIn(body)
  const inputs = requests.flatMap((one) => nativeInput(one, native.wire, table))
  const isLater = requests[0] !== body || body.background === true
  const plain = await withPlainBody(bytes, body, reader)
  const [first] = inputs
  if (first && isLater)
    return { unread: `${first.field} in a batch or in the background`, help: 'send such requests one by one', body: plain }
  return { requests, isLater, inputs, body: plain, headers, table }
}

/** Members by which models, prices and the number of answers are read, beside those of the tables of outside input. */
const READ: ReadonlySet<string> = new Set([
  ...[
    'model',
    'models',
    'fallbacks',
    'preset',
    'prompt',
    'n',
    'best_of',
    'service_tier',
    'serviceTier',
    'performanceConfig',
    'speed',
    'inference_geo',
    'background',
  ],
  ...['tools', 'web_search_options', 'plugins', 'previous_response_id', 'conversation', 'requests'],
])

/** As Go's encoding/json compares names: without their case, and with the letters of Unicode that fold to ASCII. */
const folded = (name: string): string => name.normalize('NFKC').toLowerCase()

/** True where a server that does not look at the case of names may take one that the gateway does not. */
function differsInCase(body: JsonObject, table: OutsideTable | undefined): boolean {
  const names = Object.keys(body)
  const isRead = (name: string): boolean => READ.has(name) || table?.fields[name] !== undefined
  const isOther = (name: string): boolean => folded(name) !== name && !isRead(name) && isRead(folded(name))
  return new Set(names.map(folded)).size < names.length || names.some(isOther)
}

function objectIn(bytes: Buffer): JsonObject | undefined {
  try {
    const body: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(body as JsonObject) ? (body as JsonObject) : undefined
  } catch {
    return undefined
  }
}
