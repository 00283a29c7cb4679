/** The routing criteria: which endpoints may serve a request at all. A new one is a file of this folder and its line in `CRITERIA`. */

import type { Endpoint } from '../catalog/types.ts'
import { context, dialect, inputModality, maxOutput, outputModality, status } from './ability.ts'
import type { Criterion, Field, Merged, ModelFlag, ModelQuery, RequestNeeds, SharedNames, Stated } from './criterion.ts'
import { dataCollection, zdr } from './data-policy.ts'
import { distillable } from './distillable.ts'
import { guardrail } from './guardrail.ts'
import { maxPrice } from './max-price.ts'
import { order } from './order.ts'
import { requireParameters, softParameters } from './parameters.ts'
import { policy } from './policy.ts'
import { ignore, only } from './provider-lists.ts'
import { quantization } from './quantization.ts'
import { tier } from './tier.ts'
import { weight } from './weight.ts'

export { capWithin, hasRoom, isNearEnd, type TokenNeed, tokensAt } from './ability.ts'
export type { Field, Refusal, RequestNeeds, SidedSlugs } from './criterion.ts'
export { type Ceiling, overCeiling, parseCeiling } from './max-price.ts'
export { ofOperator, orderFor, type StatedOrder } from './order.ts'
export { QUANTIZATION_TEXT, QUANTIZATIONS } from './quantization.ts'
export { endpointTag, fullNames, listExcludes, listNames, type Tier } from './slugs.ts'
export { isDrained } from './weight.ts'

/**
 * In the order in which an endpoint is tested: errors name the first criterion that it fails, and where no endpoint is left,
 * `availability` has the code of the latest of these, which came nearest to letting one through.
 */
export const CRITERIA = [
  status,
  weight,
  dialect,
  tier,
  inputModality,
  outputModality,
  context,
  only,
  ignore,
  order,
  quantization,
  requireParameters,
  softParameters,
  maxOutput,
  maxPrice,
  distillable,
  dataCollection,
  zdr,
  guardrail,
  policy,
] as const

type Listed = (typeof CRITERIA)[number]
export type FilterName = Listed['name']

type All<Union> = (Union extends unknown ? (each: Union) => void : never) extends (each: infer Whole) => void ? Whole : never
/** Every field of a criterion by its name. */
export type CriterionFields = All<Listed['fields']>
/** The criteria's part of the `provider` object, as one side states it. */
export type CriterionPreferences = Stated<CriterionFields>
/** The same after the sides were merged. */
export type MergedCriteria = Merged<CriterionFields>
export type SharedField = SharedNames<CriterionFields>

/** Any criterion of the list: its demand is for its own test alone. */
export interface AnyCriterion extends Omit<Criterion<FilterName>, 'demand'> {
  demand(preferences: MergedCriteria, needs: RequestNeeds): unknown
}

const LIST: readonly AnyCriterion[] = CRITERIA

/** Fields of all criteria by name. */
export const CRITERION_FIELDS: CriterionFields = Object.assign({}, ...LIST.map(({ fields }) => fields))
const FIELDS = Object.entries<Field>(CRITERION_FIELDS)
type ListName = {
  [Name in keyof CriterionFields]: CriterionFields[Name] extends { kind: 'endpoints' } ? Name : never
}[keyof CriterionFields]
/** Fields whose entries name endpoints. */
export const ENDPOINT_LISTS = FIELDS.flatMap(([name, field]) => (field.kind === 'endpoints' ? [name as ListName] : []))
/** Fields of which the lists of all sides hold. */
export const SHARED_FIELDS = FIELDS.flatMap(([name, field]) => ('all' in field && field.all ? [name as SharedField] : []))
/** Of some fields the value that wins, whichever side states it. */
export const STRICT_VALUES: ReadonlyMap<string, unknown> = new Map(
  FIELDS.flatMap(([name, field]) => ('strict' in field ? [[name, field.strict]] : [])),
)
/** Fields with a strict value about what becomes of data: calls that a tool makes of models keep to them, too. */
export const DATA_FIELDS = LIST.filter(({ refusal }) => refusal.code === 'privacy_restricted')
  .flatMap(({ fields }) => Object.keys(fields) as (keyof CriterionFields)[])
  .filter((name) => STRICT_VALUES.has(name))
/** Flags that the configuration may state of a model for one criterion. */
export const MODEL_FLAGS: readonly ModelFlag[] = LIST.flatMap(({ modelFlag }) => modelFlag ?? [])
/** Parameters of the model lists. */
export const MODEL_QUERIES: readonly ModelQuery[] = LIST.flatMap(({ modelQuery }) => modelQuery ?? [])

/** Criteria that look at every request, whatever it wants. */
const ALWAYS = LIST.filter(({ need, fields }) => need === undefined && Object.keys(fields).length === 0)
const NO_LISTS = Object.fromEntries(SHARED_FIELDS.map((name) => [name, []])) as unknown as MergedCriteria

/** True where a criterion removes the endpoint even from a request that wants nothing, as it does with those of a service tier. */
export function isSelective(endpoint: Endpoint): boolean {
  return ALWAYS.some(({ test, demand }) => test?.(endpoint, demand(NO_LISTS, {})) === false)
}
