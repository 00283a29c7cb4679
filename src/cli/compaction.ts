/** `headgate compaction …`: the keys of compaction items. Sent to the running gateway, and done on its file where none runs. */

import { type CompactionCommand, runCompactionCommand } from '../api/index.ts'
import { systemClock } from '../core/clock.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { CompactionKeys } from '../services/compaction/compaction-keys.ts'
import { commandOrigin } from './command-origin.ts'
import { CONSOLE, type Streams } from './console.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import { table } from './plan-table.ts'

export interface CompactionFlags extends GatewayFlags {
  json?: boolean
}

/** @param words behind `compaction`. @returns the exit code: 2 where the words make no command. */
export async function compaction(words: readonly string[], flags: CompactionFlags, streams: Streams = CONSOLE): Promise<number> {
  const command = parseCommand(words)
  if (!command) {
    streams.error('headgate: compaction: expected list, rotate or remove NUMBER')
    return 2
  }
  try {
    const gateway = await Gateway.find(flags)
    const reply =
      (await gateway.ask('/compaction/command', command)) ??
      (await gateway.onStore(({ compactionKeys: stored }, config) => {
        const compactionKeys = new CompactionKeys(stored, config.compaction)
        return runCompactionCommand(command, { compactionKeys, clock: systemClock, origin: commandOrigin() })
      }))
    streams.out(flags.json ? JSON.stringify(reply, null, 2) : keyTable(reply))
    return 0
  } catch (error) {
    streams.error(`headgate: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}

function parseCommand([verb, number, ...rest]: readonly string[]): CompactionCommand | undefined {
  if ((verb === 'list' || verb === 'rotate') && number === undefined) return { verb }
  if (verb !== 'remove' || number === undefined || rest.length > 0 || !/^\d{1,15}$/.test(number)) return undefined
  return { verb, key: Number(number) }
}

function keyTable({ data }: JsonObject): string {
  const keys = Array.isArray(data) ? data.filter(isObject) : []
  return table(
    ['key', 'made', 'use'],
    keys.map(({ number, created_at: made, encrypts }) => [
      String(number),
      String(made).slice(0, 16).replace('T', ' '),
      encrypts ? 'encrypts and decrypts' : 'decrypts',
    ]),
  )
}
