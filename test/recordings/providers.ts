/** The providers of the recordings as an operator would configure them: one entry per host and wire, with the shipped presets. */

import { KEY } from '../support/gateway.ts'
import type { AnyWireName, WireName } from '../support/wire.ts'
import type { Exchange } from './cassettes.ts'

interface Provider {
  name: string
  host: RegExp
  wire: AnyWireName
  /** The shipped preset that recorded requests of this provider must pass. */
  preset?: string
  /** The model whose rules hold at the stand-in of the preset (test/providers/rules), where they differ from model to model. */
  ruled?: string
  /** In the words of docs/configuration/quirks.md#quirks, on top of the preset. */
  quirks?: string
  /** Models that this entry is for; the first entry that fits serves. */
  model?: RegExp
}

/** Gemini models that take a level of thinking: the quirk of config/catalog/google.yaml. */
const LEVEL = /^gemini-3/
const LEVELLED = { ruled: 'gemini-3.8-flash', quirks: 'thinking: level, efforts: [low, medium, high]' }
const CLAUDE = 'us.anthropic.claude-sonnet-4-6'

const PROVIDERS: readonly Provider[] = [
  { name: 'openai', host: /^api\.openai\.com$/, wire: 'openai-chat', preset: 'openai-chat', quirks: 'explicit_caching: true' },
  // Its other models refuse the effort none.
  {
    name: 'cerebras-glm',
    host: /cerebras/,
    wire: 'openai-chat',
    model: /glm/,
    preset: 'cerebras',
    quirks: 'efforts: [none, low, medium, high]',
  },
  { name: 'cerebras', host: /cerebras/, wire: 'openai-chat', preset: 'cerebras' },
  { name: 'deepseek', host: /deepseek/, wire: 'openai-chat', preset: 'deepseek' },
  { name: 'crusoe', host: /crusoe/, wire: 'openai-chat', preset: 'crusoe' },
  // What reasoning models of Groq take; others refuse the field, so that the preset does not have it.
  { name: 'groq', host: /groq/, wire: 'openai-chat', preset: 'groq', quirks: 'reasoning_replay: reasoning' },
  { name: 'mistral', host: /mistral/, wire: 'openai-chat', preset: 'mistral' },
  { name: 'huggingface', host: /huggingface/, wire: 'openai-chat', preset: 'huggingface' },
  { name: 'mantle', host: /bedrock-mantle/, wire: 'openai-chat', preset: 'bedrock-openai' },
  { name: 'compatible', host: /./, wire: 'openai-chat' },
  { name: 'openai-responses', host: /^api\.openai\.com$/, wire: 'openai-responses', preset: 'openai', quirks: 'explicit_caching: true' },
  { name: 'azure', host: /azure/, wire: 'openai-responses', preset: 'azure-openai', quirks: 'explicit_caching: true' },
  { name: 'openrouter', host: /openrouter/, wire: 'openai-responses', quirks: 'reasoning: object, explicit_caching: true' },
  { name: 'other-responses', host: /./, wire: 'openai-responses' },
  { name: 'claude', host: /./, wire: 'anthropic', preset: 'anthropic' },
  { name: 'vertex-level', host: /aiplatform/, wire: 'gemini', model: LEVEL, ...LEVELLED, preset: 'vertex-gemini' },
  { name: 'vertex', host: /aiplatform/, wire: 'gemini', preset: 'vertex-gemini' },
  { name: 'gemini-level', host: /./, wire: 'gemini', model: LEVEL, ...LEVELLED, preset: 'gemini' },
  { name: 'gemini', host: /./, wire: 'gemini', preset: 'gemini' },
  // How each family of models is requested to think.
  {
    name: 'bedrock-adaptive',
    host: /./,
    wire: 'bedrock-converse',
    model: /claude-sonnet-4-6/,
    preset: 'bedrock',
    ruled: CLAUDE,
    quirks: 'thinking: adaptive',
  },
  { name: 'bedrock-claude', host: /./, wire: 'bedrock-converse', model: /claude|inference-profile/, preset: 'bedrock', ruled: CLAUDE },
  {
    name: 'bedrock-nova',
    host: /./,
    wire: 'bedrock-converse',
    model: /nova/,
    preset: 'bedrock',
    ruled: 'us.amazon.nova-2-lite-v1:0',
    // One recorded request names a guardrail, which the operator has to have named.
    quirks: 'thinking: reasoningConfig, top_k: inferenceConfig, guardrails: [xbgw7g293v7o]',
  },
  { name: 'bedrock-invoke', host: /./, wire: 'bedrock-anthropic', preset: 'bedrock-claude' },
  { name: 'bedrock-other', host: /./, wire: 'bedrock-converse', preset: 'bedrock', quirks: 'thinking: none' },
]

/** The name by which a provider's own model is called, in every entry. */
export const UPSTREAM_MODEL = 'upstream-model'

const providerSlug = (provider: Provider): string => `recorded/${provider.name}`

function recordedProvider({ host, wire, model: name }: Exchange): Provider {
  const found = PROVIDERS.find((each) => each.wire === wire && each.host.test(host) && (each.model?.test(name) ?? true))
  if (!found) throw new Error(`no provider for ${host}`)
  return found
}

/** A model of the gateway, and what its provider stands for. */
export interface RecordedModel {
  readonly model: string
  readonly preset?: string | undefined
  readonly ruled?: string | undefined
}

const recordedModel = (provider: Provider): RecordedModel => ({
  model: providerSlug(provider),
  preset: provider.preset,
  ruled: provider.ruled,
})

/** The model through which this exchange goes to its own provider. */
export const ownModel = (exchange: Exchange): RecordedModel => recordedModel(recordedProvider(exchange))

export const modelFor = (exchange: Exchange): string => ownModel(exchange).model

/** A model of each provider that has a preset. */
export const PRESET_MODELS: readonly RecordedModel[] = PROVIDERS.filter(({ preset }) => preset !== undefined).map(recordedModel)

/** A model of each wire that takes what has no setting of its own. */
export const ANY_MODEL: Readonly<Record<WireName, string>> = {
  'openai-chat': 'recorded/compatible',
  'openai-responses': 'recorded/other-responses',
  anthropic: 'recorded/claude',
  gemini: 'recorded/gemini-level',
}

/** One key, which may name all that the accounts of the recordings keep at their providers. */
const KEYS = `auth: { keys: [ { name: test, key: "${KEY}", provider_ids: [ "*" ] } ] }`

/** The configuration; `url` is where all providers stand in. */
export function configuration(url: string, keys = KEYS): string {
  const entries = PROVIDERS.map(
    ({ name, wire, preset, quirks }) =>
      `  ${name}: { dialect: ${wire}${preset ? `, preset: ${preset}` : ''}, base_url: "${url}/${name}", key: "sk-provider-secret"${quirks ? `, quirks: { ${quirks} }` : ''} }`,
  )
  const models = PROVIDERS.map(
    (each) => `  ${providerSlug(each)}:
    context: 1000000
    max_output: 64000
    input: [ text, image, file, audio, video ]
    output: [ text, image, audio ]
    endpoints: [ { provider: ${each.name}, model: ${UPSTREAM_MODEL}, price: free } ]`,
  )
  return `\n${keys}\nproviders:\n${entries.join('\n')}\nmodels:\n${models.join('\n')}\n`
}
