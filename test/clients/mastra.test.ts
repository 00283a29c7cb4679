/** Agents of Mastra over models of the AI SDK, without memory: the caller passes the conversation. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { noopLogger } from '@mastra/core/logger'
import { createTool } from '@mastra/core/tools'
import { APICallError, type LanguageModel } from 'ai'
import t from 'tap'
import { z } from 'zod'
import { type Ask, type Client, STRANGER, type Told, WEATHER, weatherSentence } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { dialectModel, startHouse } from './support/house.ts'
import { type Account, QUESTIONS, type RunTask, startTasks } from './support/task.ts'

const weather = createTool({
  id: WEATHER.name,
  description: WEATHER.description,
  inputSchema: z.object({ place: z.string().describe('Name of the place') }),
  execute: async (args) => weatherSentence(args),
})
const shape = z.object({ capital: z.string(), inhabitants: z.number().int() })

function createAgent(model: LanguageModel, withTool: boolean): Agent {
  const agent = new Agent({ id: 'tester', name: 'Tester', instructions: 'Help.', model: model as never, ...(withTool ? { tools: { weather } } : {}) })
  // The default logger prints each error.
  agent.__setLogger(noopLogger)
  return agent
}

interface Ended {
  text: string
  reasoningText?: string
  usage: { inputTokens?: number; outputTokens?: number; cachedInputTokens?: number; reasoningTokens?: number }
  object?: unknown
}

const toTold = ({ text, reasoningText = '', usage, object }: Ended): Told => ({
  text,
  reasoning: reasoningText,
  value: object,
  usage: { input: usage.inputTokens, output: usage.outputTokens, cached: usage.cachedInputTokens, reasoning: usage.reasoningTokens },
})

async function ask(model: LanguageModel, { prompt, image, stream, ...ask }: Ask, providerOptions: object): Promise<Told> {
  const agent = createAgent(model, ask.tool === true)
  const picture = image === undefined ? [] : [{ type: 'image' as const, image, mimeType: 'image/png' }]
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: prompt }, ...picture] }]
  const options = {
    // Mastra omits `topP` for models whose names it does not know, so a cap below 0 causes the 400 instead.
    ...(ask.topP === undefined ? {} : { modelSettings: { maxOutputTokens: -ask.topP } }),
    ...(ask.signal ? { abortSignal: ask.signal } : {}),
    ...(ask.schema ? { structuredOutput: { schema: shape } } : {}),
    ...(ask.reasoning ? { providerOptions } : {}),
  } as never
  if (!stream) return toTold((await agent.generate(messages, options)) as never)
  const result = await agent.stream(messages, options)
  for await (const delta of result.textStream) ask.onText?.(delta)
  if (result.error) throw result.error
  return toTold((await result.getFullOutput()) as never)
}

type Make = (account: Pick<Account, 'url' | 'key'>) => (model: string) => LanguageModel

const house = await startHouse(t)
const { url, key } = house.gateway

const createClient = (name: string, make: Make, options: object): Client => ({
  name,
  ask: (each) => ask(make({ url, key })(each.model), each, options),
  askAsStranger: (each) => ask(make({ url, key: STRANGER })(each.model), each, options),
  classes: { 400: 'APICallError', 401: 'APICallError', 404: 'APICallError', 429: 'APICallError' },
  errorStatus: (error) => (APICallError.isInstance(error) ? error.statusCode : undefined),
})

const responses: Make = ({ url, key }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key })
const compatible: Make = ({ url, key }) =>
  createOpenAICompatible({ name: 'headgate', baseURL: `${url}/v1`, apiKey: key, supportsStructuredOutputs: true })
const anthropic: Make = ({ url, key }) => createAnthropic({ baseURL: `${url}/v1`, apiKey: key })
const REASONING = { forceReasoning: true, reasoningEffort: 'medium', reasoningSummary: 'auto' }

await exercise(t, house, createClient('mastra openai responses', responses, { openai: REASONING }))
await exercise(t, house, createClient('mastra openai-compatible', compatible, { headgate: { reasoningEffort: 'medium' } }))
await exercise(t, house, createClient('mastra anthropic', anthropic, { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }))

const createTask =
  (make: Make, providerOptions?: { openai: { store: boolean } }): RunTask =>
  async ({ model, ...account }) => {
    const agent = createAgent(make(account)(model), true)
    const messages: unknown[] = []
    const answers: string[] = []
    for (const question of QUESTIONS) {
      messages.push({ role: 'user', content: question })
      const result = await agent.stream(messages as never, providerOptions ? { providerOptions } : {})
      const { text, response, error } = await result.getFullOutput()
      if (error) throw error
      messages.push(...(response.messages ?? []))
      answers.push(text)
    }
    return answers
  }

const tasks = await startTasks(t)
// The second question refers to the first answer by its id unless `store` is false (`references.test.ts`).
await tasks.run(t, 'mastra, openai responses', createTask(responses, { openai: { store: false } }))
await tasks.run(t, 'mastra, openai-compatible', createTask(compatible))
await tasks.run(t, 'mastra, anthropic', createTask(anthropic))

t.test('Mastra with its defaults refers to an answer that is not stored, and the error names the setting that helps', async (t) => {
  const agent = createAgent(responses({ url, key })(dialectModel('openai-chat')), false)
  const messages: unknown[] = [{ role: 'user', content: 'Rome?' }]
  house.script({ text: ['It rains.'] }, { text: ['An umbrella.'] })
  const { response } = await agent.generate(messages as never)
  messages.push(...(response.messages ?? []), { role: 'user', content: 'What do I take along?' })
  await t.rejects(agent.generate(messages as never), { message: /^input\[2\]\.id: .*providerOptions\.openai\.store/ })
  t.equal(house.seen().length, 1, 'no provider gets half a conversation')
  const { text } = await agent.generate(messages as never, { providerOptions: { openai: { store: false } } })
  t.equal(text, 'An umbrella.', 'the setting helps')
  t.match(house.seen()[1].body, 'It rains.')
})
