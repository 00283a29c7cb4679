/** The AI SDK with the providers that speak one of the gateway's client dialects. */
import { type AnthropicLanguageModelOptions, createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI, type OpenAILanguageModelResponsesOptions } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { APICallError, generateText, isStepCount, jsonSchema, type LanguageModel, Output, streamText, tool } from 'ai'
import t from 'tap'
import { type Ask, CAPITAL, type Client, STRANGER, type Told, WEATHER, weatherOf } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { type House, startHouse } from './support/house.ts'

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

type Options = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>
type Make = (baseURL: string, apiKey: string) => (model: string) => LanguageModel

const weather = tool({
  description: WEATHER.description,
  inputSchema: jsonSchema<{ place: string }>(WEATHER.schema as never),
  execute: (args) => weatherOf(args),
})

function requestOf(ask: Ask, model: LanguageModel, providerOptions: Options) {
  const content = [{ type: 'text' as const, text: ask.prompt }, ...(ask.image ? [{ type: 'file' as const, data: ask.image, mediaType: 'image/png' }] : [])]
  return {
    model,
    messages: [{ role: 'user' as const, content }],
    maxRetries: 0,
    temperature: ask.temperature,
    abortSignal: ask.signal,
    stopWhen: isStepCount(3),
    ...(ask.tool ? { tools: { weather } } : {}),
    ...(ask.schema ? { output: Output.object({ name: CAPITAL.name, schema: jsonSchema(CAPITAL.schema as never) }) } : {}),
    ...(ask.reasoning ? { providerOptions } : {}),
  }
}

interface Ended {
  text: string
  steps: readonly { reasoningText?: string }[]
  usage: { inputTokens?: number; outputTokens?: number; inputTokenDetails: { cacheReadTokens?: number }; outputTokenDetails: { reasoningTokens?: number } }
  output?: unknown
}

const toldOf = ({ text, steps, usage, output }: Ended): Told => ({
  text,
  value: output,
  reasoning: steps.map((step) => step.reasoningText ?? '').join(''),
  usage: {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: usage.inputTokenDetails.cacheReadTokens,
    reasoning: usage.outputTokenDetails.reasoningTokens,
  },
})

async function askWith(model: LanguageModel, ask: Ask, options: Options): Promise<Told> {
  const request = requestOf(ask, model, options)
  if (!ask.stream) {
    const result = await generateText(request)
    const last = result.steps.at(-1)
    return toldOf({ text: result.text, steps: result.steps, usage: last?.usage ?? result.usage, output: ask.schema ? result.output : undefined })
  }
  let failure: unknown
  const result = streamText({ ...request, onError: ({ error }) => { failure ??= error } })
  for await (const delta of result.textStream) ask.onText?.(delta)
  if (failure) throw failure
  const steps = await result.steps
  // Some of its providers read an error chunk as a finish without a reason of theirs.
  const finish = await result.finishReason
  if (finish !== 'stop') throw new Error(`finished with ${finish}`)
  return toldOf({ text: await result.text, steps, usage: steps.at(-1)?.usage as Ended['usage'], output: ask.schema ? await result.output : undefined })
}

const clientOf = (house: House, name: string, make: Make, options: Options, lacks: Client['lacks'] = []): Client => {
  const base = `${house.gateway.url}/v1`
  return {
    name,
    lacks,
    ask: (ask) => askWith(make(base, house.gateway.key)(ask.model), ask, options),
    askAsStranger: (ask) => askWith(make(base, STRANGER)(ask.model), ask, options),
    classes: { 400: 'APICallError', 401: 'APICallError', 404: 'APICallError', 429: 'APICallError' },
    statusOf: (error) => (APICallError.isInstance(error) ? error.statusCode : undefined),
  }
}

const responses: OpenAILanguageModelResponsesOptions = { store: false, forceReasoning: true, reasoningEffort: 'medium', reasoningSummary: 'auto' }
const anthropic: AnthropicLanguageModelOptions = { thinking: { type: 'enabled', budgetTokens: 2048 } }

const house = await startHouse(t)
await exercise(t, house, clientOf(house, 'ai-sdk openai responses', (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }).responses, { openai: responses as never }, [
    { ability: 'reasoning', from: ['openai-chat', 'anthropic'], why: 'it reads summaries, not the reasoning itself' },
    { ability: 'replay', from: ['openai-chat', 'anthropic', 'gemini'], why: 'it sends back encrypted_content, not signature and format' },
  ]))
await exercise(
  t,
  house,
  clientOf(house, 'ai-sdk openai chat', (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }).chat, { openai: { forceReasoning: true, reasoningEffort: 'medium' } }, [
    { ability: 'reasoning', why: 'its chat model does not read reasoning' },
    { ability: 'replay', why: 'nor send it back' },
  ]),
)
await exercise(
  t,
  house,
  clientOf(
    house,
    'ai-sdk openai-compatible',
    (baseURL, apiKey) => createOpenAICompatible({ name: 'headgate', baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true }),
    { headgate: { reasoningEffort: 'medium' } },
    [{ ability: 'replay', why: 'it sends back the text of reasoning only' }],
  ),
)
