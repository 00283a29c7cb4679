/** One request to any model of the AI SDK, and what came of it. */
import { APICallError, generateText, isStepCount, jsonSchema, type LanguageModel, Output, RetryError, streamText, tool } from 'ai'
import { type Ask, CAPITAL, type Client, type Told, WEATHER, weatherSentence } from './client.ts'

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** Settings by name of the provider, for requests that reason. */
export type Options = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

/** Every failing call is of one class, which another one wraps where the call was repeated. */
export const AI_SDK_ERRORS: Pick<Client, 'classes' | 'retries' | 'errorStatus'> = {
  classes: { 400: 'APICallError', 401: 'APICallError', 404: 'APICallError', 429: 'RetryError' },
  retries: 2,
  errorStatus: (error) => {
    const last = RetryError.isInstance(error) ? error.lastError : error
    return APICallError.isInstance(last) ? last.statusCode : undefined
  },
}

const weather = tool({
  description: WEATHER.description,
  inputSchema: jsonSchema<{ place: string }>(WEATHER.schema as never),
  execute: (args) => weatherSentence(args),
})

function askRequest(ask: Ask, model: LanguageModel, providerOptions: Options) {
  const content = [
    { type: 'text' as const, text: ask.prompt },
    ...(ask.image ? [{ type: 'file' as const, data: ask.image, mediaType: 'image/png' }] : []),
  ]
  return {
    model,
    messages: [{ role: 'user' as const, content }],
    topP: ask.topP,
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
  usage: {
    inputTokens?: number
    outputTokens?: number
    inputTokenDetails: { cacheReadTokens?: number }
    outputTokenDetails: { reasoningTokens?: number }
  }
  output?: unknown
}

const toTold = ({ text, steps, usage, output }: Ended): Told => ({
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

export async function askWithAiSdk(model: LanguageModel, ask: Ask, options: Options): Promise<Told> {
  const request = askRequest(ask, model, options)
  if (!ask.stream) {
    const result = await generateText(request)
    const last = result.steps.at(-1)
    return toTold({
      text: result.text,
      steps: result.steps,
      usage: last?.usage ?? result.usage,
      output: ask.schema ? result.output : undefined,
    })
  }
  let failure: unknown
  const result = streamText({
    ...request,
    onError: ({ error }) => {
      failure ??= error
    },
  })
  for await (const delta of result.textStream) ask.onText?.(delta)
  if (failure) throw failure
  const steps = await result.steps
  // Some of its providers read an error chunk as a finish without a reason of theirs.
  const finish = await result.finishReason
  if (finish !== 'stop') throw new Error(`finished with ${finish}`)
  return toTold({
    text: await result.text,
    steps,
    usage: steps.at(-1)?.usage as Ended['usage'],
    output: ask.schema ? await result.output : undefined,
  })
}
