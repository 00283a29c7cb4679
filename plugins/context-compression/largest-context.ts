/** Greatest context of the resolved endpoints. */
import type { Resolved } from '../../src/plugin-api/index.ts'

/** The largest context among the endpoints, in tokens; undefined where one of them has no known limit. */
export function largestContext(endpoints: Resolved['endpoints']): number | undefined {
  let largest = 0
  for (const endpoint of endpoints) {
    const context = endpoint.context ?? endpoint.model.context
    if (context === undefined) return undefined
    if (context > largest) largest = context
  }
  return largest === 0 ? undefined : largest
}
