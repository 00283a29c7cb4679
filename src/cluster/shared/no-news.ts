/** The wire of a single process: it sends nothing and receives nothing. */
import type { NewsWire } from './types.ts'

export class NoNews implements NewsWire {
  readonly isSilent = true
  publish(): void {}
  subscribe(): void {}
  async close(): Promise<void> {}
}
