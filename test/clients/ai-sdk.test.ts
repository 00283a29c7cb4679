/** The AI SDK with the providers that speak one of the gateway's client dialects. */
import { type AnthropicLanguageModelOptions, createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI, type OpenAILanguageModelResponsesOptions } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import t from 'tap'
import { AI_SDK_ERRORS, askWithAiSdk, type Options } from './support/ai-sdk.ts'
import { type Client, STRANGER } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { type House, startHouse } from './support/house.ts'

type Make = (baseURL: string, apiKey: string) => (model: string) => LanguageModel

const createClient = (house: House, name: string, make: Make, options: Options): Client => {
  const base = `${house.gateway.url}/v1`
  return {
    name,
    ask: (ask) => askWithAiSdk(make(base, house.gateway.key)(ask.model), ask, options),
    askAsStranger: (ask) => askWithAiSdk(make(base, STRANGER)(ask.model), ask, options),
    ...AI_SDK_ERRORS,
  }
}

const responses: OpenAILanguageModelResponsesOptions = {
  forceReasoning: true,
  reasoningEffort: 'medium',
  reasoningSummary: 'auto',
}
const anthropic: AnthropicLanguageModelOptions = { thinking: { type: 'enabled', budgetTokens: 2048 } }

const house = await startHouse(t)
const makeResponses: Make = (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }).responses
await exercise(
  t,
  house,
  createClient(house, 'ai-sdk openai responses', makeResponses, { openai: responses as never }),
)
await exercise(
  t,
  house,
  createClient(house, 'ai-sdk openai responses, store false', makeResponses, { openai: { ...responses, store: false } as never }),
)
await exercise(
  t,
  house,
  createClient(
    house,
    'ai-sdk openai chat',
    (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }).chat,
    { openai: { forceReasoning: true, reasoningEffort: 'medium' } },
  ),
)
await exercise(
  t,
  house,
  createClient(
    house,
    'ai-sdk openai-compatible',
    (baseURL, apiKey) => createOpenAICompatible({ name: 'headgate', baseURL, apiKey, supportsStructuredOutputs: true }),
    { headgate: { reasoningEffort: 'medium' } },
  ),
)
await exercise(
  t,
  house,
  createClient(house, 'ai-sdk anthropic', (baseURL, apiKey) => createAnthropic({ baseURL, apiKey }), { anthropic: anthropic as never }),
)
