/** Third-party clients in JavaScript at a task of several turns, streamed, over the strict stand-in of each wire. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages/messages'
import { type AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { isStepCount, jsonSchema, type LanguageModel, type ModelMessage, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInput } from 'openai/resources/responses/responses'
import t from 'tap'
import { WEATHER, weatherSentence } from './support/client.ts'
import { type Account, QUESTIONS, type RunTask, startTasks } from './support/task.ts'

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const tasks = await startTasks(t)
const { name, description, schema } = WEATHER
const FUNCTION = { type: 'function', function: { name, description, parameters: schema } } as const
const placeArgument = (args: unknown): { place: string } => (typeof args === 'string' ? JSON.parse(args) : args) as { place: string }

const openaiChat: RunTask = async ({ url, key, model }) => {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
  const messages: ChatCompletionMessageParam[] = []
  const answers: string[] = []
  for (const question of QUESTIONS) {
    messages.push({ role: 'user', content: question })
    for (;;) {
      const reply = await openai.chat.completions.stream({ model, messages, tools: [FUNCTION as never] }).finalChatCompletion()
      const { message } = reply.choices[0]
      messages.push(message)
      const calls = message.tool_calls ?? []
      for (const call of calls)
        if (call.type === 'function')
          messages.push({ role: 'tool', tool_call_id: call.id, content: weatherSentence(placeArgument(call.function.arguments)) })
      if (calls.length > 0) continue
      answers.push(message.content ?? '')
      break
    }
  }
  return answers
}

const openaiResponses: RunTask = async ({ url, key, model }) => {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
  const input: ResponseInput = []
  const answers: string[] = []
  for (const question of QUESTIONS) {
    input.push({ role: 'user', content: question })
    for (;;) {
      const response = await openai.responses
        .stream({
          model,
          input,
          tools: [{ type: 'function', name, description, parameters: schema, strict: false }],
        })
        .finalResponse()
      const calls = response.output.filter((item) => item.type === 'function_call')
      input.push(...toResponseInputItems(response.output))
      for (const { call_id, arguments: args } of calls)
        input.push({ type: 'function_call_output', call_id, output: weatherSentence(placeArgument(args)) })
      if (calls.length > 0) continue
      answers.push(response.output_text)
      break
    }
  }
  return answers
}

const anthropic =
  (more: object): RunTask =>
  async ({ url, key, model }) => {
    const client = new Anthropic({ baseURL: url, apiKey: key })
    const messages: MessageParam[] = []
    const answers: string[] = []
    for (const question of QUESTIONS) {
      messages.push({ role: 'user', content: question })
      for (;;) {
        const tools = [{ name, description, input_schema: schema as never }]
        const message = await client.messages.stream({ model, max_tokens: 4096, messages, tools, ...more }).finalMessage()
        messages.push({ role: 'assistant', content: message.content as MessageParam['content'] })
        const calls = message.content.filter((block) => block.type === 'tool_use')
        const results = calls.map(({ id, input }) => ({
          type: 'tool_result' as const,
          tool_use_id: id,
          content: weatherSentence(placeArgument(input)),
        }))
        if (results.length > 0) {
          messages.push({ role: 'user', content: results })
          continue
        }
        answers.push(message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
        break
      }
    }
    return answers
  }

const aiSdk =
  (createModel: (account: Account) => LanguageModel, providerOptions: { openai?: { store: boolean } } = {}): RunTask =>
  async (account) => {
    const messages: ModelMessage[] = []
    const answers: string[] = []
    const weather = tool({ description, inputSchema: jsonSchema<{ place: string }>(schema as never), execute: (args) => weatherSentence(args) })
    for (const question of QUESTIONS) {
      messages.push({ role: 'user', content: question })
      let failure: unknown
      const onError = ({ error }: { error: unknown }): void => {
        failure ??= error
      }
      const request = { model: createModel(account), messages, tools: { weather }, stopWhen: isStepCount(5), onError, providerOptions }
      const result = streamText(request)
      answers.push(await result.text)
      if (failure) throw failure
      messages.push(...(await result.response).messages)
    }
    return answers
  }

const langchain =
  (useResponsesApi: boolean): RunTask =>
  async ({ url, key, model: name }) => {
    const model = new ChatOpenAI({
      model: name,
      apiKey: key,
      useResponsesApi,
      configuration: { baseURL: `${url}/v1` },
    })
    const messages: BaseMessage[] = []
    const answers: string[] = []
    for (const question of QUESTIONS) {
      messages.push(new HumanMessage(question))
      for (;;) {
        let whole: AIMessageChunk | undefined
        for await (const chunk of await model.stream(messages, { tools: [FUNCTION] })) whole = whole ? whole.concat(chunk) : chunk
        if (!whole) throw new Error('nothing came')
        messages.push(whole)
        const calls = whole.tool_calls ?? []
        for (const { id, args } of calls) messages.push(new ToolMessage({ content: weatherSentence(placeArgument(args)), tool_call_id: id ?? '' }))
        if (calls.length > 0) continue
        answers.push(whole.text)
        break
      }
    }
    return answers
  }

const base = ({ url, key }: Account) => ({ baseURL: `${url}/v1`, apiKey: key })

await tasks.run(t, 'openai, chat', openaiChat)
await tasks.run(t, 'openai, responses', openaiResponses)
await tasks.run(t, '@anthropic-ai/sdk', anthropic({}))
await tasks.run(t, '@anthropic-ai/sdk with thinking', anthropic({ thinking: { type: 'enabled', budget_tokens: 2048 } }))
await tasks.run(
  t,
  'ai, openai responses',
  // As docs/quick-start.md says; without it, see `references.test.ts`.
  aiSdk((account) => createOpenAI(base(account)).responses(account.model), { openai: { store: false } }),
)
await tasks.run(
  t,
  'ai, openai-compatible',
  aiSdk((account) => createOpenAICompatible({ name: 'headgate', ...base(account) })(account.model)),
)
await tasks.run(
  t,
  'ai, anthropic',
  aiSdk((account) => createAnthropic(base(account))(account.model)),
)
await tasks.run(t, 'langchain, chat', langchain(false))
await tasks.run(t, 'langchain, responses', langchain(true))
