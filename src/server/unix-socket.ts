/** Unix sockets that a listener has: taken over from a process that was killed, made with their rights, and removed at the end. */
import cluster from 'node:cluster'
import { chmodSync, existsSync, lstatSync, rmSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { connect, createServer, type Server } from 'node:net'
import { dirname } from 'node:path'
import { announceAddress, UNIX_PEER } from './client-address.ts'
import type { Front } from './front.ts'

export interface UnixSocket {
  readonly path: string
  /** Rights of the file. Who may write to it may connect. */
  readonly mode: number
  /** Setting that names it. */
  readonly setting: string
}

/** Removes the socket that a killed process has left. @throws Error where a program answers on it, or something else has its path. */
export async function removeStale({ path, setting }: Pick<UnixSocket, 'path' | 'setting'>): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  if (!found) return
  if (!found.isSocket()) throw new Error(`${setting}: ${path} exists and is no socket: remove it, or choose another path`)
  const answers = await new Promise<boolean>((resolve) => {
    const probe = connect(path)
    // Of a socket on which no process listens the system refuses the connection; any other error says nothing of that.
    probe.once('connect', () => resolve(true)).once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'))
    probe.once('connect', () => probe.destroy())
  })
  // Another process that starts now may have replaced it since: what it has bound is not removed.
  const now = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  const isReplaced = now !== undefined && (now.ino !== found.ino || now.ctimeNs !== found.ctimeNs)
  if (answers || isReplaced) throw new Error(`${setting}: another program listens on ${path}: end it, or choose another path`)
  rmSync(path, { force: true })
}

/**
 * Listens on the path, which nothing has. `listen` binds it before it returns, so that the umask gives it its rights from the first moment.
 * Workers have their owner bind it, and set the rights right after.
 * @throws Error that names the setting.
 */
export async function listenOn(server: Server, { path, mode, setting }: UnixSocket): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      const umask = process.umask(0o777 & ~mode)
      try {
        server.listen({ path }, () => {
          server.off('error', reject)
          resolve()
        })
      } finally {
        process.umask(umask)
      }
    })
    if (cluster.isWorker) chmodSync(path, mode)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    // The system reports a missing directory as a missing right (libuv, uv_pipe_bind2).
    const reason = existsSync(dirname(path)) ? (REASONS[code] ?? message) : 'its directory is not there: make it, or choose another path'
    throw new Error(`${setting}: ${path}: ${reason}`, { cause: error })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: end it, or choose another path',
  EACCES: 'this account may not make a file there: give it the right to, or choose another directory',
}

/** @returns what listens on a Unix socket and hands the connections to `server`. */
export function openUnixFront(server: HttpServer): Front {
  const front = createServer({ allowHalfOpen: true }, (socket) => {
    announceAddress(socket, UNIX_PEER)
    server.emit('connection', socket)
  })
  // The HTTP server has every connection at once.
  return { server: front, cut: () => {} }
}
