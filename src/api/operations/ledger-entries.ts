/** Operations on entries of the ledger beside its generations: their list, and refunds, corrections and write-offs. */
import { Type } from 'typebox'
import { ENTRY_KINDS } from '../../core/ledger-entries.ts'
import { ENTRIES_QUERY, listEntries } from '../ledger-entries.ts'
import { withNotes } from '../openapi.ts'
import { keyMaker, type Operation, operation } from '../operation.ts'
import { addEntry, checkEntry } from '../refunds.ts'
import { maybe } from '../schemas.ts'

export const ledgerEntry = Type.Object(
  {
    id: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    kind: Type.Enum([...ENTRY_KINDS]),
    amount: Type.Number({ description: 'USD; below zero only of a correction.' }),
    amount_nano: Type.Integer({ description: 'The same in nano-dollars.' }),
    api_key_hash: Type.String(),
    api_key_name: maybe(Type.String()),
    generation_id: maybe(Type.String()),
    settles: maybe(Type.String({ description: 'The entry that it settles, in whole or in part.' })),
    counted_at: maybe(Type.String({ description: 'The moment in whose day, week and month it counts; null where it moves no balance.' })),
    actor: Type.String({ description: 'Who made it; `gateway` for entries that come with a settlement.' }),
    reason: Type.String(),
    idempotency_key: maybe(Type.String()),
  },
  { description: 'An entry of the ledger beside its generations. Entries are never changed or removed.' },
)

const FIELDS = {
  kind: 'correction: charges the key, or gives back with an amount below zero. refund: gives back. write_off: closes a part of an `unrecovered` or `disputed` entry without charging anyone.',
  amount: 'USD, at most 9 decimals.',
  reason: 'Why; shown with the entry.',
  api_key_hash: 'The key, where no generation and no entry is named.',
  generation_id: 'The generation whose key it is; it counts in the day, week and month of its charge.',
  settles: 'An `unrecovered` or `disputed` entry that this one settles, in whole or in part.',
  idempotency_key: 'The same text again adds nothing, and returns the first entry.',
}

const reads = { tag: 'Records', roles: ['viewer', 'billing'], reach: 'place', scope: 'spending:read' } as const
const manages = { tag: 'Records', roles: ['billing'], reach: 'place', scope: 'spending:write' } as const

export const entryOperations: readonly Operation[] = [
  operation('GET /ledger/entries', {
    ...reads,
    id: 'listLedgerEntries',
    summary: 'List entries of the ledger',
    description:
      'Unrecovered and disputed usage, corrections, refunds and write-offs, the oldest first where `order` does not say otherwise.',
    parameters: ENTRIES_QUERY,
    reply: {
      description: 'A page.',
      schema: Type.Object({
        data: Type.Array(ledgerEntry),
        next_cursor: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
      }),
    },
    faults: ['bad_request', 'not_found', 'unavailable'],
    handle: ({ query }, source) => listEntries(query, source),
  }),
  operation('POST /ledger/entries', {
    ...manages,
    id: 'addLedgerEntry',
    audit: 'ledger.entry_added',
    summary: 'Add a correction, a refund or a write-off',
    description: 'What the key has spent moves in the same step: its balance, the windows of its limits and budgets, and sums of use.',
    body: {
      schema: withNotes(checkEntry.schema, FIELDS),
      examples: {
        correction: {
          summary: 'Charges what was priced too low',
          value: {
            kind: 'correction',
            amount: 0.25,
            generation_id: 'gen-0',
            reason: 'The price of the model was wrong',
            idempotency_key: 'ticket-4711',
          },
        },
      },
    },
    reply: {
      description: 'The entry; 200 where the idempotency key was known.',
      schema: Type.Object({ data: ledgerEntry }),
      status: 201,
    },
    faults: ['not_found', 'conflict', 'unavailable'],
    handle: async ({ body, key }, source) => addEntry(await body(), source, keyMaker(key)),
  }),
]
