/** The audit log. */
import { Type } from 'typebox'
import { ACTOR_KINDS, AUDIT_ACTIONS } from '../../core/audit-entries.ts'
import { AUDIT_QUERY, listAuditEntries } from '../audit.ts'
import { REPORT_QUERY, readAuditReport } from '../audit-report.ts'
import { type Operation, operation } from '../operation.ts'
import { maybe } from '../schemas.ts'

const state = (description: string) => Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], { description })

const entry = Type.Object(
  {
    sequence: Type.Integer({ minimum: 1, description: 'Its place: without gaps, in the order in which changes were committed.' }),
    at: Type.String({ format: 'date-time', description: 'By the clock of the process, which may go back.' }),
    actor: Type.Object({
      kind: Type.Enum([...ACTOR_KINDS]),
      id: maybe(Type.String({ description: 'Identity of the key, account of the command line, name of the file; else null.' })),
      name: maybe(Type.String()),
    }),
    address: maybe(Type.String({ description: 'IPv4 address of the client, or the /64 network of its IPv6 address.' })),
    action: Type.Enum(Object.keys(AUDIT_ACTIONS)),
    subject: Type.String({ description: 'What was changed.' }),
    before: state('The fields that changed, as they were. Of a long or confidential one its SHA-256.'),
    after: state('The same, as they are now.'),
    reason: maybe(Type.String()),
    previous: Type.String({ description: 'Hash of the entry before.' }),
    hash: Type.String({ description: 'SHA-256 of the entry without this member, as canonical JSON (RFC 8785).' }),
  },
  { description: 'An entry of the audit log.' },
)

const names = Type.Array(Type.String())
const kept = (description: string) =>
  Type.Object(
    {
      days: maybe(Type.Integer({ minimum: 0, description: 'Null: for ever, or removal is held.' })),
      hold: Type.Boolean(),
      covers_six_months: Type.Boolean({ description: 'True for 184 days or more.' }),
    },
    { description },
  )
const place = (description: string) =>
  Type.Object({ sequence: maybe(Type.Integer()), at: maybe(Type.String({ format: 'date-time' })) }, { description })

const report = Type.Object({
  regulation: Type.String(),
  from: Type.String({ format: 'date' }),
  to: Type.String({ format: 'date', description: 'The last day.' }),
  generated_at: Type.String({ format: 'date-time' }),
  audit_log: Type.Object({
    verdict: Type.Enum(['whole', 'broken']),
    first_bad: maybe(Type.Object({ sequence: Type.Integer(), problem: Type.String() })),
    entries: Type.Integer({ minimum: 0, description: 'Entries that were checked: all that are kept, of any time.' }),
    receipt: Type.String({ description: 'For `audit verify --expect` of the command line.' }),
    keyed_from: maybe(Type.Integer({ description: 'The first entry that is signed with a key; all behind it are.' })),
    first: place('The oldest entry that is kept.'),
    last: place('The newest entry.'),
    removed_by_retention: Type.Integer({ minimum: 0 }),
    in_period: Type.Integer({ minimum: 0 }),
    in_period_by_action: Type.Record(Type.String(), Type.Integer({ minimum: 1 })),
  }),
  generations: Type.Object({
    requests: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0, description: 'Of these: failed, or with an unknown end.' }),
    first_day: maybe(Type.String({ format: 'date' })),
    last_day: maybe(Type.String({ format: 'date' })),
    days_with_requests: Type.Integer({ minimum: 0 }),
    days_without_requests: Type.Integer({ minimum: 0 }),
    models: Type.Array(Type.Object({ model: Type.String(), provider: Type.String(), requests: Type.Integer(), failed: Type.Integer() }), {
      description: 'The most used ones first, 200 at most.',
    }),
    more_models: Type.Integer({ minimum: 0 }),
  }),
  retention: Type.Object({
    generations: kept('Of rows of requests.'),
    audit_log: kept('Of the audit log.'),
    audit_sinks: names,
    exports: names,
  }),
  guardrails: Type.Object({ configuration: names, store: names }),
  outputs_marked: Type.Integer({ const: 0, description: 'The gateway adds no mark to outputs.' }),
})

export const auditOperations: readonly Operation[] = [
  operation('GET /audit', {
    id: 'listAuditEntries',
    tag: 'Records',
    roles: ['admin'],
    reach: 'place',
    scope: 'audit:read',
    summary: 'List entries of the audit log',
    description:
      'Every change of keys, guardrails, configuration and ledger entries, and every sign-in to the control room: who, from where, before and after, never a secret. The oldest first where `order` does not say otherwise.',
    parameters: AUDIT_QUERY,
    reply: {
      description: 'A page.',
      schema: Type.Object({
        data: Type.Array(entry),
        next_cursor: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
      }),
    },
    faults: ['bad_request', 'unavailable'],
    handle: ({ query }, source) => listAuditEntries(query, source),
  }),
  operation('GET /audit/report', {
    id: 'readAuditReport',
    tag: 'Records',
    roles: ['admin'],
    reach: 'gateway',
    scope: 'audit:read',
    summary: 'Report what was recorded',
    description:
      'What the gateway has recorded in a period of whole UTC days, for articles 12, 19, 26 and 50 of Regulation (EU) 2024/1689: requests by model, the state of the audit log and its chain, retention, guardrails. The command `audit report` makes a document of it.',
    parameters: REPORT_QUERY,
    reply: { description: 'The facts.', schema: Type.Object({ data: report }) },
    faults: ['bad_request', 'unavailable'],
    handle: ({ query }, source) => readAuditReport(query, source),
  }),
]
