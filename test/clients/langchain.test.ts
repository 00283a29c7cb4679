/** LangChain's model of OpenAI, on either interface of the gateway. */
import { type AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import t from 'tap'
import { type Ask, CAPITAL, type Client, STRANGER, type Told, WEATHER, weatherSentence } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { startHouse } from './support/house.ts'

const house = await startHouse(t)

function createModel(ask: Ask, apiKey: string, useResponsesApi: boolean): ChatOpenAI {
  return new ChatOpenAI({
    model: ask.model,
    apiKey,
    useResponsesApi,
    streamUsage: true,
    configuration: { baseURL: `${house.gateway.url}/v1` },
    ...(ask.topP === undefined ? {} : { topP: ask.topP }),
    ...(ask.reasoning ? { reasoning: { effort: 'medium', ...(useResponsesApi ? { summary: 'auto' } : {}) } } : {}),
  })
}

const TOOL = { type: 'function', function: { name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema } } as const
const FORMAT = { type: 'json_schema', json_schema: { ...CAPITAL, strict: true } } as const

async function once(model: ChatOpenAI, ask: Ask, messages: BaseMessage[]): Promise<AIMessageChunk> {
  const settings = { signal: ask.signal, ...(ask.tool ? { tools: [TOOL] } : {}), ...(ask.schema ? { response_format: FORMAT } : {}) }
  if (!ask.stream) return (await model.invoke(messages, settings)) as AIMessageChunk
  let whole: AIMessageChunk | undefined
  for await (const chunk of await model.stream(messages, settings)) {
    if (chunk.text !== '') ask.onText?.(chunk.text)
    whole = whole ? whole.concat(chunk) : chunk
  }
  if (!whole) throw new Error('nothing came')
  return whole
}

async function askWith(apiKey: string, useResponsesApi: boolean, ask: Ask): Promise<Told> {
  const model = createModel(ask, apiKey, useResponsesApi)
  const picture = ask.image ? [{ type: 'image_url' as const, image_url: { url: `data:image/png;base64,${ask.image}` } }] : []
  const messages: BaseMessage[] = [new HumanMessage({ content: [{ type: 'text' as const, text: ask.prompt }, ...picture] })]
  let reasoning = ''
  for (;;) {
    const answer = await once(model, ask, messages)
    // It passes over `response.failed`: what is missing then is the status.
    if (useResponsesApi && answer.response_metadata.status !== 'completed') throw new Error('the answer has no end')
    messages.push(answer)
    reasoning += answer.contentBlocks.map((block) => (block.type === 'reasoning' ? block.reasoning : '')).join('')
    for (const call of answer.tool_calls ?? [])
      messages.push(new ToolMessage({ content: weatherSentence(call.args as { place: string }), tool_call_id: call.id ?? '' }))
    if (answer.tool_calls?.length) continue
    const usage = answer.usage_metadata
    return {
      text: answer.text,
      reasoning,
      ...(ask.schema ? { value: answer.additional_kwargs.parsed ?? JSON.parse(answer.text) } : {}),
      usage: {
        input: usage?.input_tokens,
        output: usage?.output_tokens,
        cached: usage?.input_token_details?.cache_read,
        reasoning: usage?.output_token_details?.reasoning,
      },
    }
  }
}

const createClient = (name: string, useResponses: boolean): Client => ({
  name,
  ask: (ask) => askWith(house.gateway.key, useResponses, ask),
  askAsStranger: (ask) => askWith(STRANGER, useResponses, ask),
  classes: { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError' },
  retries: 6,
  errorStatus: (error) => (error as { status?: number }).status,
})

await exercise(t, house, createClient('langchain responses', true))
await exercise(t, house, createClient('langchain chat', false))
