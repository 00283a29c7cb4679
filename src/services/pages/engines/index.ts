/** The one list of engines that fetch pages: a new one is its file and a line here. */
import type { PageEngine } from '../types.ts'
import { exa } from './exa.ts'
import { firecrawl } from './firecrawl.ts'
import { parallel } from './parallel.ts'

export const engines: readonly PageEngine[] = [exa, firecrawl, parallel]
