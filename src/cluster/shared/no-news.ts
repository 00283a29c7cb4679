/** The wire of a process that is alone: nobody to tell, nobody to hear. */
import type { NewsWire } from './types.ts'

export class NoNews implements NewsWire {
  readonly reachesNobody = true
  publish(): void {}
  subscribe(): void {}
  async close(): Promise<void> {}
}
