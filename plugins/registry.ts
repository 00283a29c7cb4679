/** The one list of plugins that ship with the gateway: a new one is its folder and its entry here. Their code is loaded by `load` alone. */
import type { ShippedPlugin } from '../src/config/fields/plugin-settings.ts'
import type { Plugin } from '../src/plugin-api/index.ts'
import { autoRouter } from './auto-router/settings.ts'
import { contextCompression } from './context-compression/settings.ts'
import { fileParser } from './file-parser/settings.ts'
import { freeRouter } from './free-router/settings.ts'
import { fusion } from './fusion/settings.ts'
import { imageGeneration } from './image-generation/settings.ts'
import { mcp } from './mcp/settings.ts'
import { moderation } from './moderation/settings.ts'
import { paretoRouter } from './pareto-router/settings.ts'
import { responseHealing } from './response-healing/settings.ts'
import { shell } from './shell/settings.ts'
import { web } from './web/settings.ts'
import { webFetch } from './web-fetch/settings.ts'

export interface ShippedEntry extends ShippedPlugin {
  load(): Promise<Plugin>
}

/** By their ids, in the order in which they run where the configuration says nothing. */
export const shippedPlugins = {
  moderation: { ...moderation, load: async () => (await import('./moderation/plugin.ts')).moderation },
  'file-parser': { ...fileParser, load: async () => (await import('./file-parser/plugin.ts')).fileParser },
  web: { ...web, load: async () => (await import('./web/plugin.ts')).web },
  'web-fetch': { ...webFetch, load: async () => (await import('./web-fetch/plugin.ts')).webFetch },
  shell: { ...shell, load: async () => (await import('./shell/plugin.ts')).shell },
  mcp: { ...mcp, load: async () => (await import('./mcp/plugin.ts')).mcp },
  'context-compression': { ...contextCompression, load: async () => (await import('./context-compression/plugin.ts')).contextCompression },
  'response-healing': { ...responseHealing, load: async () => (await import('./response-healing/plugin.ts')).responseHealing },
  'auto-router': { ...autoRouter, load: async () => (await import('./auto-router/plugin.ts')).autoRouter },
  'pareto-router': { ...paretoRouter, load: async () => (await import('./pareto-router/plugin.ts')).paretoRouter },
  'free-router': { ...freeRouter, load: async () => (await import('./free-router/plugin.ts')).freeRouter },
  fusion: { ...fusion, load: async () => (await import('./fusion/plugin.ts')).fusion },
  'image-generation': { ...imageGeneration, load: async () => (await import('./image-generation/plugin.ts')).imageGeneration },
} satisfies Record<string, ShippedEntry>
