/** The one list of server tools: a new tool is its folder, its test and one line here. */
import type { ServerTool, SessionTool } from '../plugin-api/index.ts'
import { datetime } from './datetime/tool.ts'
import { webSearch } from './web-search/tool.ts'

export const serverTools: readonly (ServerTool | SessionTool)[] = [datetime, webSearch]
