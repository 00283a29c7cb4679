/**
 * A routing criterion: one object with all that the program needs to know of one rule about endpoints. The filters,
 * the merging of preferences, the schemas of requests and of the configuration, errors, lists and documents are made from
 * the list of them in `index.ts`.
 */
import type { PriceMoment } from '../../core/price.ts'
import type { Endpoint, Model } from '../catalog/types.ts'
import type { Tier } from './slugs.ts'

/**
 * A member of the `provider` object, in requests, presets, keys and the configuration. Where several sides state it, the
 * strongest decides, unless `strict` or `all` says otherwise: no request can loosen such a field (docs/routing.md, "Precedence").
 */
export type Field =
  | {
      readonly kind: 'flag'
      readonly text: string
      /** This value wins, whichever side states it. */
      readonly strict?: boolean
    }
  | { readonly kind: 'choice'; readonly text: string; readonly values: readonly string[]; readonly strict?: string }
  /** A list of some of `values`. `each` describes one. */
  | { readonly kind: 'choices'; readonly text: string; readonly values: readonly string[]; readonly each: string }
  | {
      /** A list of tags of endpoints. */
      readonly kind: 'endpoints'
      readonly text: string
      /** The lists of all sides hold. */
      readonly all?: true
    }
  /** USD by kind of price, per million tokens or per unit; each kind has its description. */
  | {
      readonly kind: 'prices'
      readonly text: string
      readonly perMillion: Readonly<Record<string, string>>
      readonly perUnit: Readonly<Record<string, string>>
    }

type Fields = Readonly<Record<string, Field>>

type FieldValue<F extends Field> = F extends { kind: 'flag' }
  ? boolean
  : F extends { kind: 'choice'; values: readonly (infer Value)[] }
    ? Value
    : F extends { kind: 'prices'; perMillion: infer PerMillion; perUnit: infer PerUnit }
      ? { [kind in keyof PerMillion | keyof PerUnit]?: string | number }
      : string[]

/** Fields as one side states them. */
export type Stated<All extends Fields> = {
  [Name in keyof All]?: All[Name] extends { kind: 'prices' } ? FieldValue<All[Name]> : FieldValue<All[Name]> | null
}

/** Names of the fields of which the lists of all sides hold. */
export type SharedNames<All extends Fields> = { [Name in keyof All]: All[Name] extends { all: true } ? Name : never }[keyof All]

/** A list and the side that states it, which errors name. */
export interface SidedSlugs {
  readonly from: string
  readonly slugs: readonly string[]
}

/** Fields after the sides were merged. */
export type Merged<All extends Fields> = Omit<Stated<All>, SharedNames<All>> & {
  readonly [Name in SharedNames<All>]: readonly SidedSlugs[]
}

/** Tokens of an input by the counter of a server of this model: other models count in another way. */
export interface CountedInput {
  readonly model: Model
  readonly tokens: number
}

/** Needs of a request beside its preferences; absent members need nothing. */
export interface RequestNeeds {
  /** Tokens of the input, estimated, where the context decides; and the output cap that the caller named. */
  readonly contextTokens?: number | undefined
  /** The input as a server of the model has counted it. */
  readonly counted?: CountedInput | undefined
  readonly maxOutput?: number | undefined
  /** True where the cap may not be lowered to what the input leaves of a context. */
  readonly wholeCap?: boolean | undefined
  readonly input?: Iterable<string> | undefined
  readonly output?: Iterable<string> | undefined
  /** Canonical names of the parameters that the caller sent. */
  readonly used?: ReadonlySet<string> | undefined
  /** Effort of reasoning that the caller named. */
  readonly effort?: string | undefined
  /** Parameters that the endpoint's dialect sends; absent where it sends all that the endpoint takes. */
  readonly sent?: ((endpoint: Endpoint) => ReadonlySet<string> | undefined) | undefined
  /** Words for the part of the request that the endpoint's dialect cannot express. */
  readonly unable?: ((endpoint: Endpoint) => string | undefined) | undefined
  /** Tiers opened by a variant such as `:nitro`. */
  readonly tiers?: ReadonlySet<Tier> | undefined
  /** Tier named by `service_tier`. */
  readonly serviceTier?: Tier | undefined
  /** Decides between the prices of an endpoint that has several; its own where absent. */
  readonly priceMoment?: PriceMoment | undefined
  /** Objection of a guardrail to the endpoint; `from` is its name. Tested last: only what would serve otherwise is its doing. */
  readonly barred?: ((endpoint: Endpoint) => { readonly detail: string; readonly from: string } | undefined) | undefined
  /** Policy that refuses the endpoint; `from` is its name. Tested last, as `barred` is. */
  readonly denied?: ((endpoint: Endpoint) => { readonly detail: string; readonly from: string } | undefined) | undefined
  /** Of drained endpoints, those that the request is bound to. Absent where no endpoint is drained. */
  readonly drained?: ((endpoint: Endpoint) => boolean) | undefined
  /** Endpoints that the operator has taken out of service. */
  readonly unavailable?: (endpoint: Endpoint) => boolean
}

/** Why an endpoint is removed, for people. */
export interface Explanation {
  readonly detail: string
  /** Owner of the lists: `request`, or `request and account`; or the name of a guardrail or policy. */
  readonly from?: string
}

/** Report in the error of a request of which the criterion removed the last endpoint (docs/contract.md#availability). */
export interface Refusal {
  readonly code: 'no_endpoints' | 'constraint_filtered' | 'privacy_restricted'
  /** Name in `excluded_by`, where the wire has one. */
  readonly excludedBy?: string
  /** Request field that the constraint came from; by default the criterion's first field. */
  readonly field?: string | undefined
  /** The caller demands what no endpoint can do: 400 instead of 404. */
  readonly badRequest?: true
}

/** Flag that the configuration may state of a model for one criterion alone: true or nothing. `Model.flags` has the names. */
export interface ModelFlag {
  readonly name: string
  readonly text: string
}

/** A parameter of the model lists, `true` or `false`. */
export interface ModelQuery {
  readonly name: string
  readonly text: string
  matches(model: Model, wanted: boolean): boolean
}

/** Methods, so that a list can hold criteria of different demands. */
interface Tests<Demand> {
  /** True where the endpoint may serve. */
  test(endpoint: Endpoint, demand: Demand): boolean
  /** Why an endpoint that failed the test is removed. */
  explain(endpoint: Endpoint, demand: Demand): string | Explanation
  /** Of endpoints that passed every test, those to remove since others suit better, each with the reason; never all of them. */
  inferior(kept: readonly Endpoint[], demand: Demand): ReadonlyMap<Endpoint, string> | undefined
}

export interface Criterion<Name extends string = string, Own extends Fields = Fields, Demand = unknown> {
  /** As errors, plans and policy tests show it. */
  readonly name: Name
  readonly fields: Own
  readonly modelFlag: ModelFlag | undefined
  readonly modelQuery: ModelQuery | undefined
  readonly refusal: Refusal
  /** Which endpoints it removes, for docs/routing.md: "an endpoint …". */
  readonly removes: string
  /** The need of a request without which it has no demand. */
  readonly need: keyof RequestNeeds | undefined
  /** Need of this request, worked out once; undefined: nothing, and no endpoint is tested. */
  demand(preferences: Merged<Own>, needs: RequestNeeds): Demand | undefined
  readonly test: Tests<Demand>['test'] | undefined
  readonly explain: Tests<Demand>['explain'] | undefined
  readonly inferior: Tests<Demand>['inferior'] | undefined
}

type Optional = 'fields' | 'need' | 'modelFlag' | 'modelQuery' | 'test' | 'explain' | 'inferior'
type Declared<Name extends string, Own extends Fields, Demand> = Omit<Criterion<Name, Own, Demand>, Optional> &
  Partial<Pick<Criterion<Name, Own, Demand>, Optional>>

/** A criterion from its declaration. All have one shape, which keeps the loop of the filters fast. */
export function criterion<const Name extends string, Demand, const Own extends Fields = Record<never, Field>>(
  declared: Declared<Name, Own, Demand>,
): Criterion<Name, Own, Demand> {
  const { name, fields = {} as Own, modelFlag, modelQuery, refusal, removes, need, demand, test, explain, inferior } = declared
  return { name, fields, modelFlag, modelQuery, refusal, removes, need, demand, test, explain, inferior }
}
