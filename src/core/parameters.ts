/**
 * The parameters of a request, each declared once by its canonical name, which `supported_parameters` of the model list has too. Checks,
 * the canonical request, presets, lists, routing and plans are made of these rows; the field of each wire is a row of its `parameters.ts`.
 */
import type { Json } from './json.ts'

interface Parameter {
  /** Type of its value; absent where code of its own reads and writes it. */
  readonly kind?: 'number' | 'integer' | 'boolean' | 'text' | 'texts' | 'object'
  /** Least and greatest number. */
  readonly range?: readonly [min: number, max: number]
  /** Its member in the canonical request, where that is not the name in camel case. */
  readonly key?: string
  /** Values, or entries of a list, that ask for nothing. */
  readonly idle?: readonly Json[]
  /** Stands in `supported_parameters`: `always` also in that of an endpoint without a list of its own. */
  readonly listed?: 'always' | 'stated'
  /** Name under which such a list may have it as well. */
  readonly alias?: string
  /** True where an answer without it is as good, so that no endpoint is chosen by it. */
  readonly isAside?: true
  /** True where presets of the configuration may set it. */
  readonly isPreset?: true
  /** Its values, where the range does not say them. */
  readonly text?: string
  /** Value in the words of chat that stands for the caller's own where its request is planned again. */
  readonly sample?: Json | readonly string[]
}

/** Largest count that any provider's interface takes: clients send it for "no limit". */
export const MAX_COUNT = 2 ** 31 - 1
const EXACT = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const

/** Sampling and length. */
const SAMPLING = {
  temperature: { kind: 'number', range: [0, 2], listed: 'always', isPreset: true, sample: 1 },
  top_p: { kind: 'number', range: [0, 1], listed: 'always', isPreset: true, sample: 1 },
  // -1 says that there is no limit (vllm/sampling_params.py, SamplingParams.top_k; PyPI sglang 0.5.23, protocol.py).
  top_k: { kind: 'integer', range: [-1, MAX_COUNT], listed: 'stated', isPreset: true, sample: 40 },
  min_p: { kind: 'number', range: [0, 1], listed: 'stated', isPreset: true, sample: 0 },
  top_a: { kind: 'number', range: [0, 1], listed: 'stated', isPreset: true, sample: 0 },
  frequency_penalty: { kind: 'number', range: [-2, 2], listed: 'always', isPreset: true, sample: 0 },
  presence_penalty: { kind: 'number', range: [-2, 2], listed: 'always', isPreset: true, sample: 0 },
  repetition_penalty: { kind: 'number', range: [0, 2], listed: 'stated', isPreset: true, sample: 1 },
  seed: { kind: 'integer', range: EXACT, listed: 'always', isPreset: true, text: 'Any integer.', sample: 1 },
  stop: { kind: 'texts', listed: 'always', sample: ['\n\n'] },
  max_tokens: { kind: 'integer', range: [1, MAX_COUNT], key: 'maxOutput', listed: 'always', alias: 'max_completion_tokens' },
  logit_bias: { kind: 'object', listed: 'always', sample: {} },
  logprobs: { kind: 'boolean', idle: [false], listed: 'always', sample: true },
  top_logprobs: { kind: 'integer', range: [0, 20], listed: 'always', sample: 1 },
  parallel_tool_calls: { kind: 'boolean', listed: 'always', sample: true },
} as const satisfies Record<string, Parameter>

/** Form and circumstances of the answer. */
const SETTINGS = {
  verbosity: { kind: 'text', listed: 'always', sample: 'medium' },
  service_tier: { kind: 'text', isAside: true },
  modalities: { kind: 'texts', idle: ['text'], isAside: true },
  // Voice and format of spoken answers.
  audio: { kind: 'object' },
  image_config: { kind: 'object' },
  // Text that the answer is expected to repeat mostly.
  prediction: { kind: 'object', listed: 'stated' },
  user: { kind: 'text', isAside: true, sample: 'user' },
  safety_identifier: { kind: 'text', isAside: true },
  // The caller's own pairs, where providers keep them with the generation.
  metadata: { kind: 'object', isAside: true },
  prompt_cache_key: { kind: 'text', key: 'cacheKey', isAside: true },
  // Encrypted reasoning always comes where it must be sent back.
  include: { kind: 'texts', idle: ['reasoning.encrypted_content'] },
} as const satisfies Record<string, Parameter>

/** Parameters with code of their own. */
const OWN = {
  tools: { listed: 'always' },
  tool_choice: { listed: 'always', sample: 'auto' },
  response_format: { listed: 'always', alias: 'structured_outputs', sample: { type: 'json_object' } },
  structured_outputs: { listed: 'always' },
  reasoning: { listed: 'always', alias: 'reasoning_effort', sample: { effort: 'medium' } },
  web_search_options: { listed: 'stated' },
  prompt_cache_options: {},
  cache_control: { key: 'cache' },
  truncation: {},
  prefill: {},
} as const satisfies Record<string, Parameter>

const ROWS = { ...SAMPLING, ...SETTINGS, ...OWN }

export type ParameterName = keyof typeof ROWS

/** The rows by name, in the order of the documents. */
export const PARAMETERS: Readonly<Record<ParameterName, Parameter>> = ROWS

export const PARAMETER_NAMES = Object.keys(ROWS) as readonly ParameterName[]

export const isParameter = (name: string): name is ParameterName => Object.hasOwn(ROWS, name)

/** True for a member of `sampling` in a canonical request; the others stand beside it. */
export const isSampling = (name: ParameterName): boolean => name in SAMPLING

const named = (holds: (row: Parameter) => boolean): readonly ParameterName[] => PARAMETER_NAMES.filter((name) => holds(PARAMETERS[name]))

/** Names that presets of the configuration may set as plain values. */
export const PRESET_PARAMETERS = named(({ isPreset }) => isPreset === true)

/** Names with their aliases. @param holds true for the rows to take. */
const listedNames = (holds: (row: Parameter) => boolean): string[] => [
  ...new Set(named(holds).flatMap((name) => [name, ...(PARAMETERS[name].alias === undefined ? [] : [PARAMETERS[name].alias])])),
  // The old word for the part of `reasoning` that hides it.
  'include_reasoning',
]

/** Names that `supported_parameters` may have. */
export const LISTED_PARAMETERS = listedNames(({ listed }) => listed !== undefined)

/** Names in the model list for an endpoint without a list of its own. */
export const USUAL_PARAMETERS: ReadonlySet<string> = new Set(listedNames(({ listed }) => listed === 'always'))

/** Names that endpoints do not list: whether they arrive depends on the dialect alone. */
export const UNLISTED_PARAMETERS: ReadonlySet<string> = new Set(named(({ listed }) => listed === undefined))

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<CamelCase<Rest>>}` : Name
type Values = { number: number; integer: number; boolean: boolean; text: string; texts: string[] }

/** Members of the canonical request for rows. @template Structure type of objects of JSON. */
type Members<Rows extends Readonly<Record<string, Parameter>>, Structure> = {
  [Name in keyof Rows & string as Rows[Name] extends { readonly key: infer Key extends string } ? Key : CamelCase<Name>]?:
    | (Rows[Name]['kind'] extends keyof Values ? Values[Rows[Name]['kind']] : Structure)
    | undefined
}

export type SamplingMembers<Structure> = Members<typeof SAMPLING, Structure>
export type SettingMembers<Structure> = Members<typeof SETTINGS, Structure>

/** The member of a parameter in the canonical request. */
export function memberName(name: ParameterName): string {
  return PARAMETERS[name].key ?? name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
