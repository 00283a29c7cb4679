/** Rows of the PostgreSQL tables, and the builder that compiles statements about them. */
import type { AuditRow } from '../../core/audit-entries.ts'
import { COUNT_COLUMNS, COUNT_VERSIONS } from '../../core/ledger-counts.ts'
import type { EntryKind } from '../../core/ledger-entries.ts'
import type { CountColumns } from '../../core/row-counts.ts'
import type { SettleStatus } from '../../ledger/types.ts'
import type { LimitReset } from '../../plugin-api/key.ts'
import { compiler } from '../schema-script.ts'

/** A hold and its settlement. */
export interface GenerationTable extends CountColumns {
  seq: number
  tag: string
  key: string
  /** Empty where there is none. */
  payer: string
  model: string
  endpoint: string
  hold: number
  floor: number
  status: SettleStatus
  cost: number
  estimated: boolean
  facts: string
  at: number
}

/**
 * All of them, for statements that a connection prepares once: with a `*` these fail as soon as a program of the next schema version has
 * added a column (PostgreSQL: "cached plan must not change result type").
 */
export const GENERATION_COLUMNS = [
  'seq',
  'tag',
  'key',
  'payer',
  'model',
  'endpoint',
  'hold',
  'floor',
  'status',
  'cost',
  ...COUNT_COLUMNS,
  'estimated',
  'facts',
  'at',
] as const satisfies readonly (keyof GenerationTable)[]

/** The function that takes forwarded generations, with the counts of a version of the schema; absent: with all. */
export const takeName = (version = COUNT_VERSIONS.at(-1) ?? 0): string => (version === 0 ? 'take' : `take_${version}`)

export interface KeyTable {
  hash: string
  name: string
  label: string
  credit_limit: number | null
  management: boolean
  disabled: boolean
  expires_at: number | null
  created_at: number
  updated_at: number
  policy: string
  identity: string
  limit_reset: LimitReset | null
  include_byok: boolean
  creator: string | null
  /** Identity of the key that consented to it; null for all others. */
  issuer: string | null
  /** See `src/store/key-roles.ts`, as `ends_at`. */
  role: string | null
  ends_at: number | null
  /** Id of the workspace, and of the member, that it is in; null: the default one, and none. */
  workspace: string | null
  member: string | null
  /** Hash of the secret before the last rotation. It opens the key only if `policy` has it as well: programs that know no such secret drop it there. */
  previous_hash: string | null
}

/** As `GENERATION_COLUMNS`. */
export const KEY_COLUMNS = [
  'hash',
  'name',
  'label',
  'credit_limit',
  'management',
  'disabled',
  'expires_at',
  'created_at',
  'updated_at',
  'policy',
  'identity',
  'limit_reset',
  'include_byok',
  'creator',
  'issuer',
  'role',
  'ends_at',
  'workspace',
  'member',
  'previous_hash',
] as const satisfies readonly (keyof KeyTable)[]

export interface BalanceTable {
  key: string
  spent: bigint
  leased: bigint
}

/** `day` counts days since the epoch. */
export interface CarriedTable {
  key: string
  payer: string
  day: number
  count: number
  cost: bigint
}

export interface KeyChangeTable {
  number: number
  hash: string
}

export interface GuardrailTable {
  id: string
  version: number
  name: string
  fields: string
  created_at: number
  updated_at: number | null
}

export interface AssignmentTable {
  kind: string
  subject: string
  guardrail: string
  id: string
  assigned_by: string | null
  created_at: number
}

export interface AuditTable {
  at: number
  id: string
  generation: string
  key: string
  guardrail: string
  name: string
  direction: string
  stage: string
  action: string
  detail: string
}

export interface RefusalTable {
  at: number
  id: string
  key: string
  reason: string
  detail: string
}

export interface GivenIdTable {
  id: string
  owner: string
  until: number
}

export interface SecretTable {
  name: string
  value: string
}

export interface CompactionKeyTable {
  number: number
  value: string
  created_at: number
}

export interface ByokKeyTable {
  id: string
  version: number
  provider: string
  encrypted: string
  terms: string
  created_at: number
  updated_at: number | null
}

export interface LevelTable {
  id: string
  version: number
  kind: string
  parent: string | null
  handle: string | null
  fields: string
  created_at: number
  updated_at: number | null
  change: number
  removed_at: number | null
}

/** As `GENERATION_COLUMNS`. */
export const LEVEL_COLUMNS = [
  'id',
  'version',
  'kind',
  'parent',
  'handle',
  'fields',
  'created_at',
  'updated_at',
  'change',
  'removed_at',
] as const satisfies readonly (keyof LevelTable)[]

export interface EventTable {
  number: number
  id: string
  type: string
  at: number
  once: string | null
  subject: string
  fields: string
}

export interface EventDeliveryTable {
  receiver: string
  event: number
  state: string
  attempts: number
  first_at: number
  due_at: number
  claimed_until: number
  status: number | null
  problem: string | null
  updated_at: number
}

export interface EventReceiverTable {
  name: string
  next: number
  disabled_at: number | null
}

export interface LedgerEntryTable {
  number: number
  id: string
  at: number
  key: string
  payer: string
  seq: number
  tag: string
  model: string
  provider: string
  kind: EntryKind
  amount: number
  counted_at: number
  settles: string | null
  actor: string
  reason: string
  once: string | null
}

export interface AuditHeadTable {
  sequence: number
  hash: string
}

export interface Tables {
  audit_entry: AuditRow
  audit_head: AuditHeadTable
  ledger_entry: LedgerEntryTable
  generation: GenerationTable
  api_key: KeyTable
  balance: BalanceTable
  carried: CarriedTable
  key_change: KeyChangeTable
  guardrail: GuardrailTable
  guardrail_assignment: AssignmentTable
  guardrail_audit: AuditTable
  refusal: RefusalTable
  given_id: GivenIdTable
  secret: SecretTable
  compaction_key: CompactionKeyTable
  byok_key: ByokKeyTable
  level: LevelTable
  event: EventTable
  event_delivery: EventDeliveryTable
  event_receiver: EventReceiverTable
}

/** PostgreSQL's text knows no NUL, and one row that is refused would hold up its journal for ever. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** Only compiles; `Connection` runs what it makes. */
export const query = compiler<Tables>('postgres')
