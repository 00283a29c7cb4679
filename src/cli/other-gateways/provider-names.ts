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

/** Paths of the API below the address of a resource, which others have. */
const PATHS: Readonly<Record<string, string>> = { 'azure-openai': '/openai/v1' }

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

/** The preset for a provider of another gateway; undefined where there is none. */
export function presetFor(name: string): string | undefined {
  const known = plain(name)
  if (Object.hasOwn(PRESETS, known)) return PRESETS[known]
  return presetNames().find((preset) => plain(preset) === known)
}

/** The `base_url` for an address of another gateway. */
export function baseUrl(preset: string | undefined, address: string): string {
  const path = preset === undefined ? undefined : PATHS[preset]
  return path === undefined ? address : `${address.replace(/\/+$/, '').replace(/\/openai(?:\/.*)?$/, '')}${path}`
}
