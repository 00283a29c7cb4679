/** Form of the rows of docs/behaviour/providers.md, and the tests that hold many of them. */
import type { HeldBy } from '../servers-real/rows.ts'
import type { BehaviourRow } from './behaviour-row.ts'

export const COMPARED = '2026-11-30'

export const matrix = (preset: string): HeldBy => ['providers/two-turn', `the two-turn matrix of ${preset}`]
export const FORM: HeldBy = [
  'gateway/formats/preset-fields',
  'address, key and cap of presets without a stand-in are as their references have them',
]
export const CAP: HeldBy = ['gateway/formats/preset-fields', 'the cap of an output goes into the field that bounds the thought as well']
export const STOPS: HeldBy = ['gateway/formats/preset-fields', 'no provider gets more stop sequences than its reference states']
export const TOOLS: HeldBy = ['gateway/formats/preset-fields', 'members of tools that xAI rejects are left out, and recorded']
export const TIERS: HeldBy = ['gateway/routing/tier-words', 'a provider is sent its own word, or none']
export const EVERY: HeldBy = ['config/provider-presets', 'every preset is a provider that the gateway takes']
export const OFF: HeldBy = ['gateway/formats/preset-fields', 'no thinking is written as each of these providers reads it']
export const OBJECT: HeldBy = ['gateway/formats/preset-fields', 'LM Studio gets JSON output as a schema that any object fits']
export const STRICT: HeldBy = ['gateway/formats/preset-fields', 'Databricks gets no strict functions, and only a lost promise is recorded']
export const OPTIONS: HeldBy = ['gateway/formats/refused-stream-options', 'a stream whose options are refused is served without them (0)']
export const THOUGHT: HeldBy = ['gateway/money/thought-caps', "the caller's own cap is sent as it is and held with the longest thought"]
export const PASSED: HeldBy = [
  'gateway/pass-through/pass-through-input',
  'a cap that bounds the answer alone is counted with the longest thought',
]
export const LISTS: HeldBy = ['gateway/formats/embeddings-calls', 'lists are split by what each provider is known to take']
export const always = (preset: string): HeldBy => ['gateway/formats/always-thinking', `no thinking, refused by a model at ${preset} (0)`]
export const off = (preset: string): HeldBy => ['providers/no-thinking', `no thinking at ${preset}`]

/** @param against what it was compared with, and its version. @param makes what the preset does about it. */
export const compared = (
  who: string,
  against: string,
  input: string,
  does: string,
  makes: string,
  ...tests: readonly HeldBy[]
): BehaviourRow => ({
  who: `\`${who}\``,
  version: COMPARED,
  input,
  does,
  makes,
  source: against,
  tests,
})

export const FIELDS = 'Address, fields of the request, stops, efforts, tiers, ends'
export const ADDRESS = 'Address, header of the key, field of the cap'
/** `models.dev`, a list of models with what each takes, kept by those who use them. */
export const MODELS_DEV = 'github.com/anomalyco/models.dev at f3fc692'
export const AS_STATED = 'As the preset has it'
