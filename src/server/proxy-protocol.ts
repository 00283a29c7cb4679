/**
 * The PROXY protocol, versions 1 and 2: a balancer that does not read HTTP names the caller's address before the first byte.
 * Source: "The PROXY protocol", https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt, sections 2.1 and 2.2.
 */
import { isIP, type Server, type Socket } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { announceAddress } from './client-address.ts'

export interface ProxyProtocolOptions {
  /** Connections from elsewhere are direct ones and carry no header: a receiver must not guess (section 2). */
  readonly isTrusted: (address: string) => boolean
  readonly clock: Pick<Clock, 'after'>
  /** Milliseconds in which the header must have come. */
  readonly limit: number
}

/** `undefined` while more bytes are needed; `bytes` is the length of the header, `address` that of the caller if it names one. */
type Header = { readonly bytes: number; readonly address: string | undefined } | 'invalid' | undefined

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
/** With the line end (section 2.1). */
const MAX_V1_LENGTH = 107
/** The fixed part of version 2, and the longest rest that is accepted: addresses and a few kilobytes of extensions. */
const FIXED_V2 = 16
const MAX_REST_LENGTH = 4096

/** Reads the header of each connection from a trusted proxy before Node's parser, or the TLS handshake, gets the connection. */
export function acceptProxyHeaders(server: Server, { isTrusted, clock, limit }: ProxyProtocolOptions): void {
  const parsers = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const accept = (): void => {
      for (const parser of parsers) parser.call(server, socket)
    }
    if (!isTrusted(socket.remoteAddress ?? '')) accept()
    else
      readHeader(
        socket,
        clock.after(limit, () => socket.destroy()),
        accept,
      )
  })
}

function readHeader(socket: Socket, timer: { cancel(): void }, accept: () => void): void {
  let received: Buffer = Buffer.alloc(0)
  const stop = (): void => {
    timer.cancel()
    socket.off('data', take)
    socket.off('end', give)
    socket.off('close', stop)
    socket.off('error', give)
  }
  const give = (): void => {
    stop()
    socket.destroy()
  }
  const take = (chunk: Buffer): void => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const header = parseHeader(received)
    if (header === undefined) return
    if (header === 'invalid') {
      give()
      return
    }
    stop()
    if (header.address !== undefined) announceAddress(socket, header.address)
    accept()
    // Its reader listens by now, or begins in the next tick, so what came with the header reaches it before anything that comes later.
    if (received.length > header.bytes) socket.unshift(received.subarray(header.bytes))
  }
  socket.on('data', take).on('end', give).on('close', stop).on('error', give)
}

/** Exported for its tests. */
export function parseHeader(bytes: Buffer): Header {
  const shown = Math.min(bytes.length, SIGNATURE.length)
  if (bytes.subarray(0, shown).equals(SIGNATURE.subarray(0, shown))) return bytes.length < FIXED_V2 ? undefined : parseV2(bytes)
  const begins = 'PROXY '.slice(0, bytes.length)
  return bytes.toString('latin1', 0, begins.length) === begins ? parseV1(bytes) : 'invalid'
}

function parseV1(bytes: Buffer): Header {
  const end = bytes.subarray(0, MAX_V1_LENGTH).indexOf('\r\n')
  if (end === -1) return bytes.length < MAX_V1_LENGTH ? undefined : 'invalid'
  const [, family, source = '', ...rest] = bytes.toString('latin1', 0, end).split(' ')
  // After UNKNOWN everything up to the line end is ignored.
  if (family === 'UNKNOWN') return { bytes: end + 2, address: undefined }
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : 0
  if (version === 0 || rest.length !== 3 || isIP(source) !== version) return 'invalid'
  return { bytes: end + 2, address: source }
}

function parseV2(bytes: Buffer): Header {
  const rest = bytes.readUInt16BE(14)
  const version = bytes.readUInt8(12) >> 4
  const command = bytes.readUInt8(12) & 15
  if (version !== 2 || command > 1 || rest > MAX_REST_LENGTH) return 'invalid'
  const length = FIXED_V2 + rest
  if (bytes.length < length) return undefined
  // LOCAL is the balancer's own health check; of other families than IP no address is known.
  const family = command === 0 ? 0 : bytes.readUInt8(13) >> 4
  if (family === 1 && rest >= 12) return { bytes: length, address: [...bytes.subarray(16, 20)].join('.') }
  if (family === 2 && rest >= 36) return { bytes: length, address: byteGroups(bytes.subarray(16, 32)) }
  return family === 1 || family === 2 ? 'invalid' : { bytes: length, address: undefined }
}

function byteGroups(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':')
}
