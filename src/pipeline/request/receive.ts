/** Checks the head of a request before a byte of its body is read, and writes the end of the reply when all below has ended. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Timer } from '../../core/clock.ts'
import { entryAt } from '../../core/entry-at.ts'
import { absoluteDocs, asFault, badField, Fault, faultReply } from '../../core/faults.ts'
import { usdText } from '../../core/money-text.ts'
import { noUsage } from '../../dialects/canon/usage.ts'
import { answeredHere } from '../attempt/turn.ts'
import type { ChainDependencies, ChainSettings } from '../dependencies.ts'
import type { Exchange, Guarded, Received } from '../exchange.ts'
import type { Reply, Service } from '../layer.ts'
import { metadataOnFault, routerMetadata } from '../reply/metadata.ts'
import { ReplyStream } from '../reply/reply-stream.ts'
import { idHeaders } from '../reply-headers.ts'

/** The whole of the chain towards the server: nothing is thrown, everything has been answered. */
export type Front = (exchange: Exchange) => Promise<void>

export function receiveLayer(
  { callers }: Pick<ChainSettings, 'callers'>,
  dependencies: ChainDependencies,
): (next: Service<Received>) => Front {
  return (next) =>
    async function handle(exchange) {
      let deadline: Timer | undefined
      const { server, brand } = exchange.head.config
      try {
        const allowed = requestDeadline(exchange.head.headers, brand.headers.deadline, server.deadline)
        checkBodyHead(exchange.head.headers, exchange.head.connection.contentLength, server.maxBody)
        checkSession(exchange)
        deadline = dependencies.clock.after(allowed, () => exchange.head.cancel.abort(new Fault('deadline')))
        const reply = await next(exchange)
        const { refused, aborted, fault, lane } = reply.turn
        if (fault) absoluteDocs(fault, server.publicUrl)
        // As long as nothing has gone out, a refused answer is a refusal like any other.
        const plainly = refused !== undefined && !aborted && exchange.run.reply?.sent !== true
        if (plainly) refuse(exchange, refused)
        else answer(exchange, reply)
        dependencies.recordExchange(exchange, { status: plainly ? refused.status : aborted ? 499 : 200, fault: fault ?? refused, lane })
      } catch (thrown) {
        const fault = absoluteDocs(asFault(thrown), server.publicUrl)
        dependencies.refusing?.(exchange, fault)
        refuse(exchange, fault)
        const key = exchange.auth ? undefined : callers.atHand(exchange.head)
        dependencies.recordExchange(exchange, { status: fault.status, fault, key })
      } finally {
        deadline?.cancel()
        if (exchange.run.reply?.ended === false) exchange.run.reply.stop()
      }
    }
}

function answer(exchange: Exchange, reply: Reply): void {
  const {
    run: { final },
  } = exchange
  if (!final || reply.turn.aborted) return
  if (reply.pieces) {
    exchange.head.connection.whole(200, answerHeaders(exchange), reply.pieces(final))
    return
  }
  const text = reply.finish(final)
  if (exchange.run.reply) {
    exchange.run.reply.open()
    exchange.run.reply.end(text, reply.raw, final.fault)
  } else exchange.head.connection.whole(200, answerHeaders(exchange), text)
}

/** Of a reply that goes out whole: by then it is settled. A request that was refused before it could cost anything has no cost. */
function answerHeaders(exchange: Exchange): Record<string, string> {
  const headers = idHeaders(exchange)
  const {
    head: { config },
    run: { final },
  } = exchange
  if (config.server.costHeader && final) headers[config.brand.headers.cost] = usdText(final.cost)
  return headers
}

function refuse(exchange: Exchange, fault: Fault): void {
  if (fault.code === 'client_gone' || fault.code === 'shutdown') return
  if (exchange.run.reply?.sent) {
    exchange.run.reply.end(inBand(exchange, fault), false, fault)
    return
  }
  const { request } = exchange
  if (fault.type === 'context_length_exceeded' && request?.stream === true && request.client.overflowInStream) {
    const reply = exchange.run.reply ?? new ReplyStream({ ...exchange, request })
    reply.open()
    reply.end(inBand(exchange, fault), false, fault)
    return
  }
  const shown = metadataOnFault(exchange, fault)
    ? { key: `${exchange.head.brand}_metadata`, value: routerMetadata(exchange, true) }
    : undefined
  const reply = faultReply(fault, {
    headers: answerHeaders(exchange),
    routerMetadata: shown,
    id: exchange.head.id,
    body: exchange.run.client.faultBody,
    codeForm: exchange.run.ctx.codeForm,
  })
  exchange.head.connection.whole(reply.status, reply.headers, reply.json)
}

/** The head had gone out early: the failure becomes the dialect's one terminal event. */
function inBand(exchange: Exchange, fault: Fault): string {
  const final = exchange.run.final ?? {
    usage: noUsage(),
    cost: 0,
    inputCost: 0,
    outputCost: 0,
    end: { reason: 'error' as const },
    completedAt: Math.floor(exchange.head.clock.now() / 1000),
  }
  const metadata = metadataOnFault(exchange, fault) ? routerMetadata(exchange, true) : undefined
  // Earlier turns may have written events: the path that wrote them knows what the last event must hold.
  const encoder = exchange.run.path ?? exchange.run.client.streamEncoder(exchange.run.ctx)
  return encoder.finish({ ...final, end: { reason: 'error' }, fault, metadata })
}

/** Checks the headers that describe the body. @param contentLength bytes. @throws Fault 413, 415. */
export function checkBodyHead(headers: IncomingHttpHeaders, contentLength: number | undefined, maxBody: number): void {
  if (contentLength !== undefined && contentLength > maxBody) {
    throw new Fault('too_large', { message: `Request payload too large: at most ${maxBody} bytes are accepted` })
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Fault('media_type', { message: 'content-encoding: request bodies are taken uncompressed only' })
  }
  const type = headers['content-type']
  if (type !== undefined && type !== 'application/json' && !isJsonLabel(type))
    throw new Fault('media_type', { message: 'content-type: expected application/json' })
}

function checkSession({ head: { headers } }: Exchange): void {
  const session = headers['x-session-id']
  if (session !== undefined && session.length > 256) {
    throw new Fault('bad_request', { message: 'x-session-id: must be at most 256 characters', metadata: { field: 'x-session-id' } })
  }
}

/** The form type is what curl says of any body; it is taken for JSON. */
function isJsonLabel(type: string): boolean {
  const [name = '', ...parameters] = type.toLowerCase().split(';')
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='))
  if (charset !== undefined && charset.slice(8).replaceAll('"', '') !== 'utf-8') return false
  return /^\s*application\/([\w.+-]+\+)?(json|x-www-form-urlencoded)\s*$/.test(name)
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/
const DURATION = /^(\d{1,9})(ms|s|m|h)$/

/**
 * Milliseconds from the head of the request to its end. `X-<Brand>-Deadline` is a decimal number of seconds or a
 * duration as the configuration writes it (`1500ms`, `30s`, `2m`); it can only shorten.
 * @param name of that header. @param configured milliseconds of `server.deadline`.
 * @throws Fault 400 naming the header.
 */
export function requestDeadline(headers: IncomingHttpHeaders, name: string, configured: number): number {
  const value = headers[name]
  if (value === undefined) return configured
  const wanted = typeof value === 'string' ? milliseconds(value.trim()) : 0
  if (!(wanted > 0)) throw badField(name, 'expected seconds above 0 such as 2.5, or a duration such as 1500ms, 30s or 2m')
  return Math.min(wanted, configured)
}

/** Not a number where the text is neither. */
function milliseconds(text: string): number {
  if (SECONDS.test(text)) return Number(text) * 1000
  const [, count, unit] = DURATION.exec(text) ?? []
  const size = unit === undefined ? undefined : UNITS[unit]
  return size === undefined ? Number.NaN : Number(count) * size
}

/** Answers with a whole stream without content, free of charge: no provider is called. */
export function prepareResponse(): Service<Guarded> {
  return async function handle(exchange) {
    const { run, route, request, head } = exchange
    const endpoint = entryAt(route.endpoints, 0)
    run.ctx.model = endpoint.model.slug
    run.final = {
      usage: noUsage(),
      cost: 0,
      inputCost: 0,
      outputCost: 0,
      end: { reason: 'stop' },
      completedAt: Math.floor(head.clock.now() / 1000),
    }
    run.reply = new ReplyStream(exchange)
    const encoder = request.client.streamEncoder(run.ctx)
    return { turn: answeredHere(endpoint), finish: (final) => encoder.finish(final) }
  }
}
