/** The OpenAI Agents SDK: its own loop over tools, on either interface of the gateway. */
import { Agent, type AgentInputItem, OpenAIProvider, Runner, type Runner as RunnerType, tool } from '@openai/agents'
import OpenAI from 'openai'
import t from 'tap'
import { type Ask, CAPITAL, type Client, STRANGER, type Told, WEATHER, weatherSentence } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { startHouse } from './support/house.ts'

const house = await startHouse(t)

const weather = tool({
  name: WEATHER.name,
  description: WEATHER.description,
  parameters: WEATHER.schema as never,
  strict: true,
  execute: async (args) => weatherSentence(args as { place: string }),
})

function createAgent(ask: Ask): Agent {
  return new Agent({
    name: 'Tester',
    model: ask.model,
    tools: ask.tool ? [weather] : [],
    ...(ask.schema ? { outputType: { type: 'json_schema', name: CAPITAL.name, strict: true, schema: CAPITAL.schema } } : {}),
    modelSettings: {
      ...(ask.topP === undefined ? {} : { topP: ask.topP }),
      ...(ask.reasoning
        ? { reasoning: { effort: 'medium', summary: 'auto' }, providerData: { include: ['reasoning.encrypted_content'] } }
        : {}),
    },
  } as never)
}

function runnerWith(apiKey: string, useResponses: boolean): RunnerType {
  const openAIClient = new OpenAI({ baseURL: `${house.gateway.url}/v1`, apiKey })
  return new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openAIClient as never, useResponses }), tracingDisabled: true })
}

interface Ran {
  readonly finalOutput?: unknown
  readonly newItems: readonly { rawItem?: unknown }[]
  readonly rawResponses: readonly {
    usage: { inputTokens: number; outputTokens: number; inputTokensDetails?: unknown; outputTokensDetails?: unknown }
  }[]
}

/** Texts of one item of reasoning: its summary, or else the reasoning itself. */
function thoughtText(item: unknown): string {
  const { type, content = [], rawContent = [] } = item as { type?: string; content?: { text: string }[]; rawContent?: { text: string }[] }
  if (type !== 'reasoning') return ''
  return (content.length > 0 ? content : rawContent).map(({ text }) => text).join('')
}

function toTold(ran: Ran): Told {
  const usage = ran.rawResponses.at(-1)?.usage
  const detail = (list: unknown, name: string): number | undefined => (Array.isArray(list) ? list[0] : list)?.[name] as number | undefined
  return {
    text: typeof ran.finalOutput === 'string' ? ran.finalOutput : '',
    value: ran.finalOutput,
    reasoning: ran.newItems.map(({ rawItem }) => thoughtText(rawItem)).join(''),
    usage: {
      input: usage?.inputTokens,
      output: usage?.outputTokens,
      cached: detail(usage?.inputTokensDetails, 'cached_tokens'),
      reasoning: detail(usage?.outputTokensDetails, 'reasoning_tokens'),
    },
  }
}

const signalOption = ({ signal }: Ask): { signal?: AbortSignal } => (signal ? { signal } : {})

async function askWith(runner: RunnerType, ask: Ask): Promise<Told> {
  const picture = ask.image ? [{ type: 'input_image', image: `data:image/png;base64,${ask.image}` }] : []
  const input = [{ role: 'user', content: [{ type: 'input_text', text: ask.prompt }, ...picture] }] as AgentInputItem[]
  if (!ask.stream) return toTold((await runner.run(createAgent(ask), input, signalOption(ask))) as Ran)
  const result = await runner.run(createAgent(ask), input, { stream: true, ...signalOption(ask) })
  for await (const event of result)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') ask.onText?.(event.data.delta)
  await result.completed
  if (result.error) throw result.error
  ask.signal?.throwIfAborted()
  return toTold(result as Ran)
}

const createClient = (name: string, useResponses: boolean): Client => ({
  name,
  ask: (ask) => askWith(runnerWith(house.gateway.key, useResponses), ask),
  askAsStranger: (ask) => askWith(runnerWith(STRANGER, useResponses), ask),
  classes: { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError' },
  retries: 2,
  errorStatus: (error) => (error as { status?: number }).status,
})

await exercise(t, house, createClient('openai-agents responses', true))
await exercise(t, house, createClient('openai-agents chat', false))
