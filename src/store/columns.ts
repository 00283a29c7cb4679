/** Columns of the tables of both databases, as the steps of `migrations.ts` make them. */
import { columnsUpTo } from '../core/ledger-counts.ts'

/** A column, by what it holds. A `sum` begins with 0, a `flag` is true or false, a `real` may be negative, `optional` ones may be null. */
export type Kind = 'count' | 'sum' | 'real' | 'text' | 'flag' | 'optional count' | 'optional text'
export type Columns = Readonly<Record<string, Kind>>

export const HOLD = { seq: 'count', tag: 'text', key: 'text', model: 'text', endpoint: 'text', hold: 'count', floor: 'count' } as const
/** Counts that the first version had; the steps of later ones add the others (`Script.count()`). */
const COUNTED: Columns = Object.fromEntries(columnsUpTo().map((column) => [column, 'count']))

export const SETTLEMENT = {
  status: 'text',
  cost: 'count',
  ...COUNTED,
  estimated: 'flag',
  facts: 'text',
} as const
export const KEY = {
  hash: 'text',
  name: 'text',
  label: 'text',
  credit_limit: 'optional count',
  management: 'flag',
  disabled: 'flag',
  expires_at: 'optional count',
  created_at: 'count',
  updated_at: 'count',
  policy: 'text',
} as const
/** Sums of the generations that retention removed; `day` counts days since the epoch. */
export const CARRIED = { key: 'text', day: 'count', count: 'count', cost: 'count' } as const
/** Nano-dollars of a key: all that was spent, all that is leased, and what was spent in the day, week and month that began then. */
export const BALANCE = {
  key: 'text',
  spent: 'sum',
  leased: 'sum',
  day: 'sum',
  daily: 'sum',
  week: 'sum',
  weekly: 'sum',
  month: 'sum',
  monthly: 'sum',
} as const
export const LEASE = { key: 'text', node: 'text', amount: 'count', wanted: 'flag', answered_at: 'count' } as const
/** Part of a lease that was charged or given back; the amount that was granted stands in `lease`. */
export const LEASE_USED = { key: 'text', payer: 'text', node: 'text', used: 'sum' } as const
export const NODE = { node: 'text', label: 'text', expires_at: 'count' } as const
/** Changes of keys and of guardrails, numbered in the order in which they were committed. */
export const KEY_CHANGE = { number: 'count', hash: 'text' } as const

/**
 * Entries beside the generations: `seq` and `tag` name a generation, 0 and '' none; `amount` may be below zero; `counted_at` is the moment
 * in whose windows they count, 0 where they move nothing; `settles` is the id of another entry.
 */
export const LEDGER_ENTRY = {
  number: 'count',
  id: 'text',
  at: 'count',
  key: 'text',
  payer: 'text',
  seq: 'count',
  tag: 'text',
  model: 'text',
  provider: 'text',
  kind: 'text',
  amount: 'count',
  counted_at: 'count',
  settles: 'optional text',
  actor: 'text',
  reason: 'text',
  once: 'optional text',
} as const

/** `fields` is a JSON text, as the API takes it; `version` rises with every change. */
export const GUARDRAIL = {
  id: 'text',
  version: 'count',
  name: 'text',
  fields: 'text',
  created_at: 'count',
  updated_at: 'optional count',
} as const
/** `subject` is the identity of a key, the id of a member, or of a workspace, as `kind` says. */
export const ASSIGNMENT = {
  kind: 'text',
  subject: 'text',
  guardrail: 'text',
  id: 'text',
  assigned_by: 'optional text',
  created_at: 'count',
} as const
/** One finding; `detail` is a JSON text of hashes and kinds. */
export const AUDIT = {
  at: 'count',
  id: 'text',
  generation: 'text',
  key: 'text',
  guardrail: 'text',
  name: 'text',
  direction: 'text',
  stage: 'text',
  action: 'text',
  detail: 'text',
} as const
/** Requests that the gateway has refused, by minute, key and reason. */
export const REFUSAL = { at: 'count', id: 'text', key: 'text', reason: 'text', detail: 'text' } as const
/** Which key a provider gave an id to; `id` is a hash. */
export const GIVEN_ID = { id: 'text', owner: 'text', until: 'count' } as const
/** The audit log: `entry` is a canonical JSON text, `hash` its SHA-256; the other columns repeat what lists are filtered by. */
export const AUDIT_ENTRY = {
  sequence: 'count',
  at: 'count',
  actor: 'text',
  action: 'text',
  subject: 'text',
  entry: 'text',
  hash: 'text',
} as const
/** The last entry of the audit log: one row. */
export const AUDIT_HEAD = { sequence: 'count', hash: 'text' } as const
/** Sums of removed generations since they name a payer; in SQLite in whole dollars and a rest below a billion or a little more. */
export const CARRIED_BY_PAYER = { key: 'text', payer: 'text', day: 'count', count: 'count', dollars: 'count', nano: 'count' } as const
/** Random texts that every process of one gateway knows and that no other program gets. */
export const SECRET = { name: 'text', value: 'text' } as const

/** Keys of compaction items; the highest number encrypts. */
export const COMPACTION_KEY = { number: 'count', value: 'text', created_at: 'count' } as const

/** Keys of providers that teams have brought; `terms` is a JSON text. */
export const BYOK_KEY = {
  id: 'text',
  version: 'count',
  provider: 'text',
  encrypted: 'text',
  terms: 'text',
  created_at: 'count',
  updated_at: 'optional count',
} as const

/**
 * Levels of organisations. `handle` is unique among those that are there, `fields` is a JSON text, `change` the number of the last change of
 * the row; a removed one has no handle and no fields.
 */
export const LEVEL = {
  id: 'text',
  version: 'count',
  kind: 'text',
  parent: 'optional text',
  handle: 'optional text',
  fields: 'text',
  created_at: 'count',
  updated_at: 'optional count',
  change: 'count',
  removed_at: 'optional count',
} as const

/**
 * Events, numbered in the order of the commits. `once` names an event that is raised a single time, such as for a share of a
 * limit in one window; `fields` is a JSON text.
 */
export const EVENT = {
  number: 'count',
  id: 'text',
  type: 'text',
  at: 'count',
  once: 'optional text',
  subject: 'text',
  fields: 'text',
} as const
/** An event on its way to a receiver; a process that sends it has it until `claimed_until`. */
export const EVENT_DELIVERY = {
  receiver: 'text',
  event: 'count',
  state: 'text',
  attempts: 'count',
  first_at: 'count',
  due_at: 'count',
  claimed_until: 'count',
  status: 'optional count',
  problem: 'optional text',
  updated_at: 'count',
} as const
/** Events from `next` on have no deliveries yet; a receiver that has answered 410 gets none. */
export const EVENT_RECEIVER = { name: 'text', next: 'count', disabled_at: 'optional count' } as const

/** Columns of a row of `use_by_hour` or `use_by_key`, each a sum; `saved` is nano-dollars. Cost as in `CARRIED_BY_PAYER`. */
export const USE = {
  model: 'text',
  endpoint: 'text',
  provider: 'text',
  status: 'text',
  count: 'count',
  dollars: 'count',
  nano: 'count',
  ...COUNTED,
  saved: 'real',
} as const
/**
 * Sums in a row of `use_by_key_model`, `use_by_key_provider`, `use_by_key_both` or `use_by_key_running`; `failed` of `count` have failed,
 * or have an unknown outcome.
 */
export const USE_OF_KEY = {
  count: 'count',
  failed: 'count',
  dollars: 'count',
  nano: 'count',
  ...COUNTED,
  saved: 'real',
} as const
/** Days before `day` are closed, and of that day the keys up to `key`: their coarser sums are made. */
export const CLOSED = { day: 'count', key: 'text' } as const
/** Sums of the generations of one session that were admitted in one hour; `models` is a JSON list, `first` and `last` are sequences. */
export const SESSION_USE = {
  hour: 'count',
  key: 'text',
  session: 'text',
  models: 'text',
  count: 'count',
  failed: 'count',
  dollars: 'count',
  nano: 'count',
  ...COUNTED,
  saved: 'real',
  first: 'count',
  last: 'count',
} as const
/** `minute` counts since the epoch. */
export const KEY_MINUTE = { key: 'text', minute: 'count' } as const
/** The tables of sums that have all counts. */
export const SUM_TABLES = [
  'use_by_hour',
  'use_by_key',
  'use_by_day',
  'use_by_key_model',
  'use_by_key_provider',
  'use_by_key_both',
  'use_by_key_running',
  'session_use',
] as const
export const USE_NAMES = ['model', 'endpoint', 'provider', 'status'] as const

/**
 * A reader that goes through the ledger step by step, such as an export. It has read the generations below `below`, but for those in
 * `ledger_reader_late`. An open batch (`begun_at` is not 0) has those below `reaching` too.
 */
const READER_HOLDER = { holder: 'text', held_until: 'count', seen_at: 'count', note: 'text' } as const
export const READER = { name: 'text', below: 'count', reaching: 'count', batch: 'count', begun_at: 'count', ...READER_HOLDER } as const
/** Sums that a reader keeps of one account with a batch; `sums` is a JSON list. */
export const READER_SUM = { reader: 'text', batch: 'count', account: 'text', sums: 'text' } as const
/** Of the sums in `carried` those of generations that the reader of `ledger verify` had not read. */
export const CARRIED_UNREAD = { key: 'text', payer: 'text', dollars: 'count', nano: 'count' } as const
/** Generations that were settled when `reaching` had passed them; `batch` is 0 until a batch has them. */
export const READER_LATE = { reader: 'text', seq: 'count', tag: 'text', batch: 'count' } as const
