/** Messages of AWS's binary event stream, as a server writes them (smithy.io, "Amazon Event Stream Specification"). */
import { crc32 } from 'node:zlib'
import type { JsonObject } from '../../src/core/json.ts'

export const EVENT_STREAM_TYPE = 'application/vnd.amazon.eventstream'

/** A header whose value is text: type 7. */
function textHeader(name: string, value: string): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), Buffer.from([7]), length, bytes])
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

export function message(headers: Readonly<Record<string, string>>, payload: Buffer): Buffer {
  const written = Buffer.concat(Object.entries(headers).map(([name, value]) => textHeader(name, value)))
  const lengths = Buffer.concat([uint32(16 + written.length + payload.length), uint32(written.length)])
  const body = Buffer.concat([lengths, uint32(crc32(lengths)), written, payload])
  return Buffer.concat([body, uint32(crc32(body))])
}

const JSON_CONTENT = { ':content-type': 'application/json' }

/** `p` is padding of any length against those who measure packets (recordings). */
export function event(type: string, data: JsonObject): Buffer {
  const payload = Buffer.from(JSON.stringify({ ...data, p: 'abcdefgh' }))
  return message({ ':event-type': type, ...JSON_CONTENT, ':message-type': 'event' }, payload)
}

export function exception(type: string, text: string): Buffer {
  const payload = Buffer.from(JSON.stringify({ message: text }))
  return message({ ':exception-type': type, ...JSON_CONTENT, ':message-type': 'exception' }, payload)
}
