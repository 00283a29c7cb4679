/** Names of other gateways for providers with a preset. */
import { presetNames } from '../../config/provider-presets.ts'

/** Names without regard to case and signs: `together_ai` is `togetherai`. Those that are the name of a preset are not listed. */
const PRESETS: Readonly<Record<string, string>> = {
  amazonbedrock: 'bedrock',
  awsbedrock: 'bedrock',
  azure: 'azure-openai',
  azureopenai: 'azure-openai',
  bedrockconverse: 'bedrock',
  cohere: 'cohere-chat',
  coherechat: 'cohere-chat',
  dashscope: 'qwen',
  fireworksai: 'fireworks',
  gcpvertexanthropic: 'vertex-claude',
  gcpvertexgemini: 'vertex-gemini',
  google: 'gemini',
  googleaistudio: 'gemini',
  googleaistudiogemini: 'gemini',
  hostedvllm: 'vllm',
  jinaai: 'jina',
  lmstudio: 'lm-studio',
  mistralai: 'mistral',
  moonshotai: 'moonshot',
  nvidianim: 'nvidia',
  ollamachat: 'ollama',
  openai: 'openai-chat',
  openairesponses: 'openai',
  perplexityai: 'perplexity',
  textcompletionopenai: 'openai-chat',
  togetherai: 'together',
  vertex: 'vertex-gemini',
  vertexai: 'vertex-gemini',
  wandbinference: 'wandb',
  xgrok: 'xai',
  zaiorg: 'zai',
}

/** Paths of the API that others add themselves to the address, and what of the address belongs to such a path. */
const PATHS: Readonly<Record<string, { path: string; own: RegExp }>> = {
  'azure-openai': { path: '/openai/v1', own: /\/openai(?:\/.*)?$/ },
  ollama: { path: '/v1', own: /\/(?:v1|api)$/ },
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

/** The preset for a provider of another gateway; undefined where there is none. */
export function presetFor(name: string): string | undefined {
  const known = plain(name)
  if (Object.hasOwn(PRESETS, known)) return PRESETS[known]
  return presetNames().find((preset) => plain(preset) === known)
}

/** The `base_url` for an address of another gateway. */
export function baseUrl(preset: string | undefined, address: string): string {
  const added = preset === undefined ? undefined : PATHS[preset]
  return added === undefined ? address : `${address.replace(/\/+$/, '').replace(added.own, '')}${added.path}`
}

/** Names of models that LiteLLM knows without a provider before them (its lists of models by provider, such as `litellm.anthropic_models`, in PyPI litellm 1.110.2). */
const BARE: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
  [/^command-/, 'cohere_chat'],
]

/** The provider of a model that stands without one. */
export const bareProvider = (model: string): string => BARE.find(([names]) => names.test(model))?.[1] ?? 'openai'
