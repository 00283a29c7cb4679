/** A server of its own whose every request and upgrade goes through the pass-through to one provider. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { openaiChat } from '../../src/dialects/chat/index.ts'
import type { Provider } from '../../src/routing/catalog/types.ts'
import { type PassThroughEnd, PassThroughProxy } from '../../src/services/upstream/pass-through.ts'
import { Pools } from '../../src/services/upstream/pools.ts'
import { provider } from '../routing/catalogue.ts'
import { FakeClock } from './clock.ts'

export const LIMITS = { connect: 5_000, firstByte: 7_000, firstByteWhole: 8_000, idle: 30_000, total: 600_000 }

export interface Front {
  url: string
  clock: FakeClock
  ends: PassThroughEnd[]
  /** Resolves with the next end that comes. */
  nextEnd(): Promise<PassThroughEnd>
  holdEnds(promise: Promise<void>): void
  /** The caller's requests and replies as the pass-through got them. */
  readonly exchanges: readonly { request: IncomingMessage; response: ServerResponse }[]
  close(): Promise<void>
}

/** A server whose every request and upgrade goes through the pass-through to one provider. */
export async function startFront(baseUrl: string | undefined, facts: Partial<Provider> = {}): Promise<Front> {
  const clock = new FakeClock()
  const pools = new Pools()
  const proxy = new PassThroughProxy(clock, pools)
  const acme = provider('acme', { baseUrl, timeouts: LIMITS, ...facts })
  const ends: PassThroughEnd[] = []
  let waiting: ((end: PassThroughEnd) => void)[] = []
  let held: Promise<void> | undefined
  const call = (path: string | undefined) => ({
    provider: acme,
    path: path ?? '/',
    address: 'http://gateway/v1/passage/acme',
    auth: ['Authorization', 'Bearer provider-key'] as const,
    errors: openaiChat.decodeFault,
    onEnd: (end: PassThroughEnd) => {
      ends.push(end)
      for (const resolve of waiting) resolve(end)
      waiting = []
      return held
    },
  })
  const exchanges: { request: IncomingMessage; response: ServerResponse }[] = []
  const web = (request: IncomingMessage, response: ServerResponse) => {
    exchanges.push({ request, response })
    proxy.web(request, response, call(request.url))
  }
  const server = createServer(web)
  server.on('checkContinue', web)
  server.on('upgrade', (request, socket: Socket, head) => proxy.upgrade(request, socket, head, call(request.url)))
  await listening(server)
  return {
    url: serverAddress(server),
    clock,
    ends,
    exchanges,
    nextEnd: () => new Promise((resolve) => waiting.push(resolve)),
    holdEnds: (promise) => {
      held = promise
    },
    close: async () => {
      proxy.close()
      await pools.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export async function listening(server: { listen(port: number, host: string): unknown } & NodeJS.EventEmitter): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

export function serverAddress(server: { address(): unknown }): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
