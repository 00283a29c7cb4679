/** The connection of one caller whose request has come whole. */
import { Fault } from '../../core/faults.ts'
import type { Reading } from '../../pipeline/client-connection.ts'
import { BODY_WEIGHT, noBodyMemory } from '../body-memory.ts'
import { HttpConnection } from '../http-connection.ts'
import type { PlainRequest } from './reply.ts'

export class PlainClient extends HttpConnection {
  declare protected readonly request: PlainRequest

  /** @throws Fault 413 beyond the limit, 499 where the caller has left, 503 without memory for it, and the reason of the cancel. */
  async readBody(limit: number, { payer, cancel }: Reading = {}): Promise<Buffer> {
    const { share, request } = this
    const { body, socket } = request
    if (payer !== undefined) share.for(payer)
    if (body.length > limit) throw new Fault('too_large', { message: `Request payload too large: at most ${limit} bytes are accepted` })
    if (cancel?.aborted) throw cancel.reason
    if (socket.destroyed) throw new Fault('client_gone')
    if (!share.takeNow(body.length * BODY_WEIGHT)) await this.room(body.length * BODY_WEIGHT)
    share.arrived()
    return request.takeBody()
  }

  /** It has come. */
  protected giveUpBody(): void {}

  private room(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (granted: boolean): void => (granted ? resolve() : reject(noBodyMemory()))
      if (this.share.take(bytes, done)) resolve()
    })
  }
}
