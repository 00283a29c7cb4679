/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, domains, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { flag, line, listField } from '../../src/config/fields/scalars.ts'

export const mcp: ShippedPlugin = {
  settings: pluginSettings('Remote MCP servers that callers name, for the tool mcp.', {
    enabled: Type.Optional(flag('False: no request may name a server.')),
    allow_private: Type.Optional(
      listField('Exceptions to the public internet: hosts, addresses or ranges.', line('Such as mcp.corp:8080 or 10.1.0.0/16.', 256)),
    ),
    servers: Type.Optional(domains('Only servers of these. If unset: any public one.')),
    seconds: bounded('Seconds of one call to a server.', [1, 600], 30),
    max_kb: bounded('Kilobytes of all answers of a server to one request.', [1, 1_048_576], 8192),
    max_characters: bounded('Characters of one answer that the model is shown.', [1, 10_000_000], 100_000),
  }),
  acts: 'never',
  does: "Holds the operator's settings of the tool [`mcp`](mcp.md#mcp).",
}
