/** Settings of the plugin: the operator's, and the fields of a request's entry (docs/contract.md#plugins). */
import { badField, type JsonObject, pageAccount, parseFetchLimits, parseFetchSettings } from '../../src/plugin-api/index.ts'

/** Fields that an entry has in common with the tool's parameters. */
const SHARED = ['engine', 'max_uses', 'max_content_tokens', 'allowed_domains', 'blocked_domains']

export interface WebFetchConfig {
  enabled: boolean
  /** Of the tool. */
  parameters: JsonObject
  path: string
}

/** @throws Fault 400 naming the path. */
export function parseConfig(settings: JsonObject, path: string): WebFetchConfig {
  const { enabled = true } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  const { engine, ...operators } = settings
  parseFetchLimits(operators, path)
  pageAccount(parseFetchSettings(path.startsWith('plugins.defaults.') ? settings : operators, path), engine, `${path}.engine`)
  const parameters: JsonObject = {}
  for (const name of SHARED) if (settings[name] !== undefined) parameters[name] = settings[name]
  return { enabled, parameters, path }
}
