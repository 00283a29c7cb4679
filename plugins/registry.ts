/** The one list of plugins that ship with the gateway: a new one is its folder and a line here. */
import type { Plugin } from '../src/plugin-api/index.ts'
import { contextCompression } from './context-compression/plugin.ts'

export const shippedPlugins: readonly Plugin[] = [contextCompression]
