import { badField, type JsonObject } from '../../src/plugin-api/index.ts'

export interface CompressionConfig {
  engine: 'middle-out'
  enabled: boolean
}

/** @throws Fault 400 naming `path.engine` or `path.enabled`. */
export function parseConfig(settings: JsonObject, path: string): CompressionConfig {
  const { engine = 'middle-out', enabled = true } = settings
  if (engine !== 'middle-out') throw badField(`${path}.engine`, "expected 'middle-out'")
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  return { engine, enabled }
}
