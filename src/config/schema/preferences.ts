/** Routing preferences as an operator sets them for the account or for one key: the wire's `provider` object. */
import { type TOptional, type TSchema, type TUnsafe, Type } from 'typebox'
import { SORT_KEYS } from '../../core/sort-keys.ts'
import {
  CRITERION_FIELDS,
  type CriterionFields,
  type CriterionPreferences,
  type Field,
  QUANTIZATION_TEXT,
  QUANTIZATIONS,
} from '../../routing/criteria/index.ts'
import { asWritten, choiceField, closed, endpointTags, flag, listField, prices, size } from '../fields/scalars.ts'

export const quantization = choiceField(QUANTIZATION_TEXT, QUANTIZATIONS)

const percentile = (unit: string) => Type.Number({ description: unit, minimum: 0 })

const cutoffs = (description: string, unit: string) =>
  Type.Union(
    [
      percentile(unit),
      closed(description, {
        p50: Type.Optional(percentile(unit)),
        p75: Type.Optional(percentile(unit)),
        p90: Type.Optional(percentile(unit)),
        p99: Type.Optional(percentile(unit)),
      }),
    ],
    { description, expected: 'a number, or an object of p50, p75, p90 and p99' },
  )

/** A field of a routing criterion. Prices are decimals in quotes here, and lists name endpoints by their tags. */
function fieldSchema(field: Field): TSchema {
  const { kind, text } = field
  switch (kind) {
    case 'flag':
      return flag(text)
    case 'choice':
      return choiceField(text, field.values)
    case 'choices':
      return listField(text, choiceField(field.each, field.values))
    case 'endpoints':
      return endpointTags(text)
    case 'prices':
      return prices(text, field.perMillion, field.perUnit)
  }
}

type FieldSettings = { [Name in keyof CriterionFields]: TOptional<TUnsafe<NonNullable<CriterionPreferences[Name]>>> }

const fieldSettings = Object.fromEntries(
  Object.entries<Field>(CRITERION_FIELDS).map(([name, field]) => [name, Type.Optional(fieldSchema(field))]),
) as unknown as FieldSettings

/** Fields that no request can loosen. */
const tightened = Object.entries<Field>(CRITERION_FIELDS)
  .filter(([, field]) => 'strict' in field || 'all' in field)
  .map(([name]) => `\`${name}\``)

const fields = closed(`Routing preferences. A request can only tighten ${tightened.join(', ')}, and override the rest.`, {
  ...fieldSettings,
  sort: Type.Optional(
    Type.Union(
      [
        choiceField('What to sort by.', SORT_KEYS),
        closed('What to sort by, and what is sorted together.', {
          by: Type.Optional(choiceField('What to sort by.', SORT_KEYS)),
          partition: Type.Optional(
            choiceField('`model`: the endpoints of each model are sorted separately. `none`: those of all models together.', [
              'model',
              'none',
            ]),
          ),
        }),
      ],
      {
        description: 'Sorts the endpoints, in place of the random draw.',
        expected: `one of ${SORT_KEYS.join(', ')}, or an object of by and partition`,
      },
    ),
  ),
  preferred_max_latency: Type.Optional(cutoffs('Slower endpoints are tried later.', 'Seconds to the first token.')),
  preferred_min_throughput: Type.Optional(cutoffs('Slower endpoints are tried later.', 'Tokens per second.')),
})

/** Merged with those of requests, which have the same form. */
export const preferences = asWritten(fields)

export const limits = closed('Rate limits.', {
  requests: Type.Optional(Type.Integer({ description: 'Requests per minute.', minimum: 1, maximum: 1_000_000_000 })),
  tokens: Type.Optional(Type.Integer({ description: 'Tokens of input and output per minute.', minimum: 1, maximum: 1_000_000_000 })),
  streams: Type.Optional(Type.Integer({ description: 'Streams open at once.', minimum: 1, maximum: 1_000_000 })),
  bytes: Type.Optional(size('Request bytes in flight.')),
})
