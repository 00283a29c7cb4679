/** Endpoint to whose context a conversation that fits nowhere is cut. */
import type { Resolved } from '../../src/plugin-api/index.ts'
import { largestContext } from './largest-context.ts'

/**
 * The context of the first model, in the caller's order, that has room for half of the need: so the caller's own choice
 * serves as long as not too much is lost. The largest context where no model has that much.
 * @param need tokens of prompt and completion.
 * @returns tokens; undefined where one of the endpoints has room for all of it, or no known limit.
 */
export function targetContext({ models, endpoints }: Pick<Resolved, 'models' | 'endpoints'>, need: number): number | undefined {
  const largest = largestContext(endpoints)
  if (largest === undefined || need <= largest) return undefined
  for (const model of models) {
    const context = largestContext(endpoints.filter((endpoint) => endpoint.model === model))
    if (context !== undefined && context * 2 >= need) return context
  }
  return largest
}
