/** The one list of plugins that ship with the gateway: a new one is its folder and a line here. */
import type { Plugin } from '../src/plugin-api/index.ts'
import { autoRouter } from './auto-router/plugin.ts'
import { contextCompression } from './context-compression/plugin.ts'
import { fileParser } from './file-parser/plugin.ts'
import { freeRouter } from './free-router/plugin.ts'
import { fusion } from './fusion/plugin.ts'
import { imageGeneration } from './image-generation/plugin.ts'
import { mcp } from './mcp/plugin.ts'
import { moderation } from './moderation/plugin.ts'
import { paretoRouter } from './pareto-router/plugin.ts'
import { responseHealing } from './response-healing/plugin.ts'
import { shell } from './shell/plugin.ts'
import { web } from './web/plugin.ts'
import { webFetch } from './web-fetch/plugin.ts'

export const shippedPlugins: readonly Plugin[] = [
  moderation,
  fileParser,
  web,
  webFetch,
  shell,
  mcp,
  contextCompression,
  responseHealing,
  autoRouter,
  paretoRouter,
  freeRouter,
  fusion,
  imageGeneration,
]
