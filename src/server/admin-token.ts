/** The token that the operator's routes require, and the file that hands it to the command line of the same account. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { closeSync, fchmodSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { Attempts } from '../pipeline/request/attempt-buckets.ts'
import type { ClientAddresses } from './client-address.ts'

const TOKEN_BYTES = 32

/** Buckets of wrong tokens: as of wrong keys at the API listener (`server.auth_failures`), in a book of their own. */
export function createWrongTokens(
  { server: { authFailures } }: Pick<Config, 'server'>,
  clock: Clock,
  addresses: Pick<ClientAddresses, 'of'>,
) {
  return { failures: new Attempts(clock, { burst: authFailures.burst, perSecond: authFailures.perMinute / 60 }), addresses }
}

/** Addresses of the admin listeners, and the token that opens them. */
export interface AdminAddresses {
  host?: string
  /** Names that a `Host` may have, lower case. */
  names?: ReadonlySet<string>
  /** 0 takes a free port. */
  port: number
  /** Opens the operator's routes over TCP; undefined: nothing does. */
  token?: string | undefined
  /** Path of a unix socket that serves every route without a token. */
  socket?: string | undefined
  /** Rights of that socket; 0600 where absent. */
  socketMode?: number
  /** A listener for health and readiness alone. */
  health?: { readonly host: string; readonly port: number } | undefined
}

/**
 * Addresses of the admin listeners, and the token that opens them. A fresh token for each start: a program that listened
 * on the port while the gateway was down, and was sent the old token by the command line, can do nothing with it.
 * Call it once the store is open, so that a second gateway on the same store never replaces the token of the first.
 * @param closers takes what removes the file.
 * @throws Fault `unavailable` naming the file where it cannot be written.
 */
export function adminAddresses({ admin, server }: Pick<Config, 'admin' | 'server'>, closers: (() => void)[]): AdminAddresses {
  const { host, port, socket, socketMode, healthPort, tokenFile } = admin
  const health = healthPort === undefined ? {} : { health: { host: server.host, port: healthPort } }
  const { publicUrl } = server
  const known = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.hostname
  const names = new Set([host, ...(admin.hosts ?? []), ...(known === undefined ? [] : [known])].map((name) => name.toLowerCase()))
  const addresses = { host, port, names, socket, socketMode: Number.parseInt(socketMode, 8), ...health }
  // With a socket and no token of the configuration, TCP serves no operator route.
  if (admin.token !== undefined || socket !== undefined) return { ...addresses, token: admin.token }
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  if (tokenFile !== undefined) {
    writePrivately(tokenFile, token)
    closers.push(() => {
      if (readToken(tokenFile) === token) rmSync(tokenFile, { force: true })
    })
  }
  return { ...addresses, token }
}

/** The rename replaces whatever has the name, so that a link or a file with other rights is never written through. */
function writePrivately(file: string, text: string): void {
  const draft = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true })
    rmSync(draft, { force: true })
    const descriptor = openSync(draft, 'wx', 0o600)
    try {
      fchmodSync(descriptor, 0o600)
      writeSync(descriptor, `${text}\n`)
    } finally {
      closeSync(descriptor)
    }
    renameSync(draft, file)
  } catch (cause) {
    rmSync(draft, { force: true })
    throw new Fault('unavailable', { message: `The admin token cannot be written to ${file}: set admin.token or admin.socket`, cause })
  }
}

/** @returns undefined where the file is missing or may not be read. */
export function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

/**
 * Compares digests, which have one length, in constant time.
 * @returns a check of an `Authorization` header (RFC 6750 section 2.1).
 */
export function tokenCheck(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => false
  const expected = tokenDigest(token)
  return (authorization) => {
    const [, sent] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    return sent !== undefined && timingSafeEqual(tokenDigest(sent), expected)
  }
}

function tokenDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
