/** The official OpenAI SDK, both of its interfaces. */
import OpenAI from 'openai'
import type { ChatCompletion, ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { Response, ResponseInput } from 'openai/resources/responses/responses'
import t from 'tap'
import { type Ask, CAPITAL, type Client, STRANGER, type Told, WEATHER, weatherSentence } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { type House, startHouse } from './support/house.ts'

const house: House = await startHouse(t)
const openaiWith = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${house.gateway.url}/v1`, apiKey })

const ERRORS = {
  classes: { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError' },
  retries: 2,
  errorStatus: (error: unknown) => (error instanceof OpenAI.APIError ? error.status : undefined),
} as const

const picture = (base64: string): string => `data:image/png;base64,${base64}`

async function respond(openai: OpenAI, ask: Ask, input: ResponseInput): Promise<Response> {
  const body = {
    model: ask.model,
    input,
    ...(ask.topP === undefined ? {} : { top_p: ask.topP }),
    ...(ask.tool
      ? {
          tools: [
            { type: 'function' as const, name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema, strict: true },
          ],
        }
      : {}),
    ...(ask.schema ? { text: { format: { type: 'json_schema' as const, ...CAPITAL, strict: true } } } : {}),
    ...(ask.reasoning
      ? { reasoning: { effort: 'medium' as const, summary: 'auto' as const } }
      : {}),
  }
  if (!ask.stream) return openai.responses.parse(body, { signal: ask.signal })
  const stream = openai.responses.stream(body, { signal: ask.signal })
  stream.on('response.output_text.delta', ({ delta }) => ask.onText?.(delta))
  return stream.finalResponse()
}

async function askResponses(openai: OpenAI, ask: Ask): Promise<Told> {
  const content = [
    { type: 'input_text' as const, text: ask.prompt },
    ...(ask.image ? [{ type: 'input_image' as const, image_url: picture(ask.image), detail: 'auto' as const }] : []),
  ]
  const input: ResponseInput = [{ role: 'user', content }]
  let reasoning = ''
  for (;;) {
    const response = await respond(openai, ask, input)
    if (response.status === 'failed') throw new Error(response.error?.message)
    for (const item of response.output) {
      if (item.type === 'reasoning') reasoning += [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join('')
      input.push(item as ResponseInput[number])
    }
    const calls = response.output.filter((item) => item.type === 'function_call')
    for (const { call_id, arguments: args } of calls)
      input.push({ type: 'function_call_output', call_id, output: weatherSentence(JSON.parse(args) as { place: string }) })
    if (calls.length > 0) continue
    const { usage } = response
    return {
      text: response.output_text,
      reasoning,
      ...(ask.schema ? { value: (response as { output_parsed?: unknown }).output_parsed ?? JSON.parse(response.output_text) } : {}),
      usage: {
        input: usage?.input_tokens,
        output: usage?.output_tokens,
        cached: usage?.input_tokens_details.cached_tokens,
        reasoning: usage?.output_tokens_details.reasoning_tokens,
      },
    }
  }
}

interface Thought {
  reasoning?: string | null
  reasoning_details?: unknown[]
}

async function complete(openai: OpenAI, ask: Ask, messages: ChatCompletionMessageParam[]): Promise<ChatCompletion> {
  const body = {
    model: ask.model,
    messages,
    ...(ask.topP === undefined ? {} : { top_p: ask.topP }),
    ...(ask.tool
      ? {
          tools: [
            {
              type: 'function' as const,
              function: { name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema, strict: true },
            },
          ],
        }
      : {}),
    ...(ask.schema ? { response_format: { type: 'json_schema' as const, json_schema: { ...CAPITAL, strict: true } } } : {}),
    ...(ask.reasoning ? { reasoning_effort: 'medium' as const } : {}),
  }
  if (!ask.stream) return openai.chat.completions.parse(body, { signal: ask.signal })
  const stream = openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } }, { signal: ask.signal })
  stream.on('content', (delta) => ask.onText?.(delta))
  // Of fields that it does not know its accumulator keeps only what came last.
  const thought: Required<Thought> = { reasoning: '', reasoning_details: [] }
  stream.on('chunk', ({ choices: [choice] }) => {
    const { reasoning, reasoning_details: details } = (choice?.delta ?? {}) as Thought
    thought.reasoning += reasoning ?? ''
    thought.reasoning_details.push(...(details ?? []))
  })
  const completion = await stream.finalChatCompletion()
  if (thought.reasoning !== '') Object.assign(completion.choices[0].message, thought)
  return completion
}

async function askChat(openai: OpenAI, ask: Ask): Promise<Told> {
  const content = [
    { type: 'text' as const, text: ask.prompt },
    ...(ask.image ? [{ type: 'image_url' as const, image_url: { url: picture(ask.image) } }] : []),
  ]
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content }]
  let reasoning = ''
  for (;;) {
    const { choices, usage } = await complete(openai, ask, messages)
    const { message } = choices[0]
    reasoning += (message as Thought).reasoning ?? ''
    messages.push(message)
    const calls = message.tool_calls?.filter((call) => call.type === 'function') ?? []
    for (const {
      id,
      function: { arguments: args },
    } of calls)
      messages.push({ role: 'tool', tool_call_id: id, content: weatherSentence(JSON.parse(args) as { place: string }) })
    if (calls.length > 0) continue
    return {
      text: message.content ?? '',
      reasoning,
      ...(ask.schema ? { value: (message as { parsed?: unknown }).parsed ?? JSON.parse(message.content ?? '') } : {}),
      usage: {
        input: usage?.prompt_tokens,
        output: usage?.completion_tokens,
        cached: usage?.prompt_tokens_details?.cached_tokens,
        reasoning: usage?.completion_tokens_details?.reasoning_tokens,
      },
    }
  }
}

const clients: Client[] = [
  {
    name: 'openai responses',
    ask: (ask) => askResponses(openaiWith(house.gateway.key), ask),
    askAsStranger: (ask) => askResponses(openaiWith(STRANGER), ask),
    ...ERRORS,
  },
  {
    name: 'openai chat',
    ask: (ask) => askChat(openaiWith(house.gateway.key), ask),
    askAsStranger: (ask) => askChat(openaiWith(STRANGER), ask),
    ...ERRORS,
  },
]

for (const client of clients) await exercise(t, house, client)
