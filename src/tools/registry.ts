/** The one list of server tools: a new tool is its folder, its test and one line here. */
import type { ServerTool, SessionTool } from '../plugin-api/index.ts'
import { advisor } from './advisor/tool.ts'
import { applyPatch } from './apply-patch/tool.ts'
import { bash } from './bash/tool.ts'
import { datetime } from './datetime/tool.ts'
import { files } from './files/tool.ts'
import { fusion } from './fusion/tool.ts'
import { imageGeneration } from './image-generation/tool.ts'
import { mcp } from './mcp/tool.ts'
import { searchModels } from './search-models/tool.ts'
import { shell } from './shell/tool.ts'
import { subagent } from './subagent/tool.ts'
import { toolSearch } from './tool-search/tool.ts'
import { webFetch } from './web-fetch/tool.ts'
import { webSearch } from './web-search/tool.ts'

export const serverTools: readonly (ServerTool | SessionTool)[] = [
  datetime,
  webSearch,
  webFetch,
  searchModels,
  toolSearch,
  applyPatch,
  bash,
  shell,
  mcp,
  advisor,
  fusion,
  imageGeneration,
  files,
  subagent,
]
