/**
 * Which process holds which leases, is alive, and has been called on to give back what lies idle. Each lease is a hold in an account of
 * the process that grants it.
 */
import { chargedAccounts } from '../core/payers.ts'
import type { LeaseAsk, LeaseName } from './record.ts'

/** Of a process that leases before it ever pulses. */
const FIRST_EXPIRY = 10_000

/**
 * Milliseconds for which an answer to a call counts: as long as several tries of the process that called, which so learns that
 * nothing is idle. After that the same process is called anew.
 */
const ANSWER_COUNTS = 300

interface Node {
  /** Differs from that of every node before it. */
  readonly life: number
  seenAt: number
  expiry: number
  /** Leases that it holds, by their names. */
  readonly leases: Map<string, Lease>
}

/** Credit that one process holds for one key. */
interface Lease {
  readonly name: LeaseName
  readonly node: string
  /** Nano-dollars. */
  amount: number
  /** Of its last grant. */
  turn: number
  /** Milliseconds since the epoch, of its last grant. */
  grantedAt: number
  /** True where the process should give back what lies idle; and when it last did. */
  wanted: boolean
  answeredAt: number
}

/** Amount of a grant, with its turn and its moment. */
export interface Grant {
  readonly amount: number
  readonly turn: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

export class LeaseBook {
  private readonly nodes = new Map<string, Node>()
  /** Leases that count on an account, whether of its own key or of keys that it pays for. */
  private readonly accounts = new Map<string, Set<Lease>>()
  private readonly now: () => number
  private readonly release: (name: LeaseName, amount: number) => void
  private lives = 0

  /** @param now monotonic milliseconds. @param release called with what was given back or ended of a lease. */
  constructor(now: () => number, release: (name: LeaseName, amount: number) => void) {
    this.now = now
    this.release = release
  }

  /** Nano-dollars that all processes together hold on an account. */
  leased(account: string): number {
    let sum = 0
    for (const { amount } of this.accounts.get(account) ?? []) sum += amount
    return sum
  }

  /** When the lease was last granted, milliseconds since the epoch; 0 where there is none. */
  grantedAt(node: string, name: LeaseName): number {
    return this.find(node, name)?.grantedAt ?? 0
  }

  grant(node: string, name: LeaseName, { amount, turn, at }: Grant): void {
    if (amount <= 0) return
    let lease = this.find(node, name)
    if (!lease) {
      lease = { name: { key: name.key, payer: name.payer }, node, amount: 0, turn: 0, grantedAt: 0, wanted: false, answeredAt: NEVER }
      this.node(node).leases.set(leaseText(name), lease)
      for (const account of chargedAccounts(name)) this.on(account).add(lease)
    }
    lease.amount += amount
    lease.turn = Math.max(turn, lease.turn)
    lease.grantedAt = at
    lease.answeredAt = NEVER
  }

  /** Takes from a lease, never more than it has. @returns what was taken. */
  reduce(node: string, name: LeaseName, amount: number): number {
    const lease = this.find(node, name)
    if (!lease) return 0
    const taken = Math.min(amount, lease.amount)
    lease.amount -= taken
    if (lease.amount === 0) this.drop(lease)
    return taken
  }

  /**
   * Marks every other lease on one of these accounts as wanted, also those of `node`: its holder should give back what lies idle.
   * @returns how many have yet to answer; lost processes are not waited for.
   */
  call(node: string, name: LeaseName, accounts: Iterable<string>): number {
    const own = this.find(node, name)
    const now = this.now()
    const waiting = new Set<Lease>()
    for (const account of accounts)
      for (const lease of this.accounts.get(account) ?? []) {
        if (lease === own || now - lease.answeredAt < ANSWER_COUNTS) continue
        lease.wanted = true
        if (!lost(this.node(lease.node), now)) waiting.add(lease)
      }
    return waiting.size
  }

  /** Processes that live, have been called on for leases of this name, and have yet to answer. */
  awaited(name: LeaseName): number {
    const now = this.now()
    let count = 0
    for (const lease of this.accounts.get(name.key) ?? [])
      if (lease.wanted && lease.name.payer === name.payer && !lost(this.node(lease.node), now)) count++
    return count
  }

  /** See `StoreOfRecord.giveBack`. */
  giveBack(node: string, name: LeaseName, amount: number | 'all', turn: number): void {
    const before = this.find(node, name)
    if (before && before.turn > turn) return
    this.free(node, name, amount === 'all' ? Number.MAX_SAFE_INTEGER : amount)
    const lease = this.find(node, name)
    if (!lease) return
    lease.wanted = false
    lease.answeredAt = this.now()
  }

  /** Ends the leases of a process. @returns the nano-dollars set free. */
  end(node: string): number {
    const leases = [...(this.nodes.get(node)?.leases.values() ?? [])]
    return leases.reduce((sum, { name }) => sum + this.free(node, name, Number.MAX_SAFE_INTEGER), 0)
  }

  /** Ends the leases of a process and forgets it: if it comes back, it has another life. @returns the nano-dollars set free. */
  gone(node: string): number {
    const freed = this.end(node)
    this.nodes.delete(node)
    return freed
  }

  /** The same for all processes. */
  allGone(): void {
    for (const node of [...this.nodes.keys()]) this.gone(node)
  }

  /** The process lives. @returns the leases of which it should give back what lies idle; and a number that ends with `forget`. */
  pulse(name: string, expiry: number): { wanted: LeaseName[]; life: number } {
    const node = this.node(name)
    node.seenAt = this.now()
    node.expiry = expiry
    const wanted = [...node.leases.values()].filter((lease) => lease.wanted).map(({ name: named }) => named)
    return { wanted, life: node.life }
  }

  /** True from the first pulse or grant of a process until it is gone. */
  knows(node: string): boolean {
    return this.nodes.has(node)
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

  private free(node: string, name: LeaseName, amount: number): number {
    const freed = this.reduce(node, name, amount)
    if (freed > 0) this.release(name, freed)
    return freed
  }

  private find(node: string, name: LeaseName): Lease | undefined {
    return this.nodes.get(node)?.leases.get(leaseText(name))
  }

  private node(name: string): Node {
    let node = this.nodes.get(name)
    if (!node) {
      node = { life: ++this.lives, seenAt: this.now(), expiry: FIRST_EXPIRY, leases: new Map() }
      this.nodes.set(name, node)
    }
    return node
  }

  private on(account: string): Set<Lease> {
    let leases = this.accounts.get(account)
    if (!leases) {
      leases = new Set()
      this.accounts.set(account, leases)
    }
    return leases
  }

  private drop(lease: Lease): void {
    this.nodes.get(lease.node)?.leases.delete(leaseText(lease.name))
    for (const account of chargedAccounts(lease.name)) {
      const leases = this.on(account)
      leases.delete(lease)
      if (leases.size === 0) this.accounts.delete(account)
    }
  }
}

const NEVER = Number.NEGATIVE_INFINITY

/** Identities of the accounts whose limits the request stays within. */
export function limitedAccounts({ allowances, ...name }: LeaseName & Pick<LeaseAsk, 'allowances'>): ReadonlySet<string> {
  const accounts = chargedAccounts(name)
  return new Set(allowances.flatMap(({ level = 0 }) => accounts[level] ?? []))
}

/** A text that only this name has. */
export function leaseText({ key, payer }: LeaseName): string {
  return payer === undefined ? key : `${key}\0${payer}`
}

function lost({ seenAt, expiry }: Node, now: number): boolean {
  return now - seenAt >= expiry
}
