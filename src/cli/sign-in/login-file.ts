/** The logins of this account, in one file that it alone can read. One process at a time changes it, so that no refresh token is used twice. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Tokens of one gateway, and what renews them. */
export interface Login {
  readonly issuer: string
  readonly client_id: string
  readonly scopes: readonly string[]
  readonly resource: string | null
  readonly access_token: string
  readonly refresh_token: string | null
  /** ISO 8601; null where the issuer does not state it. */
  readonly obtained_at: string
  readonly expires_at: string | null
}

/** By the address of the gateway; the last one that was added is the one that is meant where none is named. */
export interface Logins {
  readonly current: string | null
  readonly logins: Readonly<Record<string, Login>>
}

/** Milliseconds that a process waits for another one, which calls the issuer meanwhile. */
const LOCK_MS = 30_000
const NONE: Logins = { current: null, logins: {} }

export class LoginFile {
  readonly path: string
  private readonly folder: string

  constructor(env: Readonly<Record<string, string | undefined>> = process.env) {
    this.folder = join(configFolder(env), 'headgate')
    this.path = join(this.folder, 'logins.json')
  }

  /** @throws Error where the file is no list of logins. */
  read(): Logins {
    let text: string
    try {
      text = readFileSync(this.path, 'utf8')
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return NONE
      throw thrown
    }
    const found = parsed(text)
    if (!found) throw new Error(`${this.path} is no list of logins: remove it, and log in again`)
    return found
  }

  /** Replaces the file. Only within `alone`. */
  write(logins: Logins): void {
    const draft = `${this.path}.${process.pid}`
    rmSync(draft, { force: true })
    writeFileSync(draft, `${JSON.stringify(logins, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
    renameSync(draft, this.path)
  }

  /** Runs while no other process does. The lock is one of the operating system: it ends with its process. @throws Error after 30 s. */
  async alone<Result>(run: () => Promise<Result>): Promise<Result> {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    const lock = `${this.path}.lock`
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(lock, { timeout: LOCK_MS })
    try {
      chmodSync(lock, 0o600)
      database.exec('BEGIN EXCLUSIVE')
      return await run()
    } finally {
      database.close()
    }
  }
}

/** XDG Base Directory Specification: a path that is not absolute is ignored. */
function configFolder(env: Readonly<Record<string, string | undefined>>): string {
  const folder = env.XDG_CONFIG_HOME
  return folder !== undefined && isAbsolute(folder) ? folder : join(homedir(), '.config')
}

function parsed(text: string): Logins | undefined {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return undefined
  }
  if (!isObject(value) || !isObject(value.logins) || !Object.values(value.logins).every(isLogin)) return undefined
  return { current: typeof value.current === 'string' ? value.current : null, logins: value.logins as unknown as Logins['logins'] }
}

function isLogin(value: Json | undefined): boolean {
  if (!isObject(value)) return false
  const { issuer, client_id: client, access_token: access, refresh_token: refresh, scopes } = value as JsonObject
  return (
    [issuer, client, access].every((each) => typeof each === 'string') &&
    (refresh === null || typeof refresh === 'string') &&
    Array.isArray(scopes)
  )
}
