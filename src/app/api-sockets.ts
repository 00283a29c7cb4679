/** The Unix sockets of the API: the operator's, and one on which the control room reaches it where its port speaks TLS. */
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { removeStale, type UnixSocket } from '../server/unix-socket.ts'
import { temporaryDirectory } from './temporary-directory.ts'

const SETTING = 'server.socket'

/**
 * Readies the paths, before the first process listens: none of them may have been left by a killed process.
 * @param closers takes what removes the control room's. @returns its path; undefined without TLS, where the port serves it.
 * @throws Error that names the setting.
 */
export async function readySockets({ server }: Pick<Config, 'server'>, closers: (() => void)[]): Promise<string | undefined> {
  if (server.socket !== undefined) await removeStale({ path: server.socket, setting: SETTING })
  if (!server.tls) return undefined
  return join(temporaryDirectory('api', closers), 'api.sock')
}

/** @param roomSocket as `readySockets` has returned it. */
export function apiSockets({ server }: Pick<Config, 'server'>, roomSocket: string | undefined): UnixSocket[] {
  const sockets: UnixSocket[] = []
  if (server.socket !== undefined) sockets.push({ path: server.socket, mode: Number.parseInt(server.socketMode, 8), setting: SETTING })
  if (roomSocket !== undefined) sockets.push({ path: roomSocket, mode: 0o600, setting: SETTING })
  return sockets
}
