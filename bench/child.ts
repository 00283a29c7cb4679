/** The side of a child process: listen on a free loopback port, tell the parent, leave with it. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Leaves when the parent is gone, so that no run leaves a process behind. */
export function leaveWithParent(): void {
  process.on('disconnect', () => process.exit(0))
  // A plain end instead of a kill, so that a profile is written.
  process.on('SIGTERM', () => process.exit(0))
  // A terminal's interrupt reaches the whole group; the parent decides.
  process.on('SIGINT', () => undefined)
}

/**
 * Listens on 127.0.0.1 and sends `{ port }` to the parent. The port is the second argument, which several processes may share, as the
 * workers of the gateway do, or else a free one.
 */
export function serveToParent(server: Server): void {
  leaveWithParent()
  // Pauses between rounds must not close pooled connections.
  server.keepAliveTimeout = 75_000
  server.requestTimeout = 0
  const port = Number(process.argv[3] ?? 0)
  server.listen({ port, host: '127.0.0.1', reusePort: port > 0 }, () => process.send?.({ port: (server.address() as AddressInfo).port }))
}

/** The port of the mock, given as the first argument. */
export function upstreamPort(): number {
  const port = Number(process.argv[2])
  if (!Number.isInteger(port) || port <= 0) throw new Error(`the first argument must be the upstream's port, got ${process.argv[2]}`)
  return port
}
