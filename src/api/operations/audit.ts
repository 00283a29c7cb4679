/** The audit log. */
import { Type } from 'typebox'
import { ACTOR_KINDS, AUDIT_ACTIONS } from '../../core/audit-entries.ts'
import { AUDIT_QUERY, listAuditEntries } from '../audit.ts'
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

export const auditOperations: readonly Operation[] = [
  operation('GET /audit', {
    id: 'listAuditEntries',
    tag: 'Records',
    roles: ['admin'],
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
]
