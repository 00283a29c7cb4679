/**
 * Quirks: small departures of a provider from its dialect, set in the YAML file for a provider or an endpoint. Each dialect has one table
 * of those that it reads, `quirks.ts` in its folder; these parts stand in several tables.
 */
import { type Static, type TSchema, Type } from 'typebox'
import type { Json, JsonObject } from '../../core/json.ts'

export type QuirkTable = Readonly<Record<string, TSchema>>

export const choiceQuirk = <const V extends readonly string[]>(description: string, values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], description })

export const flag = (description: string) => Type.Boolean({ description })

export const word = (description: string, maxLength = 64) => Type.String({ description, minLength: 1, maxLength })

export const listQuirk = <T extends TSchema>(description: string, items: T, minItems = 0) =>
  Type.Array(items, { description, minItems, maxItems: 10_000 })

const FIELD = { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$', expected: 'the name of a field of the body' }

const drop = listQuirk('Parameters that are never sent.', word('A parameter.'))

/** `drop` is for each dialect to follow, since names of parameters differ; `shapeBody` does the rest. */
export const body = Type.Object(
  {
    set: Type.Optional(
      Type.Record(Type.String(FIELD), Type.Unsafe<Json>({ description: 'A value.' }), {
        description: 'Fields of the body that are always sent, with their values.',
        keyExpected: FIELD.expected,
      }),
    ),
    rename: Type.Optional(
      Type.Record(Type.String(FIELD), Type.String({ ...FIELD, description: 'Its name at the provider.' }), {
        description: 'Fields of the body that the provider knows by another name.',
        keyExpected: FIELD.expected,
      }),
    ),
    drop: Type.Optional(drop),
  },
  {
    additionalProperties: false,
    description:
      'Changes to the request body: `drop` lists parameters that are never sent (`messages.NAME`: a field of messages, in `openai-chat`; `tools.TYPE.NAME`: a member of tools of the type, in `openai-responses`), `rename` gives fields other names, `set` adds fields with fixed values.',
  },
)

interface BodyQuirk {
  readonly body?: Static<typeof body>
}

/**
 * Gives fields of a written body the names that the provider knows and adds the operator's own, in place. Bodies of embeddings are
 * not changed at a provider that generates as well: what it needs there is not what it needs here.
 */
export function shapeBody(written: JsonObject, { body: { rename = {}, set } = {} }: BodyQuirk): JsonObject {
  for (const [from, to] of Object.entries(rename)) {
    const value = written[from]
    if (value === undefined) continue
    delete written[from]
    written[to] ??= value
  }
  return Object.assign(written, set)
}

/** The quirks of an endpoint over those of its provider. Of `body` the lists are joined and single fields replaced. */
export function mergeQuirks<Q extends BodyQuirk>(provider: Q, endpoint: Q): Q {
  const merged = { ...provider, ...endpoint }
  if (provider.body === undefined || endpoint.body === undefined) return merged
  const drop = [...(provider.body.drop ?? []), ...(endpoint.body.drop ?? [])]
  const written = {
    set: { ...provider.body.set, ...endpoint.body.set },
    rename: { ...provider.body.rename, ...endpoint.body.rename },
    ...(drop.length > 0 ? { drop } : {}),
  }
  return { ...merged, body: written }
}

export const efforts = listQuirk('Reasoning efforts that the provider knows; others become the nearest of them.', word('An effort.', 32), 1)

export const forcedTools = flag('False: the provider refuses a `tool_choice` that forces a call; `auto` is sent instead.')

export const closedSchemas = flag(
  'True: with `strict: true` the provider takes only schemas whose objects are closed and require all of their properties. Others are sent with `strict: false`.',
)

export const prefill = choiceQuirk(
  '`repeated`: whole replies begin with the last message of the assistant once more, where a request ends with one; it is taken off. If unset: they have what follows it.',
  ['repeated'],
)

export const unsignedReasoning = flag(
  'True: the provider takes reasoning of earlier turns without a signature or encrypted content, such as that of another format, and its model reads it. False: it refuses the open text of a thought. If unset: such reasoning is left out, but for what a caller of Responses sends to a provider of Responses.',
)

export const webSearch = flag('True: the provider has a web search of its own, which the engine `native` uses.')

export const mediaUrls = choiceQuirk(
  '`inline`: images and files that a request names by their address are fetched by the gateway and sent as data; `pass`: the address is sent. If unset: `pass`.',
  ['inline', 'pass'],
)

const longest = (field: string) =>
  Type.Integer({
    description: `Most characters of \`${field}\` that the provider takes; the SHA-256 of a longer one is sent. If unset: any.`,
    minimum: 64,
    maximum: 4096,
  })

export const userLength = longest('user')
export const safetyIdentifierLength = longest('safety_identifier')

export const explicitCaching = flag('True: `prompt_cache_options` and marks for the cache within the messages of a request are passed on.')

const itsWord = (tier: string) => Type.Optional(word(`Its word for the tier \`${tier}\`.`, 32))

export const serviceTiers = Type.Object(
  { default: itsWord('default'), flex: itsWord('flex'), priority: itsWord('priority'), ultrafast: itsWord('ultrafast') },
  {
    description:
      'Words of `service_tier` that the provider takes, by tier; a tier that is not listed is not sent. If unset: the names of the tiers.',
    additionalProperties: false,
  },
)
