import { hasEngines, type JsonObject, type SessionTool } from '../../plugin-api/index.ts'
import { parseConfig } from './config.ts'
import { SearchSession } from './session.ts'

export const webSearch: SessionTool = {
  name: 'web_search',
  description:
    'Searches the web and returns addresses, titles and excerpts of pages. Use it for what may have changed lately or what you are not sure of. Name the pages that you rely on as markdown links.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'What to search for, in a few words.' } },
    required: ['query'],
    additionalProperties: false,
  },
  plugin: 'web',
  ready: hasEngines,

  begin(parameters: JsonObject, at: string, settings: JsonObject): SearchSession {
    return new SearchSession(parseConfig(parameters, at, settings))
  },
}
