/** What a reload cannot change: entries of the schema that a process reads once. */
import type { Config } from './config.ts'
import { camelCase } from './resolved.ts'
import { configSchema } from './schema/root.ts'
import type { Rule } from './validate.ts'

/** Paths of the entries, in the words of the file. */
function fixedPaths({ properties = {} }: Rule): string[][] {
  return Object.entries(properties).flatMap(([name, rule]) => (rule.atStart ? [[name]] : fixedPaths(rule).map((path) => [name, ...path])))
}

function valueAt(config: Config, path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>((section, name) => (section as Record<string, unknown>)[camelCase(name)], config)
  return JSON.stringify(value)
}

/** Names of the settings that differ and need a restart; empty where a reload will do. */
export function restartReasons(old: Config, next: Config): string[] {
  return fixedPaths(configSchema as Rule)
    .filter((path) => valueAt(old, path) !== valueAt(next, path))
    .map((path) => path.join('.'))
}
