/** Which requests go to the pass-through. What handles them loads with the first: few gateways get any, and it takes half a megabyte. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { FirstUse } from '../../core/first-use.ts'
import type { PassThroughBody, PassThroughHandler } from './handler.ts'
import { PASS_THROUGH_PREFIX } from './own-address.ts'

export class PassThroughRoutes {
  private readonly handler: FirstUse<PassThroughHandler>

  constructor(make: () => Promise<PassThroughHandler>) {
    this.handler = new FirstUse(make)
  }

  matches(path: string): boolean {
    return path.startsWith(PASS_THROUGH_PREFIX)
  }

  /** Relays one request; whatever refuses it is thrown. */
  async request(request: IncomingMessage, response: ServerResponse, body: PassThroughBody): Promise<void> {
    return (await this.handler.get()).request(request, response, body)
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    return (await this.handler.get()).upgrade(request, socket, head)
  }
}
