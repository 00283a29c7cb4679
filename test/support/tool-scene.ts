/** A gateway with one model that follows a script, asked in any client format: for tests of the gateway's own tools. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { bodyText } from './body-text.ts'
import { type Gateway, KEY, oneModel, startGateway } from './gateway.ts'
import { type Seen, startUpstream, type Upstream } from './upstream.ts'
import { answerFor, type Utterance, type UtteranceCall } from './wire.ts'

export const FORMATS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' } as const
export type Format = keyof typeof FORMATS
export interface Way {
  format: Format
  stream: boolean
}

export const formatRoutes = (...formats: Format[]): Way[] =>
  formats.flatMap((format) => [false, true].map((stream) => ({ format, stream })))

export interface ToolScene {
  gateway: Gateway
  model: Upstream
  ask(way: Way, more?: JsonObject, headers?: Record<string, string>): Promise<Asked>
}

export interface Asked {
  status: number
  raw: string
  /** The body, or what the last event of a stream holds. */
  body: JsonObject
  /** Of a stream. */
  events: JsonObject[]
  /** Items of a Responses reply. */
  output: JsonObject[]
  /** The error's message. */
  message: string
}

export interface ToolSceneOptions {
  script: (seen: Seen) => Utterance
  dialect?: string | undefined
  /** YAML beside the one of the model. */
  more?: string
  endpoint?: string
  /** Further models, as YAML that is indented by two. */
  models?: string
}

export async function toolScene(
  t: Test,
  { script, dialect = 'openai-chat', more = '', endpoint, models = '' }: ToolSceneOptions,
): Promise<ToolScene> {
  const model = await startUpstream((seen) => answerFor(seen, script(seen)))
  t.teardown(() => model.close())
  const gateway = await startGateway(
    `${more.includes('auth:') ? '' : `auth: { keys: [ { name: test, key: "${KEY}" } ] }\n`}${more}\n${oneModel(model.url, dialect, { endpoint })}${models}`,
  )
  t.teardown(() => gateway.close())
  return {
    gateway,
    model,
    ask: async ({ format, stream }, own = {}, headers) => {
      const utterance: JsonObject = format === 'responses' ? { input: 'Go.' } : { messages: [{ role: 'user', content: 'Go.' }] }
      if (format === 'messages') utterance.max_tokens = 500
      const response = await gateway.post(FORMATS[format], { model: 'acme/one', stream, ...utterance, ...own }, headers)
      return parseAsked(response.status, await bodyText(response))
    },
  }
}

export function parseAsked(status: number, raw: string): Asked {
  const events = raw.startsWith('{')
    ? []
    : raw.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as JsonObject] : []))
  const last = events.findLast((event) => event.response !== undefined) ?? events.at(-1)
  const body = raw.startsWith('{') ? (JSON.parse(raw) as JsonObject) : ((last?.response ?? last ?? {}) as JsonObject)
  const message = String((body.error as JsonObject | undefined)?.message ?? '')
  return { status, raw, body, events, output: (body.output ?? []) as JsonObject[], message }
}

/** True once a tool has answered the model. */
export const ran = (seen: Seen): boolean => /"role":"tool"|tool_result"|function_call_output|functionResponse/.test(seen.body)

export const calls = (name: string, ...args: JsonObject[]): UtteranceCall[] =>
  args.map((one, i) => ({ id: `call_${name.replace(/\W/g, '')}${i}`, name, args: [JSON.stringify(one)] }))

/** Results of tools for the model in the last request, as text; for a provider that speaks chat. */
export function told({ model }: ToolScene): string[] {
  const messages = (model.requests.at(-1)?.json.messages ?? []) as JsonObject[]
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
}

/** Names of the functions that the model was offered in a request. */
export function offered(seen: Seen | undefined): string[] {
  const tools = (seen?.json.tools ?? []) as JsonObject[]
  return tools.map((tool) => String((tool.function as JsonObject | undefined)?.name ?? tool.name ?? tool.type))
}
