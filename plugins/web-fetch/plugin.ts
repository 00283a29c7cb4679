/** Offers the server tool `web_fetch` with the plugin's limits, so that the model can read pages without the caller naming the tool. */
import type { Plugin, Resolved } from '../../src/plugin-api/index.ts'
import { parseConfig, type WebFetchConfig } from './config.ts'

const ID = 'web-fetch'
const TOOL = 'web_fetch'

export const webFetch: Plugin<WebFetchConfig> = {
  id: ID,
  // An answer without the tool is still an answer.
  onError: 'skip',
  reserved: ['engines', 'price', 'allow_private', 'robots', 'max_bytes'],
  parse: parseConfig,
  shape,
}

/** A tool that the caller names stands as it is. */
function shape(exchange: Resolved, { enabled, parameters, path }: WebFetchConfig): void {
  if (!enabled || exchange.request().tools.some((tool) => tool.kind === 'server' && tool.name === TOOL)) return
  exchange.edit(ID, (draft) => {
    draft.tools = [...draft.tools, { kind: 'server', name: TOOL, parameters, written: { object: path, type: `${path}.id` } }]
  })
}
