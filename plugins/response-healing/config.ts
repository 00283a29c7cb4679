import { badField, type JsonObject } from '../../src/plugin-api/index.ts'

export interface HealingConfig {
  enabled: boolean
}

/** @throws Fault 400 naming `path.enabled`. */
export function parseConfig({ enabled = true }: JsonObject, path: string): HealingConfig {
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  return { enabled }
}
