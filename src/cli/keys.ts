/** `headgate keys …` and `headgate credits …`: sent to the running gateway, and done on its file where none runs. */
import { type KeyCommand, runKeyCommand } from '../api/index.ts'
import type { Config } from '../config/config.ts'
import { resolveKeys } from '../config/keys.ts'
import { loadConfig } from '../config/load.ts'
import { systemClock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { KEY_COMMAND_PATH } from '../server/key-command-route.ts'
import { DiskFiles } from '../services/files/index.ts'
import { CONSOLE, type Streams } from './console.ts'
import { keyReport } from './key-table.ts'
import { askOwner, onStore } from './owner-command.ts'
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

async function perform(wanted: KeyCommand | (() => KeyCommand), flags: KeyFlags, streams: Streams): Promise<number> {
  try {
    const command = typeof wanted === 'function' ? wanted() : wanted
    const config = loadConfig(flags.config ?? SHIPPED_CONFIG, process.env)
    const reply = (await askOwner(KEY_COMMAND_PATH, command, config)) ?? (await onFile(command, config))
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

function onFile(command: KeyCommand, config: Config): Promise<JsonObject> {
  return onStore(config, (books) => {
    const { keys: configured, generated } = resolveKeys(config)
    return runKeyCommand(command, {
      store: books.keys,
      // A secret that was generated just now is not in use as a key.
      configured: generated === undefined ? configured : [],
      credit: books.credit,
      files: new DiskFiles(config.store.files, systemClock),
      brand: config.brand.word,
      clock: systemClock,
    })
  })
}
