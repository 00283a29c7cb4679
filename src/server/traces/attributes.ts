/**
 * Attributes of spans by the conventions: HTTP by OpenTelemetry's semantic conventions 1.42.0, GenAI by those of
 * github.com/open-telemetry/semantic-conventions-genai at commit 004902b (no release yet). What they have no name for begins with `headgate.`.
 * Words of a prompt or an answer are in none of them.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { TOKEN_KINDS } from '../../core/token-kinds.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import { Double, type SpanWriter } from '../../machines/otlp/otlp.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'

/** Characters of a value that a caller chose, entries of an object that it sent, and characters of their names. */
const MAX_VALUE_LENGTH = 256
const MAX_ENTRIES = 32
const ENTRY_NAME = /^[\w.-]{1,64}$/

export const cut = (text: string): string => (text.length > MAX_VALUE_LENGTH ? text.slice(0, MAX_VALUE_LENGTH) : text)

/** Milliseconds as seconds. */
export const seconds = (ms: number): Double => new Double(Math.max(0, ms) / 1000)

/** `gen_ai.operation.name` of what a caller wants. */
export function clientOperation(client: ClientDialect): string {
  if (client.embedding) return 'embeddings'
  if (client.countBody) return 'count_tokens'
  return client.id === 'completions' ? 'text_completion' : 'chat'
}

/** Name of a generation in the conventions, at providers of a dialect, where that is not `chat`. */
const OPERATIONS: Readonly<Record<string, string>> = { gemini: 'generate_content' }

/** `gen_ai.operation.name` of a call of a provider. */
export function callOperation(exchange: Exchange, { provider }: Endpoint): string {
  return exchange.run.client.embedding ? 'embeddings' : (OPERATIONS[provider.dialect] ?? 'chat')
}

/** Fields by which the caller finds its requests again: user, session, and its own names for the trace. */
export function writeCallersNames(spans: SpanWriter, { head, request }: Exchange): void {
  const { headers, config } = head
  spans.attribute('user_agent.original', text(headers['user-agent']))
  spans.attribute('headgate.app.referer', text(headers['http-referer'] ?? headers.referer))
  spans.attribute('headgate.app.title', text(headers[config.brand.headers.title] ?? headers['x-title']))
  if (!request) return
  const { gateway, body } = request
  const { sessionId, trace } = gateway
  spans.attribute('user.id', text(body.user))
  spans.attribute('session.id', text(sessionId))
  spans.attribute('gen_ai.conversation.id', text(sessionId))
  if (trace) writeEntries(spans, 'headgate.trace.', trace)
  if (isObject(body.metadata)) writeEntries(spans, 'headgate.metadata.', body.metadata)
}

function writeEntries(spans: SpanWriter, prefix: string, entries: JsonObject): void {
  let left = MAX_ENTRIES
  for (const name in entries) {
    if (left-- === 0) return
    const value = entries[name]
    if (!ENTRY_NAME.test(name)) continue
    if (typeof value === 'number' || typeof value === 'boolean') spans.attribute(prefix + name, value)
    else spans.attribute(prefix + name, text(value))
  }
}

const text = (value: Json | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? cut(value) : undefined

/** Fields that hold one number, by the attribute that shows it; the first that is there counts. */
const NUMBERS: readonly (readonly [attribute: string, kind: 'int' | 'double', ...fields: string[]])[] = [
  ['gen_ai.request.max_tokens', 'int', 'max_output_tokens', 'max_completion_tokens', 'max_tokens'],
  ['gen_ai.request.temperature', 'double', 'temperature'],
  ['gen_ai.request.top_p', 'double', 'top_p'],
  ['gen_ai.request.top_k', 'int', 'top_k'],
  ['gen_ai.request.seed', 'int', 'seed'],
  ['gen_ai.request.frequency_penalty', 'double', 'frequency_penalty'],
  ['gen_ai.request.presence_penalty', 'double', 'presence_penalty'],
  ['gen_ai.embeddings.dimension.count', 'int', 'dimensions'],
]

/** Parameters that the caller has set for the model. */
export function writeParameters(spans: SpanWriter, body: JsonObject): void {
  for (const [attribute, kind, ...fields] of NUMBERS) {
    for (const field of fields) {
      const value = body[field]
      if (typeof value !== 'number') continue
      if (kind === 'double') spans.attribute(attribute, new Double(value))
      else if (Number.isSafeInteger(value)) spans.attribute(attribute, value)
      break
    }
  }
  if (typeof body.n === 'number' && body.n > 1) spans.attribute('gen_ai.request.choice.count', body.n)
  const level = body.reasoning_effort ?? (isObject(body.reasoning) ? body.reasoning.effort : undefined)
  spans.attribute('gen_ai.request.reasoning.level', text(level))
}

const SPANNED = TOKEN_KINDS.flatMap((kind) => ('span' in kind ? [kind] : []))

/** Tokens as the provider has reported them, or as they were estimated. */
export function writeUsage(spans: SpanWriter, usage: Usage): void {
  spans.attribute('gen_ai.usage.input_tokens', usage.input)
  spans.attribute('gen_ai.usage.output_tokens', usage.output)
  for (const { count, span } of SPANNED) {
    const tokens = usage[count] ?? 0
    if (tokens > 0) spans.attribute(span, tokens)
  }
  if (usage.estimated) spans.attribute('headgate.usage.estimated', true)
}

interface Address {
  readonly host: string
  readonly port: number
}

const addresses = new WeakMap<Provider, Address>()

export function writeProvider(spans: SpanWriter, provider: Provider): void {
  spans.attribute('gen_ai.provider.name', provider.telemetryName ?? provider.slug)
  if (provider.baseUrl === undefined) return
  let address = addresses.get(provider)
  if (!address) {
    const { hostname, port, protocol } = new URL(provider.baseUrl)
    address = { host: hostname, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
    addresses.set(provider, address)
  }
  spans.attribute('server.address', address.host)
  spans.attribute('server.port', address.port)
}
