/** Reads the audit log from one end to the other, and finds the first entry that does not fit its chain. */
import { type AuditHead, type AuditRow, canonicalJson, entryHash, NO_ENTRY } from '../core/audit-entries.ts'
import { type AuditKeys, NO_AUDIT_KEYS } from '../core/audit-keys.ts'
import { isObject, type JsonObject, parseJson } from '../core/json.ts'
import type { AuditLogStore } from './audit-log.ts'

export interface AuditVerdict {
  /** Entries that were read. */
  readonly count: number
  /** The last one that fits: a receipt for the next check. */
  readonly receipt: AuditHead
  /** Sequence of the first entry that was read with a keyed hash; all behind it have one. Undefined where none has. */
  readonly keyedFrom: number | undefined
  /** Undefined where all is well. */
  readonly problem: AuditProblem | undefined
}

export interface AuditProblem {
  /** Sequence of the first entry that does not fit, or that is missing. */
  readonly sequence: number
  readonly text: string
}

export type AuditReading = Pick<AuditLogStore, 'page' | 'head'>

/** Entries of one statement. */
const PAGE = 1_000

/** Tries of a check: each of them fails only because retention has removed entries meanwhile. */
const MAX_TRIES = 5

export interface AuditExpectations {
  /** A receipt of an earlier check: the entry that the log must still have, unless retention has removed it. */
  readonly receipt?: AuditHead | undefined
  /** Those that entries may be signed with. */
  readonly keys?: AuditKeys
}

/** @throws Fault `unavailable`. */
export async function verifyAuditLog(log: AuditReading, expected: AuditExpectations = {}): Promise<AuditVerdict> {
  for (let tries = 1; ; tries++) {
    // Read before the entries: those that are added meanwhile lie behind it.
    const end = await log.head()
    const verdict = await readThrough(log, new ChainCheck(end, expected))
    if (!verdict.problem || tries === MAX_TRIES) return verdict
    const [pruned] = await log.page({ after: 0, newestFirst: true, action: 'audit_log.pruned', limit: 1 })
    if (!pruned || pruned.sequence <= end.sequence) return verdict
  }
}

async function readThrough(log: AuditReading, check: ChainCheck): Promise<AuditVerdict> {
  for (let after = 0; ; ) {
    const rows = await log.page({ after, limit: PAGE })
    for (const row of rows) if (!check.take(row)) return check.verdict()
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) break
    after = last.sequence
  }
  // An entry and the end that states it are committed together, so none lies behind the end that is read now.
  check.end(await log.head())
  return check.verdict()
}

/** Takes the entries in the order of their sequences. */
export class ChainCheck {
  private readonly head: AuditHead | undefined
  private readonly expected: AuditHead | undefined
  private last: AuditHead | undefined
  /** Predecessor of the first entry: gone, as an entry of retention has to say. */
  private gone: AuditHead | undefined
  private problem: AuditProblem | undefined
  private prunedTo: AuditHead | undefined
  private hasExpected = false
  private count = 0
  private keyedFrom: number | undefined
  private readonly keys: AuditKeys

  /** @param head as the store states it; undefined for an export. */
  constructor(head: AuditHead | undefined, { receipt, keys = NO_AUDIT_KEYS }: AuditExpectations = {}) {
    this.head = head
    this.expected = receipt
    this.keys = keys
  }

  /** @returns false at the first entry that does not fit. */
  take(row: AuditRow): boolean {
    const fields = parsedEntry(row, this.keys)
    if (typeof fields === 'string') return this.fail(row.sequence, fields)
    const isKeyed = fields.key !== undefined
    if (!isKeyed && this.keyedFrom !== undefined)
      return this.fail(row.sequence, 'its hash has no key, but entries before it have one: it was put in, or written without `audit.key`')
    if (isKeyed) this.keyedFrom ??= row.sequence
    const previous = String(fields.previous)
    this.last ??= this.begin(row.sequence, previous)
    if (row.sequence !== this.last.sequence + 1)
      return this.fail(this.last.sequence + 1, 'it is missing, or the entries behind it are out of order')
    if (previous !== this.last.hash)
      return this.fail(row.sequence, 'it does not follow the entry before it: one of them was changed, removed or put in')
    if (row.sequence === this.expected?.sequence) {
      if (row.hash !== this.expected.hash)
        return this.fail(row.sequence, 'it is another one than the receipt names: the log was written anew')
      this.hasExpected = true
    }
    if (this.head && row.sequence === this.head.sequence && row.hash !== this.head.hash)
      return this.fail(row.sequence, 'it is not the one that the store states as its last')
    if (row.action === 'audit_log.pruned') this.prunedTo = prunedHead(fields) ?? this.prunedTo
    this.last = { sequence: row.sequence, hash: row.hash }
    this.count++
    return true
  }

  /** Nothing follows. @param head as the store states it after the last entry was read; undefined for an export. */
  end(head?: AuditHead): void {
    const last = this.last ?? NO_ENTRY
    if (head && last.sequence > head.sequence) {
      this.fail(head.sequence + 1, `it was put in, or the end was set back: the store states ${head.sequence} as its last`)
      return
    }
    if (this.head && last.sequence < this.head.sequence) {
      this.fail(last.sequence + 1, `it is missing, with all behind it: the store states ${this.head.sequence} as its last`)
      return
    }
    if (this.gone && !isSame(this.gone, this.prunedTo)) {
      this.fail(this.gone.sequence + 1, 'what stood before it is missing, and no entry of retention names that')
      return
    }
    if (!this.gone && this.prunedTo) {
      this.fail(1, 'it stands where retention has removed everything: it was put in again')
      return
    }
    const { expected } = this
    if (!expected || this.hasExpected || expected.sequence === 0) return
    if (expected.sequence > last.sequence)
      this.fail(last.sequence + 1, `it is missing: the receipt names ${expected.sequence}, so the end was cut or an older store restored`)
    else if (!this.gone || expected.sequence > this.gone.sequence) this.fail(expected.sequence, 'it is missing')
    else if (expected.sequence === this.gone.sequence && expected.hash !== this.gone.hash)
      this.fail(expected.sequence, 'retention names another one than the receipt')
  }

  verdict(): AuditVerdict {
    return { count: this.count, receipt: this.last ?? NO_ENTRY, keyedFrom: this.keyedFrom, problem: this.problem }
  }

  private begin(sequence: number, previous: string): AuditHead {
    if (sequence <= 1) return NO_ENTRY
    this.gone = { sequence: sequence - 1, hash: previous }
    return this.gone
  }

  private fail(sequence: number, text: string): false {
    this.problem ??= { sequence, text }
    return false
  }
}

/** The members of an entry, or why it is not what was written. */
function parsedEntry(row: AuditRow, keys: AuditKeys): JsonObject | string {
  const fields = parseJson(row.entry)
  const keyId = isObject(fields) ? fields.key : undefined
  const key = typeof keyId === 'string' ? keys.find(keyId) : undefined
  if (keyId !== undefined && !key)
    return `it is signed with a key that is not known here (${String(keyId).slice(0, 64)}): name it in audit.key or audit.former_keys`
  if (entryHash(row.entry, key) !== row.hash) return 'it was changed: its hash is another'
  if (!isObject(fields) || canonicalJson(fields) !== row.entry) return 'it was changed: it is not in the form of an entry'
  const { sequence, at, actor, action, subject } = fields
  const { id = null, kind = null } = isObject(actor) ? actor : {}
  const isRow =
    sequence === row.sequence &&
    Date.parse(String(at)) === row.at &&
    (id ?? kind) === row.actor &&
    action === row.action &&
    subject === row.subject
  return isRow ? fields : 'it was changed: the columns beside it say something else'
}

function prunedHead({ after }: JsonObject): AuditHead | undefined {
  if (!isObject(after)) return undefined
  const { sequence, hash: last } = after
  return typeof sequence === 'number' && typeof last === 'string' ? { sequence, hash: last } : undefined
}

const isSame = (one: AuditHead, other: AuditHead | undefined): boolean => one.sequence === other?.sequence && one.hash === other.hash
