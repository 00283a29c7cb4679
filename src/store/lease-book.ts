/** Who holds which leases, who is alive, and who has been asked to give back what lies idle. */

/** Of a process that leases before it ever pulses. */
const FIRST_EXPIRY = 10_000

/**
 * Milliseconds for which an answer to a call counts: several tries of one asker, so that it hears "nothing idle" as the
 * answer that it is; after that the same process is asked anew.
 */
const ANSWER_COUNTS = 300

interface Node {
  seenAt: number
  expiry: number
  /** Keys on which it holds a lease. */
  readonly keys: Set<string>
  /** Keys whose idle part it should give back. */
  readonly wanted: Set<string>
}

interface KeyLeases {
  /** Nano-dollars of all leases. */
  sum: number
  readonly holders: Map<string, number>
  /** Of each one's last grant. */
  readonly turns: Map<string, number>
  /** When a process last answered a call. */
  readonly answered: Map<string, number>
}

export class LeaseBook {
  private readonly nodes = new Map<string, Node>()
  private readonly keys = new Map<string, KeyLeases>()
  private readonly now: () => number

  /** @param now monotonic milliseconds. */
  constructor(now: () => number) {
    this.now = now
  }

  /** Nano-dollars that one process holds, or all together. */
  leased(key: string, node?: string): number {
    const leases = this.keys.get(key)
    if (!leases) return 0
    return node === undefined ? leases.sum : (leases.holders.get(node) ?? 0)
  }

  /** Turn of the last ask that was granted something of what is still leased; 0 for none. */
  turn(node: string, key: string): number {
    return this.keys.get(key)?.turns.get(node) ?? 0
  }

  grant(node: string, key: string, amount: number, turn: number): void {
    if (amount <= 0) return
    let leases = this.keys.get(key)
    if (!leases) {
      leases = { sum: 0, holders: new Map(), turns: new Map(), answered: new Map() }
      this.keys.set(key, leases)
    }
    leases.sum += amount
    leases.holders.set(node, (leases.holders.get(node) ?? 0) + amount)
    leases.turns.set(node, Math.max(turn, leases.turns.get(node) ?? 0))
    leases.answered.delete(node)
    this.node(node).keys.add(key)
  }

  /** Takes from a lease, never more than it has. @returns what was taken. */
  reduce(node: string, key: string, amount: number): number {
    const leases = this.keys.get(key)
    const held = leases?.holders.get(node)
    if (!leases || held === undefined) return 0
    const taken = Math.min(amount, held)
    leases.sum -= taken
    leases.holders.set(node, held - taken)
    if (taken === held) this.drop(node, key, leases)
    return taken
  }

  /** Asks every other holder for what lies idle. @returns how many have yet to answer; the lost are not waited for. */
  call(asker: string, key: string): number {
    const leases = this.keys.get(key)
    if (!leases) return 0
    const now = this.now()
    let waiting = 0
    for (const holder of leases.holders.keys()) {
      if (holder === asker) continue
      const node = this.node(holder)
      if (now - (leases.answered.get(holder) ?? Number.NEGATIVE_INFINITY) < ANSWER_COUNTS) continue
      node.wanted.add(key)
      if (!lost(node, now)) waiting++
    }
    return waiting
  }

  answer(node: string, key: string): void {
    this.nodes.get(node)?.wanted.delete(key)
    const leases = this.keys.get(key)
    if (leases?.holders.has(node)) leases.answered.set(node, this.now())
  }

  /** The process lives. @returns the keys of which it should give back what lies idle. */
  pulse(name: string, expiry: number): string[] {
    const node = this.node(name)
    node.seenAt = this.now()
    node.expiry = expiry
    return [...node.wanted]
  }

  /** Keys on which a process holds a lease. */
  keysOf(node: string): string[] {
    return [...(this.nodes.get(node)?.keys ?? [])]
  }

  alive(): number {
    const now = this.now()
    let count = 0
    for (const node of this.nodes.values()) if (!lost(node, now)) count++
    return count
  }

  /** Processes that have been lost for longer than so many milliseconds. */
  lostFor(grace: number): string[] {
    const before = this.now() - grace
    return [...this.nodes].filter(([, node]) => lost(node, before)).map(([name]) => name)
  }

  /** Forgets a process that holds nothing any more. */
  forget(node: string): void {
    if (this.keysOf(node).length === 0) this.nodes.delete(node)
  }

  private node(name: string): Node {
    let node = this.nodes.get(name)
    if (!node) {
      node = { seenAt: this.now(), expiry: FIRST_EXPIRY, keys: new Set(), wanted: new Set() }
      this.nodes.set(name, node)
    }
    return node
  }

  private drop(node: string, key: string, leases: KeyLeases): void {
    leases.holders.delete(node)
    leases.turns.delete(node)
    leases.answered.delete(node)
    const known = this.nodes.get(node)
    known?.keys.delete(key)
    known?.wanted.delete(key)
    if (leases.holders.size === 0) this.keys.delete(key)
  }
}

function lost({ seenAt, expiry }: Node, now: number): boolean {
  return now - seenAt >= expiry
}
