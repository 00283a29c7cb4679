/** `headgate byok …`: keys of providers that teams bring. Sent to the running gateway, and done on its store where none runs. */
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type ByokCommand, runByokCommand } from '../api/index.ts'
import { byokSource } from '../app/byok-source.ts'
import { resolveKeys } from '../config/keys.ts'
import { systemClock } from '../core/clock.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, plural, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface ByokFlags extends GatewayFlags {
  json?: boolean
  name?: string
  fallback?: boolean
  models?: string
  users?: string
  keys?: string
  /** A file with the key; absent: it is read from standard input. */
  'key-file'?: string
}

/** @param words behind `byok`. @param input where the key of `add` comes from. @returns the exit code: 2 where the words make no command. */
export async function byok(
  words: readonly string[],
  flags: ByokFlags,
  { streams = CONSOLE, input = process.stdin }: { streams?: Streams; input?: NodeJS.ReadableStream } = {},
): Promise<number> {
  const [verb = '', named, ...rest] = words
  if (!isVerb(verb) || rest.length > 0 || (named === undefined) !== (verb === 'list' || verb === 'rotate')) {
    streams.error('headgate: byok: expected list, add PROVIDER, disable ENTRY, enable ENTRY, remove ENTRY or rotate')
    return 2
  }
  try {
    const command: ByokCommand = verb === 'add' ? { verb, body: await entryBody(String(named), flags, input) } : { verb, entry: named }
    const gateway = await Gateway.find(flags)
    const reply =
      (await gateway.ask('/byok/command', command)) ??
      (await gateway.onStore(async ({ byokKeys, keys: store }, config) => {
        const source = byokSource(config, { byok: byokKeys, store, configured: resolveKeys(config).keys, clock: systemClock })
        return runByokCommand(command, { ...source, origin: commandOrigin() })
      }))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : keyTable(reply))
    if (verb === 'rotate' && !flags.json) streams.out(`${plural(Number(reply.rewrapped), 'key')} encrypted anew`)
    const unusable = Array.isArray(reply.unusable) ? reply.unusable : []
    if (unusable.length === 0) return 0
    streams.error(`headgate: no key of byok.encryption_keys opens ${unusable.join(', ')}`)
    return 1
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

const VERBS: readonly ByokCommand['verb'][] = ['list', 'add', 'disable', 'enable', 'remove', 'rotate']
const isVerb = (word: string): word is ByokCommand['verb'] => VERBS.some((verb) => verb === word)

/** The key is never an argument: those of a process are shown to all users of the machine. */
async function entryBody(provider: string, flags: ByokFlags, input: NodeJS.ReadableStream): Promise<JsonObject> {
  const file = flags['key-file']
  const key = (file === undefined ? await text(input) : readFileSync(file, 'utf8')).trim()
  const list = (written: string | undefined): string[] | undefined => written?.split(',').map((each) => each.trim())
  const body = {
    ...{ provider, key, name: flags.name, is_fallback: flags.fallback },
    ...{ allowed_models: list(flags.models), allowed_user_ids: list(flags.users), allowed_api_key_hashes: list(flags.keys) },
  }
  return Object.fromEntries(Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

function keyTable({ data }: JsonObject): string {
  const entries = Array.isArray(data) ? data.filter(isObject) : []
  return table(
    ['id', 'provider', 'name', 'key', 'use'],
    entries.map(({ id, provider, name, label, disabled, is_fallback: isFallback }) => [
      ...[String(id), String(provider), String(name ?? '-'), String(label)],
      disabled ? 'disabled' : isFallback ? 'fallback' : 'first',
    ]),
  )
}
