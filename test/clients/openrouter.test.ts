/**
 * White label: with their brand word the official clients of a service that speaks this API work unchanged,
 * and every identifier on the wire reads that word.
 */
import { OpenRouter } from '@openrouter/sdk'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import t from 'tap'
import { KEY } from '../support/gateway.ts'
import { AI_SDK_CLASSES, askWithAiSdk, statusOfAiSdk } from './support/ai-sdk.ts'
import { type Ask, CAPITAL, type Client, STRANGER, type Told, WEATHER, weatherOf } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { DIALECTS, modelOf, startHouse } from './support/house.ts'
import { unknowns } from './support/unknowns.ts'

const BRAND = 'openrouter'
const house = await startHouse(t, `brand: { word: ${BRAND} }`)
const sdkWith = (apiKey: string): OpenRouter => new OpenRouter({ apiKey, serverURL: `${house.gateway.url}/v1`, retryConfig: { strategy: 'none' } })

type Parsed = Record<string, any>

const classes = {
  400: 'BadRequestResponseError',
  401: 'UnauthorizedResponseError',
  404: 'NotFoundResponseError',
  429: 'TooManyRequestsResponseError',
} as const
const statusOf = (error: unknown): number | undefined => (error as { statusCode?: number }).statusCode

/** @throws where the client did not know a part of what it read. */
function known<Value>(value: Value): Value {
  const found = unknowns(value)
  if (found.length > 0) throw new Error(`unknown to the client: ${found.join(', ')}`)
  return value
}

async function responded(sdk: OpenRouter, ask: Ask, input: Parsed[]): Promise<Parsed> {
  const responsesRequest = {
    model: ask.model,
    input,
    stream: ask.stream,
    ...(ask.temperature === undefined ? {} : { temperature: ask.temperature }),
    ...(ask.tool ? { tools: [{ type: 'function', name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema, strict: true }] } : {}),
    ...(ask.schema ? { text: { format: { type: 'json_schema', ...CAPITAL, strict: true } } } : {}),
    ...(ask.reasoning ? { reasoning: { effort: 'medium' }, include: ['reasoning.encrypted_content'] } : {}),
  }
  const reply = (await sdk.responses.send({ responsesRequest } as never, { signal: ask.signal } as never)) as unknown
  if (!ask.stream) return known(reply as Parsed)
  let last: Parsed | undefined
  for await (const event of reply as AsyncIterable<Parsed>) {
    last = known(event)
    if (event.type === 'response.output_text.delta') ask.onText?.(event.delta)
  }
  if (last?.type !== 'response.completed') throw new Error(`the stream ended with ${last?.type}`)
  return last.response
}

async function askResponses(sdk: OpenRouter, ask: Ask): Promise<Told> {
  const picture = ask.image ? [{ type: 'input_image', imageUrl: `data:image/png;base64,${ask.image}`, detail: 'auto' }] : []
  const input: Parsed[] = [{ role: 'user', content: [{ type: 'input_text', text: ask.prompt }, ...picture] }]
  let reasoning = ''
  for (;;) {
    const { output, usage } = await responded(sdk, ask, input)
    input.push(...output)
    for (const item of output) if (item.type === 'reasoning') reasoning += [...(item.summary ?? []), ...(item.content ?? [])].map(({ text }: Parsed) => text).join('')
    const calls = output.filter((item: Parsed) => item.type === 'function_call')
    for (const { callId, arguments: args } of calls) input.push({ type: 'function_call_output', callId, output: weatherOf(JSON.parse(args)) })
    if (calls.length > 0) continue
    const text = output.flatMap((item: Parsed) => (item.type === 'message' ? item.content : [])).map((part: Parsed) => part.text).join('')
    return {
      text,
      reasoning,
      ...(ask.schema ? { value: JSON.parse(text) } : {}),
      usage: { input: usage.inputTokens, output: usage.outputTokens, cached: usage.inputTokensDetails.cachedTokens, reasoning: usage.outputTokensDetails.reasoningTokens },
    }
  }
}

/** Joins the fragments of tool calls of one streamed answer. */
function addFragment(calls: Parsed[], fragment: Parsed): void {
  calls[fragment.index] ??= { id: fragment.id, type: 'function', function: { name: fragment.function?.name, arguments: '' } }
  calls[fragment.index].function.arguments += fragment.function?.arguments ?? ''
}

async function streamedChat(chunks: AsyncIterable<Parsed>, ask: Ask): Promise<Parsed> {
  const message: Parsed = { role: 'assistant', content: '', reasoning: '', reasoningDetails: [], toolCalls: [] }
  let usage: Parsed | undefined
  for await (const chunk of chunks) {
    known(chunk)
    if (chunk.error) throw new Error(chunk.error.message)
    usage = chunk.usage ?? usage
    const delta = chunk.choices[0]?.delta ?? {}
    if (delta.content) ask.onText?.(delta.content)
    message.content += delta.content ?? ''
    message.reasoning += delta.reasoning ?? ''
    message.reasoningDetails.push(...(delta.reasoningDetails ?? []))
    for (const fragment of delta.toolCalls ?? []) addFragment(message.toolCalls, fragment)
  }
  if (message.toolCalls.length === 0) delete message.toolCalls
  return { choices: [{ message }], usage }
}

async function askChat(sdk: OpenRouter, ask: Ask): Promise<Told> {
  const picture = ask.image ? [{ type: 'image_url', imageUrl: { url: `data:image/png;base64,${ask.image}` } }] : []
  const messages: Parsed[] = [{ role: 'user', content: [{ type: 'text', text: ask.prompt }, ...picture] }]
  let reasoning = ''
  for (;;) {
    const chatRequest = {
      model: ask.model,
      messages,
      stream: ask.stream,
      ...(ask.temperature === undefined ? {} : { temperature: ask.temperature }),
      ...(ask.tool ? { tools: [{ type: 'function', function: { name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema } }] } : {}),
      ...(ask.schema ? { responseFormat: { type: 'json_schema', jsonSchema: { ...CAPITAL, strict: true } } } : {}),
      ...(ask.reasoning ? { reasoning: { effort: 'medium' } } : {}),
    }
    const reply = (await sdk.chat.send({ chatRequest } as never, { signal: ask.signal } as never)) as unknown
    const { choices, usage } = ask.stream ? await streamedChat(reply as AsyncIterable<Parsed>, ask) : known(reply as Parsed)
    const { message } = choices[0]
    reasoning += message.reasoning ?? ''
    messages.push(message)
    for (const { id, function: { arguments: args } } of message.toolCalls ?? []) messages.push({ role: 'tool', toolCallId: id, content: weatherOf(JSON.parse(args)) })
    if (message.toolCalls?.length) continue
    return {
      text: message.content,
      reasoning,
      ...(ask.schema ? { value: JSON.parse(message.content) } : {}),
      usage: { input: usage.promptTokens, output: usage.completionTokens, cached: usage.promptTokensDetails?.cachedTokens, reasoning: usage.completionTokensDetails?.reasoningTokens },
    }
  }
}

const sdkClient = (name: string, ask: (sdk: OpenRouter, ask: Ask) => Promise<Told>): Client => ({
  name,
  ask: (asked) => ask(sdkWith(KEY), asked),
  askAsStranger: (asked) => ask(sdkWith(STRANGER), asked),
  classes,
  statusOf,
})

const providerWith = (apiKey: string) => createOpenRouter({ baseURL: `${house.gateway.url}/v1`, apiKey, compatibility: 'strict' })
const REASONING = { openrouter: { reasoning: { effort: 'medium' } } } as const

await exercise(t, house, sdkClient('openrouter-sdk responses', askResponses))
await exercise(t, house, sdkClient('openrouter-sdk chat', askChat))
await exercise(t, house, {
  name: 'ai-sdk openrouter',
  lacks: [{ ability: 'replay', from: ['openai-chat'], why: 'it drops details whose format it does not know' }],
  ask: (ask) => askWithAiSdk(providerWith(KEY)(ask.model), ask, REASONING),
  askAsStranger: (ask) => askWithAiSdk(providerWith(STRANGER)(ask.model), ask, REASONING),
  classes: AI_SDK_CLASSES,
  statusOf: statusOfAiSdk,
})

/** Places where the wire shows the default word instead of the brand. */
const strays = (bytes: string): string[] => [...bytes.matchAll(/.{0,20}(?<!open)router.{0,20}/gi)].map(([match]) => match)

const REQUESTS: readonly [path: string, body: Parsed][] = [
  ['/v1/responses', { input: 'What time is it?', tools: [{ type: `${BRAND}:datetime` }] }],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'What time is it?' }], tools: [{ type: `${BRAND}:datetime` }] }],
]

for (const dialect of DIALECTS)
  for (const [path, body] of REQUESTS)
    for (const stream of [false, true])
      t.test(`the raw bytes of ${path} from ${dialect}${stream ? ', streaming' : ''} hold their word only`, async (t) => {
        house.script({ calls: [{ id: 'call_a', name: `${BRAND}_datetime`, args: ['{}'] }] }, { text: ['Tea ', 'time.'] })
        const reply = await house.gateway.post(path, { ...body, model: modelOf(dialect), stream }, { 'x-openrouter-metadata': 'enabled' })
        const bytes = await reply.text()
        t.equal(reply.status, 200)
        t.match(bytes, /Tea/)
        t.match(bytes, '"openrouter_metadata":{')
        if (path === '/v1/responses') t.match(bytes, '"type":"openrouter:datetime"')
        t.same(strays(bytes), [])
        t.same(strays(JSON.stringify([...reply.headers])), [])
        t.equal(house.seen().length, 2, 'the tool was run by the gateway')
      })
