/** Folds canonical events to the reply that they make. */
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import { Fold, type Folded } from '../../src/dialects/canon/fold.ts'

export function fold(events: readonly StreamEvent[]): Folded {
  const folder = new Fold()
  for (const event of events) folder.push(event)
  return folder.result
}
