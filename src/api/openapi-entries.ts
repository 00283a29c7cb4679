/** Entries of the ledger, described. */
import { Type } from 'typebox'
import { ENTRY_KINDS } from '../core/ledger-entries.ts'
import { checkEntry } from './ledger-entries.ts'
import { type DescribedOperation, withNotes } from './openapi.ts'

const orNull = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])

export const ledgerEntry = Type.Object(
  {
    id: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    kind: Type.Enum([...ENTRY_KINDS]),
    amount: Type.Number({ description: 'USD; below zero only of a correction.' }),
    amount_nano: Type.Integer({ description: 'The same in nano-dollars.' }),
    api_key_hash: Type.String(),
    api_key_name: orNull(Type.String()),
    generation_id: orNull(Type.String()),
    settles: orNull(Type.String({ description: 'The entry that it settles, in whole or in part.' })),
    counted_at: orNull(Type.String({ description: 'The moment in whose day, week and month it counts; null where it moves no balance.' })),
    actor: Type.String({ description: 'Who made it; `gateway` for entries that come with a settlement.' }),
    reason: Type.String(),
    idempotency_key: orNull(Type.String()),
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

const described = { tag: 'Records', key: 'management' } as const

export function entryOperations(): DescribedOperation[] {
  return [
    {
      ...described,
      method: 'get',
      path: '/ledger/entries',
      id: 'listLedgerEntries',
      summary: 'List entries of the ledger',
      description:
        'Unrecovered and disputed usage, corrections, refunds and write-offs, the oldest first where `order` does not say otherwise.',
      parameters: [
        {
          name: 'api_key_hash',
          in: 'query',
          description: 'Only those of this key.',
          schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        },
        { name: 'generation_id', in: 'query', description: 'Only those about this generation.', schema: { type: 'string', maxLength: 80 } },
        {
          name: 'order',
          in: 'query',
          description: '`newest` for the newest first.',
          schema: { type: 'string', enum: ['oldest', 'newest'] },
          example: 'newest',
        },
        {
          name: 'kind',
          in: 'query',
          description: 'Only those of this kind.',
          schema: { type: 'string', enum: [...ENTRY_KINDS] },
          example: 'refund',
        },
        {
          name: 'cursor',
          in: 'query',
          description: '`next_cursor` of the page before.',
          schema: { type: 'string', pattern: '^[0-9]{1,15}$' },
          example: '0',
        },
        {
          name: 'limit',
          in: 'query',
          description: 'Entries per page at most; 50 without it.',
          schema: { type: 'integer', minimum: 1, maximum: 200 },
          example: 50,
        },
      ],
      reply: {
        description: 'A page.',
        schema: Type.Object({
          data: Type.Array(ledgerEntry),
          next_cursor: orNull(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
        }),
      },
      faults: ['bad_request', 'not_found', 'unavailable'],
    },
    {
      ...described,
      method: 'post',
      path: '/ledger/entries',
      id: 'addLedgerEntry',
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
    },
  ]
}
