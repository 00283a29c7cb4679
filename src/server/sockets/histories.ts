/**
 * Conversations that open WebSockets keep for their next request. They count in the memory of request bodies, in a part of it:
 * a client whose conversation was dropped for others sends it whole again.
 */
import { type BodyMemory, BodyShare } from '../body-memory.ts'

/** Share of the memory of bodies that all of them may take, and share of that for one payer. */
const MAX_SHARE = 0.25
const MAX_PAYER_SHARE = 0.5

/** Store of a conversation. */
export interface Keeper {
  /** Identity of the key that it counts towards. */
  readonly payer: string
  /** Called when the conversation has been dropped. */
  forget(): void
}

export class Histories {
  private readonly memory: BodyMemory
  private readonly share: BodyShare
  /** Bytes of each conversation, the least recently used one first. */
  private readonly kept = new Map<Keeper, number>()
  private readonly ofPayers = new Map<string, number>()
  private total = 0

  constructor(memory: BodyMemory) {
    this.memory = memory
    this.share = new BodyShare(memory)
    memory.onShortage = (bytes) => this.giveBack(bytes)
  }

  /** Keeps a conversation in place of the keeper's former one, and drops others for it. @returns false where it is too long to be kept. */
  keep(keeper: Keeper, bytes: number): boolean {
    this.drop(keeper)
    const most = this.memory.limit * MAX_SHARE
    const own = most * MAX_PAYER_SHARE
    if (bytes > own) return false
    while ((this.ofPayers.get(keeper.payer) ?? 0) + bytes > own) this.dropOldest(keeper.payer)
    while (this.total + bytes > most) this.dropOldest()
    this.kept.set(keeper, bytes)
    this.add(keeper.payer, bytes)
    return true
  }

  /** Removes the conversation of the keeper. */
  drop(keeper: Keeper): void {
    const bytes = this.kept.get(keeper)
    if (bytes === undefined) return
    this.kept.delete(keeper)
    this.add(keeper.payer, -bytes)
  }

  private giveBack(bytes: number): void {
    const before = this.total
    while (this.total > 0 && before - this.total < bytes) this.dropOldest()
  }

  /** @param payer drops a conversation of this payer; it has at least one. */
  private dropOldest(payer?: string): void {
    for (const keeper of this.kept.keys()) {
      if (payer !== undefined && keeper.payer !== payer) continue
      this.drop(keeper)
      keeper.forget()
      return
    }
  }

  private add(payer: string, bytes: number): void {
    this.total += bytes
    const left = (this.ofPayers.get(payer) ?? 0) + bytes
    if (left === 0) this.ofPayers.delete(payer)
    else this.ofPayers.set(payer, left)
    this.share.keep(this.total)
  }
}
