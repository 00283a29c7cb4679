/** Bodies of the control room's own routes. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseBody } from '../../pipeline/request/read.ts'
import { SAFE_HEADERS } from './files.ts'

/** Bytes and levels of a request. */
const MAX_BYTES = 4096
const DEEPEST = 4

export function reply(
  response: ServerResponse,
  status: number,
  body: JsonObject,
  headers: Readonly<Record<string, string | string[]>> = {},
): void {
  response.writeHead(status, { ...SAFE_HEADERS, ...headers, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(body))
}

/** @throws Fault 400, 413. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  return parseBody(await readBody(request, MAX_BYTES), DEEPEST)
}

/** @throws Fault 413. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new Fault('too_large', { message: `Request payload too large: at most ${maxBytes} bytes are accepted` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
