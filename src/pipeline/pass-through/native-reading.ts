/** What of a generating request of the pass-through is known before it goes out: its body, its model, and its outside input. */
import type { IncomingMessage } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { readsTwoWays } from '../../core/json-source.ts'
import { type OutsideInput, REST_OF_CONTEXT } from '../../dialects/canon/outside-input.ts'
import type { UpstreamDialect } from '../../dialects/types.ts'
import { type IdOwner, withPlainBody } from './native-ids.ts'
import { nativeInput } from './native-input.ts'
import { modelOf, type NativeRequest } from './native-requests.ts'

/** Reads the body as a whole. @param limit bytes. @throws Fault 408, 413, 499, 503. */
export type ReadBody = (limit: number) => Promise<Buffer>

export interface NativeReading {
  readonly model: string | undefined
  readonly inputs: readonly OutsideInput[]
  /** The body as it goes out, where it was read. */
  readonly body: Buffer | undefined
}

/** Bytes of a body that is read. */
export const MOST_READ = 4 * 1024 * 1024

interface Reader extends IdOwner {
  readonly upstreams: ReadonlyMap<string, UpstreamDialect>
  /** Undefined for a WebSocket. */
  readonly read: ReadBody | undefined
}

/** @throws Fault 404 for an id of another key, 413 for a body without a length that is too long to be read. */
export async function readNative(native: NativeRequest, request: IncomingMessage, reader: Reader): Promise<NativeReading> {
  const { headers } = request
  const { read, upstreams } = reader
  if (!read) return unread(native, 'what a WebSocket sends', `send requests over HTTP`)
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  if (length === undefined && headers['transfer-encoding'] === undefined) return { model: native.model, inputs: [], body: undefined }
  if (contentCoding(headers['content-encoding']) !== undefined) return unread(native, 'a body in a content coding', 'send it without')
  if (length !== undefined && length > MOST_READ) return unread(native, `a body of more than ${MOST_READ} bytes`, 'send a shorter one')
  const bytes = await read(MOST_READ).catch((thrown: unknown) => {
    if (!(thrown instanceof Fault) || thrown.code !== 'too_large') throw thrown
    const message = `Request payload too large: of a key with a limit, a body without Content-Length may have ${MOST_READ} bytes here`
    throw new Fault('too_large', { message })
  })
  const body = objectIn(bytes)
  if (!body) return { ...unread(native, 'a body that is no JSON object', 'send one'), body: bytes }
  if (readsTwoWays(bytes, body)) return { ...unread(native, 'a body that can be read in two ways', 'name each member once'), body: bytes }
  const table = upstreams.get(native.wire)?.outside
  const requests = native.requestsIn(body)
  const inputs = requests.flatMap((one) => nativeInput(one, native.wire, table))
  const [first] = inputs
  if (first && (requests[0] !== body || body.background === true))
    throw new Fault('forbidden', {
      message: `${first.field}: what it adds is not in the reply to a batch or a background request: a key with a limit sends such requests one by one`,
      metadata: { field: first.field },
    })
  return { model: modelOf(native, body), inputs, body: await withPlainBody(bytes, body, reader) }
}

const unread = ({ model }: NativeRequest, field: string, help: string): NativeReading => ({
  model,
  inputs: [{ field, tokens: REST_OF_CONTEXT, help }],
  body: undefined,
})

function objectIn(bytes: Buffer): JsonObject | undefined {
  try {
    const body: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(body as JsonObject) ? (body as JsonObject) : undefined
  } catch {
    return undefined
  }
}
