/**
 * The fields of a guardrail, each declared once: how the configuration writes it, with text and default, how the operations of the API take
 * and show it, and its text in their description. Schemas, checks, replies and documents are made of these tables. The file and the API
 * list the fields in different orders, so each table holds those that stand together in both.
 */

import { type TSchema, Type } from 'typebox'
import { asWritten, choiceField, closed, endpointTags, flag, line, listField, prices, withDefault } from '../../config/fields/scalars.ts'
import { MAX_USD } from '../../core/money.ts'
import { WINDOWS } from '../../core/windows.ts'
import { CRITERION_FIELDS, type CriterionPreferences } from '../../routing/criteria/index.ts'
import { engine, ON_ERROR } from './engine.ts'
import { ACTIONS, BUILTIN_SLUGS, DIRECTIONS } from './recognisers.ts'

export interface GuardrailField<Written extends TSchema = TSchema> {
  /** In the configuration. */
  readonly written: Written
  /** In the bodies of operations; absent for what only the configuration has. */
  readonly taken?: TSchema
  /** In replies. */
  readonly shown: TSchema
  /** Its text in the description of bodies. */
  readonly note?: string
  /** Value in a reply where it is not set; undefined: none, since the documented service does not have the field. */
  readonly unset: null | false | undefined
}

interface Forms<Written extends TSchema> {
  readonly written: Written
  readonly taken: TSchema
  /** Default of `taken`. */
  readonly shown?: TSchema
  readonly note?: string
}

const orNull = (schema: TSchema): TSchema => Type.Union([schema, Type.Null()])

/** A field of the documented service: null in replies where it is not set. */
function documented<Written extends TSchema>({ written, taken, shown = taken, ...more }: Forms<Written>): GuardrailField<Written> {
  return { written, taken: Type.Optional(orNull(taken)), shown: orNull(shown), unset: null, ...more }
}

/** A field that the documented service does not have. */
function own<Written extends TSchema>({ written, taken, shown = taken, ...more }: Forms<Written>): GuardrailField<Written> {
  return { written, taken: Type.Optional(orNull(taken)), shown: Type.Optional(shown), unset: undefined, ...more }
}

const optionalFlag = (text: string, note?: string) =>
  documented({ written: Type.Optional(flag(text)), taken: Type.Boolean(), ...(note === undefined ? {} : { note }) })

const allowing = (text: string) => documented({ written: withDefault(flag(text), true), taken: Type.Boolean() })

const texts = Type.Array(Type.String())
const names = Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { minItems: 1, maxItems: 10_000 })
const modelList = (text: string, note: string) =>
  documented({
    written: Type.Optional(listField(text, line('A slug, or a pattern such as openai/*.', 1024), 1)),
    taken: names,
    shown: texts,
    note,
  })
const providerList = (text: string, note: string) =>
  documented({ written: Type.Optional(endpointTags(text, 1)), taken: names, shown: texts, note })

/** A mistyped filter must not make a guardrail without one. */
const CLOSED = { additionalProperties: false } as const
const MAX_FILTERS = 1000
const MAX_PHRASES = 1000
const MAX_ALLOWED_PHRASES = 200
const SCAN_SCOPES = ['user_only', 'all_messages'] as const
const AUDITED = ['hashes', 'full'] as const

const words = <const V extends readonly string[]>(values: V) => Type.Enum([...values])
const action = (text: string) => choiceField(text, ACTIONS)
const phrase = (text: string) => Type.String({ description: text, pattern: '\\S', maxLength: 1000, expected: 'a phrase' })
const phraseList = (text: string, each: string, maxItems: number, note: string) =>
  own({
    written: withDefault(Type.Array(phrase(each), { description: text, maxItems }), []),
    taken: Type.Array(Type.String({ pattern: '\\S', maxLength: 1000 }), { maxItems }),
    shown: texts,
    note,
  })

const filter = {
  written: closed('A pattern that is looked for.', {
    pattern: Type.String({
      description: 'Regular expression in linear time: no look-around, no back-references.',
      minLength: 1,
      maxLength: 100_000,
      scalar: 'regex',
    }),
    action: action('What happens on a match.'),
    label: Type.Optional(line('Name of the filter in errors, and what stands in place of a match.', 100)),
  }),
  taken: Type.Object(
    {
      pattern: Type.String({ minLength: 1, maxLength: 100_000 }),
      action: words(ACTIONS),
      label: Type.Optional(orNull(Type.String({ maxLength: 100 }))),
    },
    CLOSED,
  ),
  shown: Type.Object({ pattern: Type.String(), action: words(ACTIONS), label: Type.Optional(orNull(Type.String())) }),
}

const builtin = {
  written: closed('A built-in recogniser.', {
    slug: choiceField('What it looks for.', BUILTIN_SLUGS),
    action: action('What happens on a match.'),
    scan_scope: Type.Optional(choiceField("For regex-prompt-injection: only the user's messages, or all. If unset: all.", SCAN_SCOPES)),
  }),
  taken: Type.Object(
    {
      slug: words(BUILTIN_SLUGS),
      action: words(ACTIONS),
      label: Type.Optional(Type.String({ maxLength: 100 })),
      scan_scope: Type.Optional(words(SCAN_SCOPES)),
    },
    CLOSED,
  ),
  shown: Type.Object({
    slug: words(BUILTIN_SLUGS),
    action: words(ACTIONS),
    label: Type.String({ description: 'Text that replaces a match.' }),
    scan_scope: Type.Optional(words(SCAN_SCOPES)),
  }),
}

const ceiling = CRITERION_FIELDS.max_price
const amount = Type.Optional(
  Type.Union([Type.Number({ minimum: 0, maximum: 1e12 }), Type.String({ pattern: '^[0-9]{1,12}(\\.[0-9]{1,24})?$' })]),
)

export const ABOUT = {
  description: documented({
    written: Type.Optional(line('What it is for.', 1000)),
    taken: Type.String({ maxLength: 1000 }),
    shown: Type.String(),
    note: 'Your own description.',
  }),
}

export const BUDGET = {
  limit_usd: documented({
    written: Type.Optional(Type.Number({ description: 'USD that each key may spend.', minimum: 0, maximum: MAX_USD })),
    taken: Type.Number({ minimum: 0, maximum: MAX_USD }),
    shown: Type.Number({ description: 'USD that each key may spend.' }),
    note: 'USD that each key with this guardrail may spend.',
  }),
  reset_interval: documented({
    written: Type.Optional(choiceField('When the spend starts from zero again, in UTC. If unset: never.', WINDOWS)),
    taken: words(WINDOWS),
    note: 'Period of the budget. Each starts at 00:00 UTC: every day, on Monday, or on the first of the month.',
  }),
}

/** Taken for clients of the documented service. */
export const WITHOUT_EFFECT = {
  include_byok_in_budgets: {
    written: Type.Optional(flag('Has no effect: budgets count what the limit of the key counts, see [bring your own key](byok.md#money).')),
    taken: Type.Optional(Type.Boolean()),
    shown: Type.Boolean(),
    note: 'Accepted without effect.',
    unset: false,
  },
} satisfies Record<string, GuardrailField>

/** Groups of authors whose models have a switch of their own for zero retention. */
export const ZDR_GROUPS = ['anthropic', 'openai', 'google', 'xai', 'other'] as const
export const ZDR_FIELDS = ZDR_GROUPS.map((group) => `enforce_zdr_${group}` as const)

export const ENDPOINTS = {
  allowed_models: modelList('Only these models.', 'Only these models: slugs, or patterns with `*`.'),
  ignored_models: modelList('Never these models.', 'Never these models.'),
  allowed_providers: providerList('Only these providers.', 'Only these providers, or `provider/variant`.'),
  ignored_providers: providerList('Never these providers.', 'Never these providers.'),
  enforce_zdr: optionalFlag(
    'True: only providers that retain no data. Applies to authors without a field of their own that is set.',
    'Default of the five `enforce_zdr_` fields.',
  ),
  enforce_zdr_anthropic: optionalFlag('The same for models of this author.'),
  enforce_zdr_openai: optionalFlag('The same for models of this author.'),
  enforce_zdr_google: optionalFlag('The same for models of this author.'),
  enforce_zdr_xai: optionalFlag('The same for models of this author.'),
  enforce_zdr_other: optionalFlag('The same for models of all other authors.'),
  enable_free_model_publication: allowing('False: no free endpoint whose provider may keep data.'),
  enable_free_model_training: allowing('False: no free endpoint whose provider may keep data.'),
  enable_paid_model_training: allowing('False: no paid endpoint whose provider may keep data.'),
}

export const TEXTS = {
  content_filters: documented({
    written: withDefault(listField('Patterns of your own.', filter.written), []),
    taken: Type.Array(filter.taken, { maxItems: MAX_FILTERS }),
    shown: Type.Array(filter.shown),
    note: 'Regular expressions without look-around and back-references.',
  }),
  content_filter_builtins: documented({
    written: withDefault(listField('Built-in recognisers.', builtin.written), []),
    taken: Type.Array(builtin.taken, { maxItems: BUILTIN_SLUGS.length }),
    shown: Type.Array(builtin.shown),
    note: 'Built-in recognisers.',
  }),
  phrases: phraseList('Phrases to look for, ignoring case.', 'Found whatever its case.', MAX_PHRASES, 'Phrases to find.'),
  allowed_phrases: phraseList(
    'Phrases that never count as prompt injection.',
    'Whatever its case.',
    MAX_ALLOWED_PHRASES,
    'Phrases that do not count as prompt injection.',
  ),
  action: own({
    written: withDefault(action('What happens when a phrase or the engine matches.'), 'block'),
    taken: words(ACTIONS),
    note: 'Action for phrases; `block` by default.',
  }),
}

export const WAY = {
  direction: own({
    written: withDefault(choiceField('What is scanned: requests, replies (streamed ones too), or both.', DIRECTIONS), 'input'),
    taken: words(DIRECTIONS),
    note: 'Read requests, answers or both; `input` by default.',
  }),
  restore: own({
    written: withDefault(flag('True: text that was redacted in a request is restored in its reply.'), false),
    taken: Type.Boolean(),
    note: 'Put redacted text of the request back into the answer.',
  }),
}

export const PRICE = {
  max_price: own({
    written: Type.Optional(
      asWritten(Type.Unsafe<NonNullable<CriterionPreferences['max_price']>>(prices(ceiling.text, ceiling.perMillion, ceiling.perUnit))),
    ),
    taken: Type.Object(
      Object.fromEntries([...Object.keys(ceiling.perMillion), ...Object.keys(ceiling.perUnit)].map((kind) => [kind, amount])),
      CLOSED,
    ),
    shown: Type.Object({}),
    note: 'More expensive endpoints are excluded.',
  }),
}

export const PARAMETERS = {
  require_parameters: own({
    written: withDefault(flag('Only endpoints that accept every parameter of the request.'), false),
    taken: Type.Boolean(),
    note: 'Only endpoints that support every parameter of the request.',
  }),
}

export const AUDIT = {
  audit: own({
    written: withDefault(choiceField('What the audit trail keeps of a match: its hash, or its text as well.', AUDITED), 'hashes'),
    taken: words(AUDITED),
    note: '`full`: the audit trail keeps the matched text; otherwise only its hash.',
  }),
}

export const ENGINE = {
  engine: {
    written: Type.Optional(engine),
    shown: Type.Optional(
      Type.Object(
        { type: Type.String(), on_error: words(ON_ERROR) },
        { description: 'External engine; only for guardrails of the configuration file.' },
      ),
    ),
    unset: undefined,
  },
} satisfies Record<string, GuardrailField>

/** All, in the order of the API. */
const FIELDS: ReadonlyMap<string, GuardrailField> = new Map(
  Object.entries({
    ...ABOUT,
    ...BUDGET,
    ...WITHOUT_EFFECT,
    ...ENDPOINTS,
    ...TEXTS,
    ...WAY,
    ...PRICE,
    ...PARAMETERS,
    ...AUDIT,
    ...ENGINE,
  }),
)

type WrittenFields<Table extends Readonly<Record<string, GuardrailField>>> = { [Name in keyof Table]: Table[Name]['written'] }

/** The fields of some tables as the configuration writes them. */
export function writtenFields<Table extends Readonly<Record<string, GuardrailField>>>(table: Table): WrittenFields<Table> {
  return Object.fromEntries(Object.entries(table).map(([name, { written }]) => [name, written])) as WrittenFields<Table>
}

/** Schemas of the fields in bodies of operations, by name. */
export const TAKEN_FIELDS: Readonly<Record<string, TSchema>> = Object.fromEntries(
  [...FIELDS].flatMap(([name, { taken }]) => (taken ? [[name, taken]] : [])),
)
/** Schemas of the fields in replies, by name. */
export const SHOWN_FIELDS: Readonly<Record<string, TSchema>> = Object.fromEntries([...FIELDS].map(([name, { shown }]) => [name, shown]))
/** Texts of the fields in the description of bodies, by name. */
export const FIELD_NOTES: Readonly<Record<string, string>> = Object.fromEntries(
  [...FIELDS].flatMap(([name, { note }]) => (note === undefined ? [] : [[name, note]])),
)
/** Values in a reply of fields that are not set, by name. */
export const UNSET_FIELDS: ReadonlyMap<string, null | false | undefined> = new Map([...FIELDS].map(([name, { unset }]) => [name, unset]))
