/** The operator's settings: `plugins.defaults.mcp`. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { domainRules, OutboundPolicy } from '../outbound/index.ts'

export interface McpSettings {
  readonly enabled: boolean
  readonly policy: OutboundPolicy
  /** True if callers may name a server. */
  readonly allows: (url: URL) => boolean
  /** Milliseconds of one request to a server. */
  readonly timeout: number
  /** Bytes of all answers of a server, and characters of one that the model is shown. */
  readonly maxBytes: number
  readonly maxOutput: number
}

/** @throws Fault 400 naming the path. */
export function mcpSettings(settings: JsonObject, path: string): McpSettings {
  const { enabled = true } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  const number = (name: string, [usual, most]: readonly [number, number]): number => {
    const value = settings[name] ?? usual
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most)
      throw badField(`${path}.${name}`, `expected a whole number from 1 to ${most}`)
    return value
  }
  return {
    enabled,
    policy: checked(
      `${path}.allow_private`,
      () => new OutboundPolicy({ allowPrivate: words(settings.allow_private, `${path}.allow_private`) }),
    ),
    allows: checked(`${path}.servers`, () => domainRules({ allowed: words(settings.servers, `${path}.servers`) })),
    timeout: number('seconds', [30, 600]) * 1000,
    maxBytes: number('max_kb', [8192, 1_048_576]) * 1024,
    maxOutput: number('max_characters', [100_000, 10_000_000]),
  }
}

const known = new WeakMap<JsonObject, McpSettings>()

/** As `mcpSettings`, once for each configuration. */
export function settingsOnce(settings: JsonObject): McpSettings {
  let found = known.get(settings)
  if (!found) {
    found = mcpSettings(settings, 'plugins.defaults.mcp')
    known.set(settings, found)
  }
  return found
}

function words(given: Json | undefined, path: string): string[] {
  const list = given ?? []
  if (!Array.isArray(list) || isObject(list) || !list.every((word) => typeof word === 'string' && word !== ''))
    throw badField(path, 'expected a list of names')
  return list.map(String)
}

function checked<T>(path: string, make: () => T): T {
  try {
    return make()
  } catch (thrown) {
    throw badField(path, thrown instanceof Error ? thrown.message.replace(`${path}: `, '') : 'cannot be read')
  }
}
