/** Callers that leave, on a clock that only the test moves. */
import type { FakeClock } from './clock.ts'
import { eventually } from './eventually.ts'

/** Milliseconds that a provider is read on for its final report once the caller has left. */
export const READ_ON = 2_000
/** Delays at which the gateway probes a connection that the caller closes without a reset (`server/gateway.ts`). */
const PROBES = [40, 60]

/** Resolves once the gateway reads on: it has noticed that the caller left. @param readOn delay of the timer that bounds it. */
export async function heardLeave(clock: FakeClock, readOn = READ_ON): Promise<void> {
  await eventually(`a timer of ${readOn} ms: the gateway has noticed that its caller left`, async () => {
    const { waiting } = clock
    if (waiting.includes(readOn)) return true
    if (PROBES.some((probe) => waiting.includes(probe))) await clock.advance(60)
    return clock.waiting.includes(readOn)
  })
}
