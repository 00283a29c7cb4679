/** The part of the gateway that a caller with a place governs: which keys lie in it, and which accounts they draw on. */
import { accountIdentity } from '../../core/account-kinds.ts'
import { memberIdentity } from '../../core/member.ts'
import { isWithin, type PlacedHolder, type Reach } from '../../core/reach.ts'
import type { LedgerPart } from '../../ledger/types.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { StoredKey } from '../../store/keys.ts'
import { allKeys, type KeySource, type LevelSource, withPayers } from '../key-entry.ts'

/** Sources by which the place of a key is found. */
export interface WithinSource extends Pick<KeySource, 'configured' | 'store' | 'budgets'> {
  readonly levels?: LevelSource | undefined
  /** Issuers of callers with tokens and certificates, as identities of members have them. */
  readonly memberIssuers: readonly string[]
}

type Key = ApiKey | StoredKey

/** Of one call: what it has read stays as it was. */
export class Within {
  readonly reach: Reach
  private readonly source: WithinSource
  private read: Promise<readonly Key[]> | undefined
  private found: Promise<ReadonlySet<string>> | undefined

  constructor(reach: Reach, source: WithinSource) {
    this.reach = reach
    this.source = source
  }

  /** @param key with its levels, an issued one with its issuer. */
  has(key: PlacedHolder): boolean {
    return isWithin(key, this.reach)
  }

  /** A key with the levels of its place. */
  placed<K extends ApiKey>(key: K): K {
    return withPayers(key, this.source)
  }

  /** Keys of the whole gateway. */
  allKeys(): Promise<readonly Key[]> {
    this.read ??= allKeys(this.source)
    return this.read
  }

  /** All keys of the part, as `allKeys` has them. */
  async keys(): Promise<readonly Key[]> {
    return (await this.allKeys()).filter((key) => this.has(key))
  }

  /** The place itself, and of an organization its workspaces. */
  places(): readonly Reach[] {
    const { kind, id } = this.reach
    return this.levels().groups.map((group) => ({ kind: group === id ? kind : 'workspace', id: group }))
  }

  /** Ids of its organization and workspaces, and of their members. */
  levels(): { readonly groups: readonly string[]; readonly members: readonly { readonly id: string; readonly userId: string }[] } {
    const { kind, id } = this.reach
    const tree = this.source.levels?.tree
    if (!tree || id === '') return { groups: id === '' ? [] : [id], members: [] }
    const groups = kind === 'workspace' ? [id] : [id, ...tree.list('workspace', id).map((level) => level.id)]
    const members = groups.flatMap((group) => tree.list('member', group))
    return { groups, members: members.map((member) => ({ id: member.id, userId: member.fields.userId ?? '' })) }
  }

  /** Identities in the ledger: of its keys, and of its members with tokens. */
  identities(): Promise<ReadonlySet<string>> {
    this.found ??= this.findIdentities()
    return this.found
  }

  private async findIdentities(): Promise<ReadonlySet<string>> {
    const found = new Set((await this.keys()).map(({ identity }) => identity))
    for (const { userId } of this.levels().members)
      for (const issuer of this.source.memberIssuers) found.add(memberIdentity(issuer, userId))
    return found
  }

  /** Account that all spending of the part is charged to, once its level has a row. */
  get account(): string {
    return accountIdentity(this.reach.kind, this.reach.id)
  }

  /** The part of the ledger. */
  async ledgerPart(): Promise<LedgerPart> {
    return { keys: [...(await this.identities())], account: this.account }
  }

  /** Subjects of events and of entries in the audit log: keys, levels, and accounts of these. */
  async subjects(): Promise<ReadonlySet<string>> {
    const { groups, members } = this.levels()
    const accounts = [...this.places(), ...members.map(({ id }) => ({ kind: 'member' as const, id }))].map(({ kind, id }) =>
      accountIdentity(kind, id),
    )
    return new Set([...(await this.identities()), ...groups, ...members.map(({ id }) => id), ...accounts])
  }
}
