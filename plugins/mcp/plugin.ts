/** Holds the operator's settings of the tool that calls remote MCP servers; it does nothing by itself. */
import { type JsonObject, mcpSettings, type Plugin } from '../../src/plugin-api/index.ts'

export const mcp: Plugin<undefined> = {
  id: 'mcp',
  reserved: ['allow_private', 'servers', 'seconds', 'max_kb', 'max_characters'],
  parse,
}

/** @throws Fault 400 naming the path. */
function parse(settings: JsonObject, path: string): undefined {
  mcpSettings(settings, path)
  return undefined
}
