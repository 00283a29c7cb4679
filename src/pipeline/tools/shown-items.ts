/** Items that a tool of the gateway shows the caller, as events of blocks. */
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { ShownItem } from '../../plugin-api/index.ts'

export function shownEvents(shown: ShownItem, block: number): readonly StreamEvent[] {
  if (shown.kind === 'call')
    return [
      { type: 'block-start', block, kind: 'call', call: shown.call },
      { type: 'block-delta', block, text: shown.args },
      { type: 'block-end', block },
    ]
  return [
    { type: 'block-start', block, kind: shown.kind, of: shown.of },
    { type: 'block-end', block },
  ]
}
