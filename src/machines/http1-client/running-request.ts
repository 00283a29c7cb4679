/** A request on its connection. */
import type { Dispatcher } from 'undici'
import type { Phase } from '../../services/connections/connection-failure.ts'

/** A request as its bytes are written. */
export interface WholeRequest {
  /** Request line and headers: but for the length of the body, or all of them where there is none. */
  readonly head: string
  readonly body: string | Buffer | undefined
  /** The reply goes on to a caller: all fields of its head count. */
  readonly isRelayed: boolean
  /** The reply has no content, whatever its head announces: the method is HEAD (RFC 9110 section 9.3.2). */
  readonly isHead: boolean
}

/** Interface of a connection for its request. */
interface RequestCarrier {
  readonly phase: Phase | undefined
  pause(): void
  resume(): void
  /** Ends the connection, and its request with this error. */
  fail(error: Error): void
}

/** A request with its reply. It lets go of the connection as the reply ends, so that a late call of its handler cannot end the next one. */
export class RunningRequest implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  /** Let go of once it is written: a large body must not wait for its reply. */
  request: WholeRequest | undefined
  readonly handler: Dispatcher.DispatchHandler
  /** Undefined once the reply has ended. */
  connection: RequestCarrier | undefined

  constructor(connection: RequestCarrier, request: WholeRequest, handler: Dispatcher.DispatchHandler) {
    this.connection = connection
    this.request = request
    this.handler = handler
  }

  /** Stage that its connection waits for, where that does not stand yet. */
  get phase(): Phase | undefined {
    return this.connection?.phase
  }

  pause(): void {
    this.paused = true
    this.connection?.pause()
  }

  resume(): void {
    this.paused = false
    this.connection?.resume()
  }

  abort(reason: Error): void {
    if (this.connection === undefined) return
    this.aborted = true
    this.reason = reason
    this.connection.fail(reason)
  }
}
