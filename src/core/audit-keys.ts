/**
 * Keys of the audit log. With one, the hash of an entry is an HMAC: an account that can write the database, but does not have the key,
 * cannot compute another chain. Each entry names its key, so that one can take the place of another (docs/audit.md#sign-the-log-with-a-key).
 */
import { createHmac, hash } from 'node:crypto'

/** Characters of the name of a key within an entry. */
const ID_LENGTH = 16

export class AuditKey {
  /** Says nothing of the secret, and is the same in every process. */
  readonly id: string
  private readonly secret: string

  constructor(secret: string) {
    this.secret = secret
    this.id = hash('sha256', `headgate audit key\0${secret}`).slice(0, ID_LENGTH)
  }

  /** HMAC-SHA-256 of an entry, hex. */
  sign(entry: string): string {
    return createHmac('sha256', this.secret).update(entry).digest('hex')
  }
}

export interface AuditKeySettings {
  readonly key?: string | undefined
  readonly formerKeys: readonly string[]
}

export class AuditKeys {
  /** Signs new entries. */
  readonly current: AuditKey | undefined
  private readonly all: ReadonlyMap<string, AuditKey>

  constructor({ key, formerKeys }: AuditKeySettings) {
    this.current = key === undefined ? undefined : new AuditKey(key)
    const former = formerKeys.map((secret) => new AuditKey(secret))
    this.all = new Map([...former, ...(this.current ? [this.current] : [])].map((each) => [each.id, each]))
  }

  find(id: string): AuditKey | undefined {
    return this.all.get(id)
  }
}

export const NO_AUDIT_KEYS = new AuditKeys({ formerKeys: [] })
