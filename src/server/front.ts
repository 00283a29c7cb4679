/** A server that listens for an HTTP server and hands it the connections: over TLS, or on a Unix socket. */
import type { Server } from 'node:net'

export interface Front {
  readonly server: Server
  /** Ends the connections that the HTTP server does not have yet. */
  cut(): void
}

/** Stops listening. Resolves once the last connection has ended. */
export function closeFront({ server, cut }: Front): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    cut()
  })
}
