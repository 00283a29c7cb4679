/** `headgate keys …` and `headgate credits …`: sent to the running gateway, and done on its file where none runs. */
import { type KeyCommand, runKeyCommand } from '../api/index.ts'
import { openBookkeeping } from '../cluster/bookkeeping.ts'
import { resolveKeys } from '../config/keys.ts'
import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/types.ts'
import { systemClock } from '../core/clock.ts'
import { badField, Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { KEY_COMMAND_PATH } from '../server/key-command-route.ts'
import { CONSOLE, type Streams } from './console.ts'
import { keyReport } from './key-table.ts'
import { SHIPPED_CONFIG } from './serve.ts'

export interface KeyFlags {
  config?: string
  json?: boolean
  limit?: string
  reset?: string
  expires?: string
  management?: boolean
}

const KEY_VERBS = ['disable', 'enable', 'rotate', 'delete'] as const

/** @param words behind `keys`. @returns the exit code: 2 where the words make no command. */
export function keys(words: readonly string[], flags: KeyFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, name, ...rest] = words
  const ofKey = KEY_VERBS.find((one) => one === verb)
  if (verb === 'list' && name === undefined) return perform({ verb: 'list' }, flags, streams)
  if (verb === 'create' && name !== undefined && rest.length === 0)
    return perform(() => ({ verb: 'create', fields: fieldsOf(name, flags), management: flags.management ?? false }), flags, streams)
  if (ofKey && name !== undefined && rest.length === 0) return perform({ verb: ofKey, key: name }, flags, streams)
  streams.error('headgate: keys: expected list, create NAME, disable KEY, enable KEY, rotate KEY or delete KEY')
  return Promise.resolve(2)
}

/** @param words behind `credits`. @returns the exit code: 2 where the words make no command. */
export function credits(words: readonly string[], flags: KeyFlags, streams: Streams = CONSOLE): Promise<number> {
  const [verb, key, amount, ...rest] = words
  if (verb === undefined) return perform({ verb: 'credits' }, flags, streams)
  if (verb === 'add' && amount !== undefined && rest.length === 0)
    return perform(() => ({ verb: 'add', key, amount: dollars('amount', amount) }), flags, streams)
  streams.error('headgate: credits: expected nothing, or add KEY AMOUNT')
  return Promise.resolve(2)
}

async function perform(asked: KeyCommand | (() => KeyCommand), flags: KeyFlags, streams: Streams): Promise<number> {
  try {
    const command = typeof asked === 'function' ? asked() : asked
    const config = loadConfig(flags.config ?? SHIPPED_CONFIG, process.env)
    const reply = (await askOwner(command, config)) ?? (await onFile(command, config))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : keyReport(command, reply, Date.now()))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

/** The body of `POST /v1/keys`; what is not given is left to its default. */
function fieldsOf(name: string, flags: KeyFlags): JsonObject {
  return {
    name,
    ...(flags.limit === undefined ? {} : { limit: dollars('--limit', flags.limit) }),
    ...(flags.reset === undefined ? {} : { limit_reset: flags.reset }),
    ...(flags.expires === undefined ? {} : { expires_at: flags.expires }),
  }
}

/** @throws Fault where the text is no amount of USD. */
function dollars(field: string, text: string): number {
  if (!/^\d{1,7}(\.\d{1,9})?$/.test(text)) throw badField(field, 'expected an amount of USD such as 10.00')
  return Number(text)
}

/** @returns undefined where nobody listens. @throws Error with what the gateway said against it. */
async function askOwner(command: KeyCommand, { admin }: Config): Promise<JsonObject | undefined> {
  const address = `http://${admin.host.includes(':') ? `[${admin.host}]` : admin.host}:${admin.port}`
  let response: Response
  try {
    response = await fetch(`${address}${KEY_COMMAND_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(command),
      signal: AbortSignal.timeout(30_000),
    })
  } catch {
    return undefined
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok && isObject(body)) return body
  const said = isObject(body) && isObject(body.error) ? body.error.message : `status ${response.status}, which is no answer of a gateway`
  throw new Error(`${address} refused: ${said}`)
}

/** Opens the store itself: where another process owns its file, that is said. */
async function onFile(command: KeyCommand, config: Config): Promise<JsonObject> {
  if (config.store.url === 'memory:') throw new Fault('unavailable', { message: 'no gateway runs, and its store is kept in memory only' })
  const clock = systemClock
  const books = await openBookkeeping({ ...config.store, clock, aside: true, report: () => {} })
  try {
    const { keys: configured, generated } = resolveKeys(config)
    return await runKeyCommand(command, {
      store: books.keys,
      // A random secret of this very moment is nobody's key.
      configured: generated === undefined ? configured : [],
      credit: books.credit,
      brand: config.brand.word,
      clock,
    })
  } finally {
    await books.close()
  }
}
