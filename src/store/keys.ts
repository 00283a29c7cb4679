/** API keys at rest: only the hash of a secret, and what its holder may do. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { GATEWAY_ORIGIN, type Origin } from '../core/audit-entries.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { plainName } from '../core/plain-name.ts'
import { WINDOWS } from '../core/windows.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Attributed } from './audit-log.ts'
import { keyAudit } from './audited-changes.ts'
import { keyEvents } from './key-events.ts'
import { policyFrom, policyText } from './key-policy.ts'
import { roleColumns, storedRole } from './key-roles.ts'
import { foundBy, hashesBy } from './rotated-keys.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'
import { addEvents, eventInsert } from './sqlite-events.ts'

/** A key as it is stored, with fields that the request path does not need. */
export interface KeyRecord extends ApiKey {
  /** Kept for clients that set it; the gateway bills no keys of the callers' own. */
  readonly includeByokInLimit: boolean
  /** The creator that the create request named; null where it named none. */
  readonly creator: string | null
  /** Absent unless the key came to be by the consent of another one. */
  readonly consent?: Consent
  /** Role of a later version of the gateway, which opens nothing here. */
  readonly unknownRole?: string
}

/** A key that another one consented to, the code that waits to be exchanged for it, or a session of the control room. */
export interface Consent {
  /** Identity of the key that consented. */
  readonly by: string
  /** SHA-256 of its secret at that time, hex; absent for keys of earlier versions. */
  readonly hash?: string
  /** Of a code: what its exchange requires. */
  readonly code?: {
    /** Milliseconds since the epoch. */
    readonly until: number
    /** Hash of the key that consented: a new secret, and the code is worth nothing. */
    readonly hash: string
    /** RFC 7636; absent where the application named no challenge. */
    readonly method?: 'S256' | 'plain'
    readonly challenge?: string
  }
  /** Of a session of the control room. */
  readonly session?: {
    /** Milliseconds since the epoch: it ends then, whatever comes. */
    readonly until: number
    readonly role: 'operator' | 'manager' | 'person'
    /** The key that it stands for, or the claims of a person, encrypted with the text of the cookie; of the operator the proof of the admin token. */
    readonly encrypted: string
    /** Of a person: the sign-in at the identity provider, by which that ends it. Absent for sessions of earlier versions. */
    readonly signIn?: PersonSignIn
  }
}

/** A sign-in at an identity provider as a session is found by it. */
export interface PersonSignIn {
  /** Identity of the member (`memberIdentity`). */
  readonly member: string
  /** Digest of the session there, hex; absent where the provider names none. */
  readonly session?: string | undefined
  /** Milliseconds since the epoch, by the clock of the provider. */
  readonly issuedAt: number
}

type Code = NonNullable<Consent['code']>

/** A code on its way to becoming a key: kept among the keys, and none of them. */
export type CodeKey = StoredKey & { readonly consent: Consent & { readonly code: Code } }

/** Stands where a key has its hash: the digest of no secret looks so, hence a code opens nothing. @param hash SHA-256 of the code, hex. */
export function codeName(hash: string): string {
  return `code:${hash}`
}

export function isCode(key: StoredKey): key is CodeKey {
  return key.consent?.code !== undefined
}

/** A session of the control room: kept among the keys, and none of them. */
export type SessionKey = StoredKey & { readonly consent: Consent & { readonly session: NonNullable<Consent['session']> } }

/** As `codeName`. @param hash SHA-256 of the cookie, hex. */
export function sessionName(hash: string): string {
  return `session:${hash}`
}

export function isSession(key: StoredKey): key is SessionKey {
  return key.consent?.session !== undefined
}

/** False for codes and sessions, which are stored among the keys. */
export function isKey(key: StoredKey): boolean {
  return !isCode(key) && !isSession(key)
}

/** Fields that codes and sessions have in common: they are stored among the keys, but no request is authenticated by them. */
export const OPENS_NOTHING = {
  label: '',
  role: 'member',
  disabled: true,
  allowedModels: undefined,
  provider: undefined,
  limits: {},
  passThrough: false,
  includeByokInLimit: false,
  creator: null,
} as const

export interface StoredKey extends KeyRecord {
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface KeyStore {
  /**
   * The key that a secret opens, also one that its last rotation has replaced (`rotated-keys.ts`): other operations take the hash that names
   * the key alone.
   * @param hash SHA-256 of the secret, hex.
   * @param isSuspect true: of a caller who has sent many tokens of no key. Where look-ups wait, this one comes last.
   */
  find(hash: string, isSuspect?: boolean): StoredKey | undefined | Promise<StoredKey | undefined>
  /** The key if it is at hand without a query. Absent where no key is kept at hand. */
  atHand?(hash: string): StoredKey | undefined
  /** Keys of these hashes in one round trip, in any order, without those that are not there. Absent where `find` needs no round trip. */
  findMany?(hashes: readonly string[]): Promise<StoredKey[]>
  /**
   * Adds or replaces; durable when it returns. A new key's identity is its hash, and stays when the key is replaced.
   * Each change is one step with its entry in the audit log.
   * @param by default: the gateway itself. @throws Fault `unavailable`.
   */
  put(key: KeyRecord, by?: Origin): StoredKey | Promise<StoredKey>
  /** As `put`, and replaces none. @throws Fault `unavailable`, `conflict` where its hash opens a key already. */
  add(key: KeyRecord, by?: Origin): StoredKey | Promise<StoredKey>
  /**
   * Reads, changes and writes in one step; durable when it returns. The hash may change: a new secret.
   * @param how gives the key as it is to be; identity and times stay whatever it says.
   * @returns undefined if there is no such key. @throws Fault `unavailable`, and whatever `how` throws.
   */
  change(hash: string, how: (key: StoredKey) => KeyRecord, by?: Origin): StoredKey | undefined | Promise<StoredKey | undefined>
  /** @returns false if there was no such key. Its ledger rows stay. */
  remove(hash: string, by?: Origin): boolean | Promise<boolean>
  /** In the order of their making. All of them: for operators alone. */
  list(): StoredKey[] | Promise<StoredKey[]>
  /**
   * Keys and codes that came to be by the consent of one key, by an index.
   * @param by its identity. @param now milliseconds since the epoch: what has expired by then is left out.
   */
  issuedBy(by: string, now: number): StoredKey[] | Promise<StoredKey[]>
  /** The next `most` keys and codes behind this hash, in the order of their hashes. */
  listAfter(hash: string, most: number): StoredKey[] | Promise<StoredKey[]>
}

/** The same for operations, which state who makes each change. */
export type AttributedKeys = Attributed<KeyStore, 'put' | 'add' | 'change' | 'remove'>

const PUT = `INSERT INTO api_key
  (hash, name, label, credit_limit, management, disabled, expires_at, policy, limit_reset, include_byok, creator, issuer, role, ends_at,
    workspace, member, previous_hash, updated_at, created_at, identity)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (hash) DO UPDATE SET name = excluded.name, label = excluded.label, credit_limit = excluded.credit_limit,
    management = excluded.management, disabled = excluded.disabled, expires_at = excluded.expires_at, policy = excluded.policy,
    limit_reset = excluded.limit_reset, include_byok = excluded.include_byok, creator = excluded.creator, issuer = excluded.issuer,
    role = excluded.role, ends_at = excluded.ends_at, workspace = excluded.workspace, member = excluded.member,
    previous_hash = excluded.previous_hash, updated_at = excluded.updated_at
  RETURNING *`
/** Two ranges of one index: those without an end, and those that end later. */
const ISSUED = `SELECT * FROM api_key WHERE issuer = ? AND expires_at IS NULL
  UNION ALL SELECT * FROM api_key WHERE issuer = ? AND expires_at > ?`
const CHANGE = `UPDATE api_key SET hash = ?, name = ?, label = ?, credit_limit = ?, management = ?, disabled = ?, expires_at = ?,
    policy = ?, limit_reset = ?, include_byok = ?, creator = ?, issuer = ?, role = ?, ends_at = ?, workspace = ?, member = ?,
    previous_hash = ?, updated_at = ?
  WHERE hash = ? RETURNING *`

export class SqliteKeys implements KeyStore {
  private readonly db: DatabaseSync
  private readonly clock: Clock
  private readonly selectOne: StatementSync
  private readonly selectAll: StatementSync
  private readonly selectIssued: StatementSync
  private readonly selectAfter: StatementSync
  private readonly upsert: StatementSync
  private readonly update: StatementSync
  private readonly erase: StatementSync
  private readonly insertEvent: StatementSync
  private readonly audit: SqliteAuditLog
  /** Keys in use: the file has this one owner, so what was read stays true until it is written here. */
  private readonly known = new Map<string, StoredKey>()
  /** All of them, until one is written: lists read them for each page. */
  private listed: readonly StoredKey[] | undefined

  constructor(db: DatabaseSync, clock: Clock, audit = new SqliteAuditLog(db, { clock })) {
    this.db = db
    this.clock = clock
    this.audit = audit
    this.insertEvent = eventInsert(db)
    this.selectOne = db.prepare('SELECT * FROM api_key WHERE hash = ?1 UNION ALL SELECT * FROM api_key WHERE previous_hash = ?1 LIMIT 1')
    this.selectAll = db.prepare('SELECT * FROM api_key ORDER BY created_at, hash')
    this.selectIssued = db.prepare(ISSUED)
    this.selectAfter = db.prepare('SELECT * FROM api_key WHERE hash > ? ORDER BY hash LIMIT ?')
    this.upsert = db.prepare(PUT)
    this.update = db.prepare(CHANGE)
    this.erase = db.prepare('DELETE FROM api_key WHERE hash = ?')
  }

  atHand(hash: string): StoredKey | undefined {
    return this.known.get(hash)
  }

  find(hash: string): StoredKey | undefined {
    const known = this.known.get(hash)
    if (known) return known
    const row = this.selectOne.get(hash)
    const [key] = row ? foundBy([hash], [keyFrom(row)]) : []
    if (key) this.known.set(hash, key)
    return key
  }

  /** The key that is named by this hash. */
  private named(hash: string): StoredKey | undefined {
    const found = this.find(hash)
    return found?.shown === undefined ? found : undefined
  }

  private forget({ before, after }: Change): void {
    for (const hash of hashesBy(before, after)) this.known.delete(hash)
  }

  add(key: KeyRecord, by?: Origin): StoredKey {
    if (this.find(key.hash)) throw isThere()
    return this.put(key, by)
  }

  put(key: KeyRecord, by?: Origin): StoredKey {
    const now = Math.floor(this.clock.now())
    const before = this.named(key.hash)
    const put = this.written(by, () => {
      const [row] = this.upsert.all(...keyColumns(key), now, now, key.hash)
      return { before, after: row && keyFrom(row) }
    })
    this.forget(put)
    if (!put.after) throw new Fault('unavailable', { message: 'The key store cannot be written' })
    return put.after
  }

  change(hash: string, how: (key: StoredKey) => KeyRecord, by?: Origin): StoredKey | undefined {
    const found = this.named(hash)
    if (!found) return undefined
    const columns = keyColumns(how(found))
    const change = this.written(by, () => {
      const [row] = this.update.all(...columns, Math.floor(this.clock.now()), hash)
      return { before: found, after: row ? keyFrom(row) : undefined }
    })
    this.forget(change)
    return change.after
  }

  remove(hash: string, by?: Origin): boolean {
    const before = this.named(hash)
    if (!before) return false
    this.forget(
      this.written(by, () => {
        this.erase.run(hash)
        return { before, after: undefined }
      }),
    )
    return true
  }

  list(): StoredKey[] {
    const listed = this.listed ?? this.selectAll.all().map(keyFrom)
    if (listed.length <= MAX_LISTED) this.listed = listed
    return [...listed]
  }

  issuedBy(by: string, now: number): StoredKey[] {
    return this.selectIssued.all(by, by, now).map(keyFrom)
  }

  listAfter(hash: string, most: number): StoredKey[] {
    return this.selectAfter.all(hash, most).map(keyFrom)
  }

  /** The change, its events and its entry in the audit log, all or nothing. @throws Fault `unavailable`. */
  private written(by: Origin = GATEWAY_ORIGIN, write: () => Change): Change {
    this.listed = undefined
    try {
      return atOnce(this.db, () => {
        const change = write()
        addEvents(this.insertEvent, keyEvents(change.before, change.after, this.clock.now(), by.actor))
        this.audit.append(keyAudit(change.before, change.after, by))
        return change
      })
    } catch (cause) {
      throw new Fault('unavailable', { message: 'The key store cannot be written', cause })
    }
  }
}

/** The hash of a new key is that of another one, or of a secret that another one had. */
export const isThere = (): Fault => new Fault('conflict', { message: 'There is a key of this hash' })

/** Keys that are kept between two lists, some 700 bytes each. */
const MAX_LISTED = 20_000

interface Change {
  readonly before: StoredKey | undefined
  readonly after: StoredKey | undefined
}

/** In the order in which both statements begin. */
function keyColumns(key: KeyRecord): (string | number | null)[] {
  const { management, expires_at, role, ends_at, workspace, member } = roleColumns(key)
  return [
    key.hash,
    key.name,
    key.label,
    key.limit,
    management ? 1 : 0,
    key.disabled ? 1 : 0,
    expires_at,
    policyText(key),
    key.limitReset,
    key.includeByokInLimit ? 1 : 0,
    key.creator,
    key.consent?.by ?? null,
    role,
    ends_at,
    workspace,
    member,
    key.previous?.hash ?? null,
  ]
}

function keyFrom(row: NonNullable<ReturnType<StatementSync['get']>>): StoredKey {
  return {
    identity: text(row.identity),
    hash: text(row.hash),
    label: text(row.label),
    name: plainName(text(row.name)),
    disabled: row.disabled === 1,
    limit: row.credit_limit === null ? null : integer(row.credit_limit),
    limitReset: WINDOWS.find((reset) => reset === row.limit_reset) ?? null,
    ...policyFrom(text(row.policy)),
    includeByokInLimit: row.include_byok === 1,
    creator: row.creator === null ? null : plainName(text(row.creator)),
    createdAt: integer(row.created_at),
    updatedAt: integer(row.updated_at),
    ...storedRole({
      management: row.management === 1,
      expires_at: row.expires_at === null ? null : integer(row.expires_at),
      role: row.role === null ? null : text(row.role),
      ends_at: row.ends_at === null ? null : integer(row.ends_at),
      workspace: row.workspace === null ? null : text(row.workspace),
      member: row.member === null ? null : text(row.member),
    }),
  }
}
