/** 4. The body: read once into one buffer, parsed once, checked by the compiled schema of its dialect; files that it names are filled in. */
import { gatewayFields } from '../../canon/gateway-fields.ts'
import { Fault } from '../../core/faults.ts'
import { depthExceeds, isObject, type JsonObject } from '../../core/json.ts'
import type { Authed, Read } from '../../plugin-api/exchange.ts'
import type { Exchange } from '../exchange.ts'
import type { ChainParts, ChainSettings } from '../parts.ts'
import { withPreset } from '../preset-choice.ts'
import { type At, advance, type Layer, type Reply } from '../reply.ts'
import { fillInFiles } from '../stored-files.ts'
import { checkToolCount } from '../tool-count.ts'

export function read(settings: ChainSettings, { admission, files }: Pick<ChainParts, 'admission' | 'files'>): Layer<At<Authed>, At<Read>> {
  return (next) =>
    async function readBody(exchange): Promise<Reply> {
      const bytes = await exchange.door.readBody(settings.maxBody)
      if (exchange.door.contentLength === undefined) {
        admission.takeBytes(exchange.key, bytes.length)
        exchange.books.rateBytes = bytes.length
      }
      const sent = parseBody(bytes, settings.jsonDepth)
      const expanded = exchange.client.expand?.(sent, settings.prompts) ?? sent
      const { body, fields } = withPreset(expanded, exchange.client, settings)
      exchange.client.check(body)
      acceptBody(exchange, body, body === sent ? bytes : Buffer.from(JSON.stringify(body)))
      if (fields) Object.assign(exchange.gateway, fields)
      const filling = fillInFiles(exchange, files, settings.maxBody)
      if (filling) await filling
      // Awaited: handing a promise on from an async function costs three turns of the microtask queue instead of one.
      if (!exchange.stream) return await next(advance<Read>(exchange))
      admission.openStream(exchange.key)
      try {
        return await next(advance<Read>(exchange))
      } finally {
        admission.closeStream(exchange.key)
      }
    }
}

/** Sets what a checked body says. @param bytes the body as JSON text. @throws Fault 400 for more tools than are set up for one request. */
export function acceptBody(exchange: Exchange, body: JsonObject, bytes: Buffer): void {
  checkToolCount(body)
  const session = exchange.headers['x-session-id']
  const shared = gatewayFields(body, typeof session === 'string' ? session : undefined)
  const own = exchange.client.gatewayFields?.(body)
  exchange.accept(body, bytes.length, own ? { ...shared, ...own } : shared)
  exchange.mayHoldMedia = bytes.includes(TYPE) && MEDIA.some((needle) => bytes.includes(needle))
}

/** A part that is no text says so in its type. */
const TYPE = Buffer.from('"type"')

/** Words without which no part of a body is an image, sound, film or file; a hit only means a closer look. */
const MEDIA = ['image', 'audio', 'video', '"file', 'input_file', '"document'].map((word) => Buffer.from(word))

/** @throws Fault 400; what stands in the body is never quoted. */
export function parseBody(bytes: Buffer, depth: number): JsonObject {
  if (bytes.length === 0) throw new Fault('bad_request', { message: 'body: expected a JSON object, found nothing' })
  const text = bytes.toString('utf8')
  if (depthExceeds(text, depth)) throw new Fault('bad_request', { message: `body: nested deeper than ${depth} levels` })
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (problem) {
    const at = /position (\d+)/.exec(String(problem))
    throw new Fault('bad_request', { message: `body: expected valid JSON${at ? `, but it breaks at position ${at[1]}` : ''}` })
  }
  if (!isObject(body)) throw new Fault('bad_request', { message: 'body: expected a JSON object' })
  if (Object.hasOwn(body, '__proto__')) throw new Fault('bad_request', { message: 'body: a field may not be named __proto__' })
  return body
}
