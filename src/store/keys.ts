/** API keys at rest: only the hash of a secret, and what its holder may do. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { integer, text } from './sqlite.ts'

export interface StoredKey extends ApiKey {
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface KeyStore {
  /** @param hash SHA-256 of the secret, hex. */
  find(hash: string): StoredKey | undefined | Promise<StoredKey | undefined>
  /** Adds or replaces; durable when it returns. A stored key's identity is its hash. @throws Fault `unavailable`. */
  put(key: ApiKey): StoredKey | Promise<StoredKey>
  /** @returns false if there was no such key. Its ledger rows stay. */
  remove(hash: string): boolean | Promise<boolean>
  /** In the order of their making. */
  list(): StoredKey[] | Promise<StoredKey[]>
}

/** What a stored key always is, whatever it was made from. */
export function storedKey(key: ApiKey, createdAt: number, updatedAt: number): StoredKey {
  return { ...key, identity: key.hash, createdAt, updatedAt }
}

type Policy = Pick<ApiKey, 'allowedModels' | 'provider' | 'limits' | 'passage'>

const PUT = `INSERT INTO api_key (hash, name, label, credit_limit, management, disabled, expires_at, created_at, updated_at, policy)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (hash) DO UPDATE SET name = excluded.name, label = excluded.label, credit_limit = excluded.credit_limit,
    management = excluded.management, disabled = excluded.disabled, expires_at = excluded.expires_at,
    updated_at = excluded.updated_at, policy = excluded.policy
  RETURNING *`

export class SqliteKeys implements KeyStore {
  private readonly clock: Clock
  private readonly selectOne: StatementSync
  private readonly selectAll: StatementSync
  private readonly upsert: StatementSync
  private readonly erase: StatementSync

  constructor(db: DatabaseSync, clock: Clock) {
    this.clock = clock
    this.selectOne = db.prepare('SELECT * FROM api_key WHERE hash = ?')
    this.selectAll = db.prepare('SELECT * FROM api_key ORDER BY created_at, hash')
    this.upsert = db.prepare(PUT)
    this.erase = db.prepare('DELETE FROM api_key WHERE hash = ?')
  }

  find(hash: string): StoredKey | undefined {
    const row = this.selectOne.get(hash)
    return row ? keyFrom(row) : undefined
  }

  put(key: ApiKey): StoredKey {
    const now = Math.floor(this.clock.now())
    const policy: Policy = { allowedModels: key.allowedModels, provider: key.provider, limits: key.limits, passage: key.passage }
    const row = written(() =>
      this.upsert.get(
        key.hash,
        key.name,
        key.label,
        key.limit,
        key.management ? 1 : 0,
        key.disabled ? 1 : 0,
        key.expiresAt,
        now,
        now,
        JSON.stringify(policy),
      ),
    )
    if (!row) throw new Fault('unavailable', { message: 'The key store cannot be written' })
    return keyFrom(row)
  }

  remove(hash: string): boolean {
    return written(() => this.erase.run(hash)).changes === 1
  }

  list(): StoredKey[] {
    return this.selectAll.all().map(keyFrom)
  }
}

function written<T>(write: () => T): T {
  try {
    return write()
  } catch (cause) {
    throw new Fault('unavailable', { message: 'The key store cannot be written', cause })
  }
}

function keyFrom(row: NonNullable<ReturnType<StatementSync['get']>>): StoredKey {
  const policy = JSON.parse(text(row.policy)) as Policy
  const hash = text(row.hash)
  return {
    identity: hash,
    hash,
    label: text(row.label),
    name: text(row.name),
    management: row.management === 1,
    disabled: row.disabled === 1,
    limit: row.credit_limit === null ? null : integer(row.credit_limit),
    expiresAt: row.expires_at === null ? null : integer(row.expires_at),
    allowedModels: policy.allowedModels,
    provider: policy.provider,
    limits: policy.limits,
    passage: policy.passage,
    createdAt: integer(row.created_at),
    updatedAt: integer(row.updated_at),
  }
}
