/** The one list of search engines: a new one is its file and a line here. */
import type { SearchEngine } from '../types.ts'
import { brave } from './brave.ts'
import { exa } from './exa.ts'
import { firecrawl } from './firecrawl.ts'
import { parallel } from './parallel.ts'
import { perplexity } from './perplexity.ts'
import { searxng } from './searxng.ts'
import { tavily } from './tavily.ts'

export const engines: readonly SearchEngine[] = [searxng, brave, exa, tavily, firecrawl, parallel, perplexity]
