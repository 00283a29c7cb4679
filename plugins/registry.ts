/** The one list of plugins that ship with the gateway: a new one is its folder and a line here. */
import type { Plugin } from '../src/plugin-api/index.ts'
import { autoRouter } from './auto-router/plugin.ts'
import { contextCompression } from './context-compression/plugin.ts'
import { freeRouter } from './free-router/plugin.ts'
import { paretoRouter } from './pareto-router/plugin.ts'
import { responseHealing } from './response-healing/plugin.ts'
import { web } from './web/plugin.ts'

export const shippedPlugins: readonly Plugin[] = [web, contextCompression, responseHealing, autoRouter, paretoRouter, freeRouter]
