/**
 * The gateway that a command is for: the running one, found by its address and admin token alone, and its store where none runs.
 * A configuration is read in its parts `admin` and `store` only, since the shell of an operator has none of the other variables.
 */
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { isAbsolute } from 'node:path'
import { json } from 'node:stream/consumers'
import { parse, stringify } from 'yaml'
import { readConfig } from '../app/config-reader.ts'
import { type Bookkeeping, openBookkeeping } from '../cluster/bookkeeping.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/expand.ts'
import { ConfigError } from '../config/problems.ts'
import { AuditKeys } from '../core/audit-keys.ts'
import { systemClock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { listenerUrl } from '../core/listener-url.ts'
import { isPem } from '../core/pem.ts'
import { isInside } from '../core/program-files.ts'
import { readToken } from '../server/admin-token.ts'
import type { CommandPath } from '../server/operator-commands.ts'
import { type AdminPlace, type AdminRequest, addressText, requestAdmin, socketIn } from './admin-request.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

export interface GatewayFlags {
  config?: string | undefined
  /** Of the admin listener; also `HEADGATE_ADMIN_URL`. The token is then in `HEADGATE_ADMIN_TOKEN`. */
  url?: string | undefined
}

/** Milliseconds. */
const MAX_COMMAND_LENGTH = 30_000

export class Gateway {
  private readonly place: AdminPlace
  /** The configuration whose store is opened where no gateway runs; undefined where an address was given. */
  private readonly file: string | undefined
  /** The configuration that exports are named in. */
  private readonly named: string
  private readonly env: Environment

  private constructor(place: AdminPlace, { file, named, env }: { file: string | undefined; named: string; env: Environment }) {
    this.place = place
    this.file = file
    this.named = named
    this.env = env
  }

  /** @throws Error for an address that is none, ConfigError for a file that cannot be read. */
  static async find({ config, url }: GatewayFlags, env: Environment = process.env): Promise<Gateway> {
    const address = url ?? (config === undefined ? env.HEADGATE_ADMIN_URL : undefined)
    if (address !== undefined && address !== '')
      return new Gateway(placeAt(address, env), { file: undefined, named: config ?? SHIPPED_CONFIG, env })
    const file = config ?? SHIPPED_CONFIG
    return new Gateway(placeIn(await adminPart(file, env), env), { file, named: file, env })
  }

  /** @returns undefined where no gateway listens. @throws Error with the message of the gateway's refusal. */
  send(request: AdminRequest): Promise<IncomingMessage | undefined> {
    return requestAdmin(request, this.place)
  }

  /**
   * @param path of the admin listener's route.
   * @returns undefined where no gateway listens. @throws Error with the message of the gateway's refusal.
   */
  async ask(path: CommandPath, command: object): Promise<JsonObject | undefined> {
    const reply = await this.send({ method: 'POST', path, body: { ...command }, limit: MAX_COMMAND_LENGTH })
    if (!reply) return undefined
    const body: unknown = await json(reply)
    if (!isObject(body)) throw new Error('the admin listener sent no answer of a gateway')
    return body
  }

  /**
   * Opens the store itself: where another process owns its file, the error says so.
   * @param isThere for what only reads: a store that was never written is no empty one. @throws Fault `unavailable`, ConfigError.
   */
  async onStore<T>(work: (bookkeeping: Bookkeeping, config: Config) => Promise<T>, { isThere = false } = {}): Promise<T> {
    if (this.file === undefined) throw new Fault('unavailable', { message: `no gateway listens at ${addressText(this.place)}` })
    const config = await this.configuration()
    if (config.store.url === 'memory:') throw new Fault('unavailable', { message: `${this.absent}, and its store is kept in memory only` })
    if (isThere) refuseMissing(config.store.url, this.absent)
    const bookkeeping = await openBookkeeping({
      ...config.store,
      auditKeys: new AuditKeys(config.audit),
      clock: systemClock,
      aside: true,
      report: () => {},
    }).catch((error) => {
      throw error instanceof Fault ? new Fault('unavailable', { message: `${this.absent}, and its ${error.message}`, cause: error }) : error
    })
    try {
      return await work(bookkeeping, config)
    } finally {
      await bookkeeping.close()
    }
  }

  private get absent(): string {
    return `no gateway listens at ${addressText(this.place)} (--url names another address)`
  }

  /** All of the configuration, with its variables. @throws ConfigError */
  configuration(): Promise<Config> {
    return readConfig(this.named, this.env)
  }
}

/** @throws Fault where the store is a file that is not there. */
function refuseMissing(url: string, absent: string): void {
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length).split('?')[0] : undefined
  if (file === undefined || existsSync(file)) return
  const remedy = isAbsolute(file) ? '' : `: its path is relative to the directory of the gateway, and this is ${process.cwd()}`
  throw new Fault('unavailable', { message: `${absent}, and its store ${file} is not there${remedy}` })
}

function placeAt(text: string, env: Environment): AdminPlace {
  const address = socketIn(text) ?? URL.parse(text)
  if (address === null || (typeof address !== 'string' && !/^https?:$/.test(address.protocol)))
    throw new Error(
      `expected the address of an admin listener such as http://127.0.0.1:8081, or unix: and the path of its socket, found ${text}`,
    )
  const token = env.HEADGATE_ADMIN_TOKEN
  const remedy =
    token === undefined
      ? 'set HEADGATE_ADMIN_TOKEN to its admin token (admin.token of its configuration, or the file .admin-token beside its store)'
      : 'HEADGATE_ADMIN_TOKEN is not the token of the gateway that runs there'
  return { address, token, remedy }
}

function placeIn({ host, port, socket, token, tokenFile, tls }: Config['admin'], env: Environment): AdminPlace {
  // The variable is last: it may hold the token of another gateway, which is nothing for whatever listens here.
  const own = token ?? (socket === undefined && tokenFile !== undefined ? readToken(tokenFile) : undefined)
  const found = own ?? env.HEADGATE_ADMIN_TOKEN
  const address = socket ?? new URL(listenerUrl(tls ? 'https' : 'http', host, port))
  const certificate = tls && writtenCertificate(tls.cert)
  return {
    address,
    token: found,
    certificate,
    remedy: remedyFor({ token, tokenFile, isFromVariable: own === undefined && found !== undefined }),
  }
}

/** @returns the certificate of the listener; undefined where this account may not read it, so that it has to verify as any other. */
function writtenCertificate(cert: string): string | undefined {
  try {
    return new X509Certificate(isPem(cert) ? cert : readFileSync(cert)).toString()
  } catch {
    return undefined
  }
}

interface TokenSource {
  readonly token: string | undefined
  readonly tokenFile: string | undefined
  readonly isFromVariable: boolean
}

function remedyFor({ token, tokenFile, isFromVariable }: TokenSource): string {
  if (token !== undefined || isFromVariable)
    return `${token === undefined ? 'HEADGATE_ADMIN_TOKEN' : 'admin.token'} is not the token of the gateway that runs there`
  if (tokenFile === undefined) return 'its store is in memory, so there is no token file: set admin.token or admin.socket'
  return `expected the admin token of the gateway that runs there in ${tokenFile}: run the command in its directory and as its account, or set admin.token or HEADGATE_ADMIN_TOKEN`
}

/** Parts of a file that say where its gateway is reached. The store's address is left out where its variables are missing. */
async function adminPart(file: string, env: Environment): Promise<Config['admin']> {
  if (isInside(file)) return (await readConfig(file, env)).admin
  const written: unknown = parse(readFileSync(file, 'utf8'), { maxAliasCount: 10_000 })
  if (!isObject(written as JsonObject)) return (await readConfig(file, env)).admin
  const { admin, store } = written as JsonObject
  const only = { providers: {}, ...(admin === undefined ? {} : { admin }) }
  for (const part of store === undefined ? [only] : [{ ...only, store }, only])
    try {
      return (await readConfig(file, env, { lookOnly: true, text: stringify(part) })).admin
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
    }
  // Its problems are those of the file as it is, with their lines.
  return (await readConfig(file, env)).admin
}
