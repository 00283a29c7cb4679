/** Every event that the gateway raises: its type, its data, and where it comes from. One entry each; docs/events.md is generated from them. */
import { randomUUID } from 'node:crypto'
import type { Actor } from './audit-entries.ts'
import type { JsonObject } from './json.ts'

/** An event that is to be stored. */
export interface NewEvent {
  /** Of the event, whatever happens to it: the `id` of the CloudEvent and the `webhook-id`. Without a full stop, which delimits what is signed. */
  readonly id: string
  readonly type: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Names what may happen a single time: a second event of the same name is not stored. */
  readonly once?: string | undefined
  /** Subject: the hash of a key, the id of an endpoint. */
  readonly subject: string
  readonly data: JsonObject
}

interface Facts<Data> {
  readonly at: number
  readonly subject: string
  readonly data: Data
  readonly once?: string
}

export interface EventType<Data = unknown> {
  readonly type: string
  /** When it is raised. */
  readonly text: string
  /** Meaning of `subject` in events of this type. */
  readonly subject: string
  /** Members of `data`. */
  readonly fields: Readonly<Record<keyof Data & string, string>>
  make(facts: Facts<Data>): NewEvent
}

const types: EventType[] = []

export function eventTypes(): readonly EventType[] {
  return types
}

function declare<Data extends object>(
  type: string,
  text: string,
  { subject, fields }: { subject: string; fields: Readonly<Record<keyof Data & string, string>> },
): EventType<Data> {
  const made: EventType<Data> = {
    type,
    text,
    subject,
    fields,
    make: ({ data, ...facts }) => ({ ...facts, id: `evt_${randomUUID().replaceAll('-', '')}`, type, data: { ...data } as JsonObject }),
  }
  types.push(made as EventType)
  return made
}

/** A key as events show it: never its secret. */
export interface KeyFacts {
  readonly key: string
  readonly name: string
  readonly label: string
}

const KEY = 'the hash of the key, as `/v1/keys` shows it'
const KEY_FIELDS = {
  key: 'Its identity: the hash that it was made with, which a new secret does not change.',
  name: 'Its name.',
  label: 'Its secret, shortened beyond use.',
} as const

/** A change of a key. */
export interface KeyChangeFacts extends KeyFacts {
  readonly actor: Actor
}

const KEY_CHANGE_FIELDS = {
  ...KEY_FIELDS,
  actor: 'Who changed it, with `kind`, `id` and `name` as in the [audit log](audit.md#actors).',
} as const

const ofKey = (verb: string, text: string): EventType<KeyChangeFacts> =>
  declare(`headgate.key.${verb}`, text, { subject: KEY, fields: KEY_CHANGE_FIELDS })

export const KEY_CREATED = ofKey('created', 'A key was added to the store, over the API, by the command line or through sign-in.')
export const KEY_ROTATED = ofKey(
  'rotated',
  'A key of the store got a new secret; the old one opens nothing any more, or from the end of an [overlap](keys.md#rotate-a-secret) on.',
)
export const KEY_CHANGED = ofKey('changed', 'A key of the store got another name, limit or policy.')
export const KEY_DISABLED = ofKey('disabled', 'A key of the store was disabled.')
export const KEY_ENABLED = ofKey('enabled', 'A key of the store that was disabled may be used again.')
export const KEY_REVOKED = ofKey('revoked', 'A key was removed from the store.')

export const KEY_EXPIRING = declare<KeyFacts & { expires_at: string; days: number }>(
  'headgate.key.expiring',
  'A key ends within seven days, or within one. Once for each of the two and each end; at most an hour late. A key that was made to last no longer has none.',
  {
    subject: KEY,
    fields: { ...KEY_FIELDS, expires_at: 'Its end, in UTC.', days: '7 or 1: it ends within so many days.' },
  },
)

/** Amounts in USD, as decimal texts. */
interface BudgetFacts extends KeyFacts {
  readonly limit_usd: string
  readonly reset: string | null
  readonly window_start: string | null
}

const BUDGET = `${KEY}; of a budget that several keys spend together, \`budget:\` and its name; of an organization, workspace or member, that word, a colon and its id`
const BUDGET_FIELDS = {
  ...KEY_FIELDS,
  label: `${KEY_FIELDS.label} Empty for a budget that several keys spend together.`,
  key: 'Identity of the key; `budget:` and the name of a budget that several keys spend together; `organization:`, `workspace:` or `member:` and an id.',
  limit_usd: 'The limit in USD, as a decimal text.',
  reset: '`daily`, `weekly`, `monthly`, or null for a limit on all that was ever spent.',
  window_start: 'Start of the UTC day, week or month; null without a reset.',
} as const

export const SHARE_REACHED = declare<BudgetFacts & { share_percent: number; spent_usd: string }>(
  'headgate.budget.share_reached',
  'What a key, or the keys under one budget, have spent has reached a share of the limit (`events.budget_shares`). Once per share, limit and window.',
  {
    subject: BUDGET,
    fields: {
      ...BUDGET_FIELDS,
      share_percent: 'The share, in percent of the limit.',
      spent_usd: 'What had been spent in the window, in USD as a decimal text.',
    },
  },
)
export const LIMIT_REACHED = declare<BudgetFacts>(
  'headgate.budget.limit_reached',
  'A request was refused with 402, since the limit of its key, or a budget of several keys, leaves too little. Once per limit and window.',
  { subject: BUDGET, fields: BUDGET_FIELDS },
)

interface EndpointFacts {
  readonly endpoint: string
  readonly provider: string
  readonly model: string
  readonly process: string
}

const ENDPOINT = 'the id of the endpoint; of a wildcard that of the wildcard'
const ENDPOINT_FIELDS = {
  endpoint: 'Its id.',
  provider: 'Name of the provider.',
  model: 'Slug of the model.',
  process: 'Host and number of the process that saw it.',
} as const

export const PROVIDER_EJECTED = declare<EndpointFacts>(
  'headgate.provider.ejected',
  'Five requests in a row failed at an endpoint, so that others are used first by all keys that use it. Once until it is restored.',
  { subject: ENDPOINT, fields: ENDPOINT_FIELDS },
)
export const PROVIDER_RESTORED = declare<EndpointFacts>(
  'headgate.provider.restored',
  'An endpoint that was ejected has served a request.',
  {
    subject: ENDPOINT,
    fields: ENDPOINT_FIELDS,
  },
)

export const PROVIDER_ACCOUNT = declare<{ provider: string; problem: string; setting: string; refusals: number; process: string }>(
  'headgate.provider.account',
  "A provider refused the gateway's account: the key is wrong, the credit used up, the account on hold or without a right. At most one a minute for each key and problem.",
  {
    subject: 'the provider',
    fields: {
      provider: 'Name of the provider.',
      problem:
        '`upstream_auth`, `credential_refused`: the key. `upstream_credit`: the credit. `upstream_account`: the account. `upstream_rights`: a right. `upstream_quota`: its tokens per minute are fewer than one request has. `upstream_region`: the place. `byok_unusable`: a key that a team brought cannot be decrypted.',
      setting: 'Where the configuration has the key of the provider; `byok/ID` for a key that a team brought.',
      refusals: 'How many there were since the last such event, this one included.',
      process: 'Host and number of the process that saw it.',
    },
  },
)

export const UNKNOWN_WORD = declare<{ provider: string; kind: string; word: string; process: string }>(
  'headgate.provider.unknown_word',
  'A provider sent a word that headgate does not know: its format has changed, or it bills something that no price covers. Once for each word, as long as events are kept.',
  {
    subject: 'the provider',
    fields: {
      provider: 'Name of the provider.',
      kind: '`usage`: a member of its report of usage, which may be money that is not charged. `end`: why an answer ended; the record has it as `unknown`. `tier`: a service tier; the dearest that the endpoint has was charged. `event`, `item`, `part`: a type within a reply, which callers of other formats did not get.',
      word: 'The word, or `(not a name)`.',
      process: 'Host and number of the process that read it.',
    },
  },
)

const PROCESS = 'Host and number of the process.'

export const CONFIGURATION_RELOADED = declare<{ file: string; process: string }>(
  'headgate.configuration.reloaded',
  'A changed configuration is in force.',
  { subject: 'the name of the file', fields: { file: 'Name of the file, as it was given.', process: PROCESS } },
)
export const CONFIGURATION_REFUSED = declare<{ file: string; process: string; reason: 'invalid' | 'restart'; settings: string[] }>(
  'headgate.configuration.refused',
  'A changed configuration is not in force: the former one stays.',
  {
    subject: 'the name of the file',
    fields: {
      file: 'Name of the file, as it was given.',
      process: PROCESS,
      reason: '`invalid`: it cannot be used, see the log. `restart`: it changes settings that are read at a start only.',
      settings: 'Those settings; empty where it is invalid.',
    },
  },
)

export const GUARDRAIL_HIT = declare<{
  guardrail: string
  action: string
  direction: string
  stage: string
  entities: string[]
  key: string
  generation: string
  hits: number
}>(
  'headgate.guardrail.hit',
  'A guardrail found something in a request or an answer. At most one a minute for each key, guardrail, stage, action and direction.',
  {
    subject: 'the name of the guardrail',
    fields: {
      guardrail: 'Its name.',
      action: 'What it did: `flagged`, `redacted`, `blocked` or `unchecked`.',
      direction: 'In the request or in the answer.',
      stage: 'The rule that found it.',
      entities: 'Kinds of what was found, such as `email`; never the text.',
      key: 'Identity of the key.',
      generation: 'Id of the generation.',
      hits: 'How many there were since the last such event, this one included.',
    },
  },
)
export const LEDGER_PROBLEM = declare<{ problem: string; process: string }>(
  'headgate.ledger.problem',
  'The ledger cannot be written, or something about it needs a look. At most one a minute for each problem and process.',
  {
    subject: 'the problem',
    fields: {
      problem:
        '`differs`: a check has found what does not add up. `damaged`: the file of the store is, and no new work is taken. `recovered`: the start has settled what a crash had left open. Else as the log line names it in `kind`, such as `refused`: nothing can be written.',
      process: PROCESS,
    },
  },
)
interface LossFacts {
  readonly kind: 'unrecovered' | 'disputed'
  readonly generation: string
  readonly key: string
  readonly provider: string
  readonly usd: string
}

export const LEDGER_LOSS = declare<LossFacts>(
  'headgate.ledger.loss',
  'A provider reported usage that its key is not charged for. The ledger has it as an entry. Once per generation and kind.',
  {
    subject: 'the id of the generation',
    fields: {
      kind: '`unrecovered`: beyond what the limits and budgets of the key could pay. `disputed`: more than the request can have used.',
      generation: 'Its id.',
      key: 'Identity of the key.',
      provider: 'Name of the provider.',
      usd: 'The amount in USD, as a decimal text.',
    },
  },
)
export const DRAIN_BEGUN = declare<{ process: string }>(
  'headgate.drain.begun',
  'A process takes no new connections and ends after its open requests.',
  { subject: 'the process', fields: { process: PROCESS } },
)
