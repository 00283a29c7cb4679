/** A gateway whose tools ask models: several models behind one scripted provider, asked in every client format. */
import type { Test } from 'tap'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import type { GenerationRecord } from '../../src/ledger/types.ts'
import { bodyText } from './body-text.ts'
import { type FoldedReply, foldChat, foldChatStream, foldResponse, foldResponseStream } from './fold.ts'
import { foldMessage, foldMessageStream } from './fold-messages.ts'
import { type Gateway, type GatewayOptions, KEY, startGateway } from './gateway.ts'
import { type Answer, type Seen, startUpstream, type Upstream } from './upstream.ts'
import { answerFor, type Utterance } from './wire.ts'

export const FORMATS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' } as const
export type Format = keyof typeof FORMATS
export interface Way {
  format: Format
  stream: boolean
}
export const WAYS: readonly Way[] = (['chat', 'responses', 'messages'] as const).flatMap((format) =>
  [false, true].map((stream) => ({ format, stream })),
)
export const wayName = ({ format, stream }: Way): string => `${format}${stream ? ', streamed' : ''}`

/** USD per million tokens; a token of `acme/two` costs 3,000 nano-dollars, or 4,000 written. */
export const PRICES = { one: [1, 2], two: [3, 4], three: [5, 6], four: [7, 8] } as const
export type Name = keyof typeof PRICES

export interface Asked {
  status: number
  raw: string
  /** Folded when asked for. */
  readonly reply: FoldedReply
  /** The body, or the last event of a stream that tells usage. */
  body: JsonObject
}

export interface AskedModels {
  gateway: Gateway
  upstream: Upstream
  ask(way: Way, more: JsonObject, headers?: Record<string, string>): Promise<Asked>
  /** Requests that a model has seen. */
  seen(name: Name): Seen[]
  last(): GenerationRecord
  /** Nano-dollars that are held now. */
  held(): number
}

export interface AskedModelsOptions extends Pick<GatewayOptions, 'clock' | 'env'> {
  script: (name: Name, seen: Seen) => Utterance | Answer | Promise<Answer>
  /** Further settings of the key, as YAML behind a comma. */
  key?: string
  yaml?: string
  dialect?: string
  provider?: string
  /** Further settings of every model. */
  model?: string
  /** Of every model. */
  context?: number
  /** Further models, as YAML under `models`. */
  models?: string
}

export async function startAskedModels(t: Test, options: AskedModelsOptions): Promise<AskedModels> {
  const {
    script,
    key = '',
    yaml = '',
    dialect = 'openai-chat',
    provider = '',
    model = '',
    models: others = '',
    context = 128_000,
    ...rest
  } = options
  const upstream = await startUpstream(async (seen) => {
    const utterance = await script(seenModel(seen), seen)
    return isUttered(utterance) ? answerFor(seen, utterance) : utterance
  })
  t.teardown(() => upstream.close())
  const models = Object.entries(PRICES).map(
    ([name, [prompt, completion]]) => `
  acme/${name}:
    context: ${context}
    max_output: 4096
    ${model}
    endpoints: [ { provider: first, model: ${name}, price: { prompt: "${prompt}.00", completion: "${completion}.00" } } ]`,
  )
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}"${key} } ] }
${yaml}
providers:
  first: { dialect: ${dialect}, base_url: "${upstream.url}${dialect === 'anthropic' ? '' : '/v1'}", key: "sk-provider-secret"${provider} }
models:${models.join('')}
${others}
`,
    rest,
  )
  t.teardown(() => gateway.close())
  const rows = (): GenerationRecord[] => [...gateway.running.store.journal.export()]
  return {
    gateway,
    upstream,
    ask: async (way, more, headers) => {
      const response = await gateway.post(FORMATS[way.format], bodyFor(way, more), headers)
      const raw = await bodyText(response)
      return {
        status: response.status,
        raw,
        body: lastBody(raw),
        get reply() {
          return folded(way.format, response, raw)
        },
      }
    },
    seen: (name) => upstream.requests.filter((seen) => seenModel(seen) === name),
    last: () => {
      const row = rows().at(-1)
      if (!row) throw new Error('nothing stands in the ledger')
      return row
    },
    held: () => {
      const [first] = rows()
      return first ? gateway.running.runtime.dependencies.credit.account(first.hold.key).held : 0
    },
  }
}

/** Gemini names the model in the path. */
function seenModel(seen: Seen): Name {
  return (/\/models\/(\w+):/.exec(seen.path)?.[1] ?? seen.json.model) as Name
}

export function bodyFor({ format, stream }: Way, more: JsonObject): JsonObject {
  const text = 'What is best?'
  const own: JsonObject = format === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] }
  if (format === 'messages') own.max_tokens = 500
  return { model: 'acme/one', stream, ...own, ...more }
}

function isUttered(utterance: Utterance | Answer): utterance is Utterance {
  return 'text' in utterance || 'calls' in utterance || 'usage' in utterance || 'reasoning' in utterance || 'end' in utterance
}

function folded(format: Format, response: Response, raw: string): FoldedReply {
  const stream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (format === 'chat') return stream ? foldChatStream(raw) : foldChat(JSON.parse(raw) as JsonObject)
  if (format === 'responses') return stream ? foldResponseStream(raw) : foldResponse(JSON.parse(raw) as JsonObject)
  return stream ? foldMessageStream(raw) : foldMessage(JSON.parse(raw) as JsonObject)
}

export function rawEvents(raw: string): JsonObject[] {
  return raw.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as JsonObject] : []))
}

function lastBody(raw: string): JsonObject {
  if (raw.startsWith('{')) return JSON.parse(raw) as JsonObject
  const last = rawEvents(raw).findLast((event) => event.usage !== undefined || event.response !== undefined)
  return isObject(last?.response) ? last.response : (last ?? {})
}

/** True where the conversation holds a tool's answer. */
export function ran(seen: Seen): boolean {
  return /"role":"tool"|tool_result|function_call_output|functionResponse/.test(seen.body)
}

/** Results of tools for the model, one object per call; for providers of the chat wire. */
export function told(seen: Seen | undefined): JsonObject[] {
  const messages = (seen?.json.messages ?? []) as JsonObject[]
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(String(content)) as JsonObject)
}
