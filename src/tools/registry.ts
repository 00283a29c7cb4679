/** The one list of server tools: a new tool is its folder, its test and one line here. */
import type { ServerTool } from '../plugin-api/index.ts'
import { datetime } from './datetime/tool.ts'

export const serverTools: readonly ServerTool[] = [datetime]
