/** What one exchange costs: what is reserved, what every turn used, what tools cost. */

import { noUsage, type Usage } from '../../dialects/canon/usage.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import { Hold } from './hold.ts'

export class Costs {
  readonly hold = new Hold()
  /** The endpoint that the hold's row names: that of the first who held. */
  heldAt: Endpoint | undefined
  /** Upper bound of the input's tokens that the hold was computed for. */
  inputTokens = 0
  /** What was taken of the key's limits, and has to be corrected or given back: tokens of the minute, bytes in flight. */
  rateTokens = 0
  rateBytes = 0
  readonly turns: Turn[] = []
  readonly noUsage: Usage = noUsage()
  /** Nano-dollars of tools that ran. */
  toolCost = 0
  toolsRequested = 0
  toolsExecuted = 0
  /** Searches of the web that they ran, pages that they fetched. */
  toolSearches = 0
  toolFetches = 0
  /** The engine that searched, and how many results the model was shown; undefined where no tool searched. */
  found: { engine: string; results: number } | undefined

  addFound({ engine, results }: { engine: string; results: number }): void {
    this.found = { engine, results: (this.found?.results ?? 0) + results }
  }
}
