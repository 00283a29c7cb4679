/** A connection to one server for one request: opened when it is needed, by the protocol's own client library. */
import type { Client, JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { type GuardedClient, guardedClient } from '../outbound/guarded-client.ts'
import type { McpEntry } from './entry.ts'
import { answerText, type RemoteTool, remoteTools } from './remote-tools.ts'
import type { McpSettings } from './settings.ts'

/** The message may be shown to callers and models; `cause` is for the operator. */
export class McpError extends Error {}

/** Statuses by which a server of the older transport shows that it does not know the newer. */
const OLDER: ReadonlySet<number> = new Set([400, 404, 405])

const MAX_MESSAGE_LENGTH = 1000
/** Milliseconds for ending the session. */
const PARTING = 1_000

export class McpConnection {
  private readonly entry: McpEntry
  private readonly settings: McpSettings
  private readonly clock: Clock
  private opening: Promise<Client> | undefined
  private http: GuardedClient | undefined
  private transport: Transport | undefined
  private closed = false
  /** Rejects where the server has sent too much. */
  private readonly full = Promise.withResolvers<never>()

  constructor(entry: McpEntry, settings: McpSettings, clock: Clock) {
    this.entry = entry
    this.settings = settings
    this.clock = clock
    this.full.promise.catch(() => this.close())
  }

  /** @throws McpError, or the signal's reason. */
  list(signal: AbortSignal): Promise<RemoteTool[]> {
    return this.within(signal, async (limited) => {
      const client = await this.open()
      if (!client.getServerCapabilities()?.tools) return []
      const { tools } = await client.listTools(undefined, { signal: limited, timeout: this.settings.timeout })
      return remoteTools(tools, this.entry)
    })
  }

  /** @throws McpError, or the signal's reason. */
  call(name: string, args: JsonObject, signal: AbortSignal): Promise<{ text: string; failed: boolean }> {
    return this.within(signal, async (limited) => {
      const client = await this.open()
      const result = await client.callTool({ name, arguments: args }, { signal: limited, timeout: this.settings.timeout })
      return { text: answerText(result, this.settings.maxOutput), failed: result.isError === true }
    })
  }

  /** Ends the session, and does not wait for long: a server may keep a stream open for ever. */
  close(): void {
    if (this.closed) return
    this.closed = true
    const drop = (): void => {
      this.http?.close().catch(() => {})
      // Requests of the library that still wait have timers of their own.
      this.transport?.close().catch(() => {})
    }
    const timer = this.clock.after(PARTING, drop)
    this.opening
      ?.then(ended)
      .then(drop, drop)
      .finally(() => timer.cancel())
  }

  private open(): Promise<Client> {
    this.opening ??= this.connect()
    return this.opening
  }

  private async connect(): Promise<Client> {
    const { SSEClientTransport, StreamableHTTPClientTransport, SdkHttpError } = await import('@modelcontextprotocol/client')
    const { policy, maxBytes } = this.settings
    const { url, headers } = this.entry
    const http = await guardedClient({ policy, origin: url.origin, maxBytes, tooMuch: this.full.reject })
    this.http = http
    const boundFetch: GuardedClient['fetch'] = async (address, init) => boundAnswer(await http.fetch(address, init))
    const options = { fetch: boundFetch, requestInit: { headers: { ...headers } } }
    try {
      return await this.greet(new StreamableHTTPClientTransport(new URL(url), options))
    } catch (thrown) {
      if (!(thrown instanceof SdkHttpError) || !OLDER.has(thrown.status)) throw thrown
    }
    return await this.greet(new SSEClientTransport(new URL(url), options))
  }

  private async greet(transport: Transport): Promise<Client> {
    const { Client: ClientOf } = await import('@modelcontextprotocol/client')
    if (this.closed) throw new McpError('the request has ended')
    const client = new ClientOf(
      { name: 'headgate', version: '1' },
      {
        versionNegotiation: { mode: 'auto' },
        // A server's schemas are untrusted: no validator is compiled from them.
        jsonSchemaValidator: { getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }) },
      },
    )
    client.onerror = () => {}
    this.transport = transport
    boundMessages(transport, () => this.full.reject(new McpError('the server said too much')))
    try {
      await client.connect(transport, { timeout: this.settings.timeout })
      return client
    } catch (thrown) {
      await client.close().catch(() => {})
      throw thrown
    }
  }

  /** The library's own timer does not cover all of it, such as a stream that never says where to write to. */
  private async within<T>(signal: AbortSignal, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const limit = new AbortController()
    const { promise: stopped, reject } = Promise.withResolvers<never>()
    const stop = (reason: unknown): void => {
      limit.abort(reason)
      reject(reason)
    }
    const timer = this.clock.after(this.settings.timeout, () => stop(new McpError('the server did not answer in time')))
    const gone = (): void => stop(signal.reason)
    this.full.promise.catch(stop)
    signal.addEventListener('abort', gone, { once: true })
    try {
      return await Promise.race([send(limit.signal), stopped])
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      throw thrown instanceof McpError ? thrown : new McpError(words(thrown), { cause: thrown })
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', gone)
    }
  }
}

async function ended(client: Client): Promise<void> {
  const { transport } = client
  if (transport && 'terminateSession' in transport && typeof transport.terminateSession === 'function')
    await Promise.resolve(transport.terminateSession()).catch(() => {})
  await client.close().catch(() => {})
}

/** One text for all that the network shows: callers do not learn which hosts and ports exist. */
function words(thrown: unknown): string {
  for (let at: unknown = thrown; at instanceof Error; at = at.cause) {
    if (at instanceof Fault) return at.status === 413 ? 'the server said too much' : UNREACHABLE
  }
  if (!(thrown instanceof Error)) return UNREACHABLE
  const { status } = thrown as { status?: unknown }
  if (status === 401 || status === 403) return `the server refused the authorization, with status ${status}`
  if (typeof status === 'number') return `the server answered with status ${status}`
  // An error of the protocol: the server understood the request and refused it.
  const { code } = thrown as { code?: unknown }
  if (typeof code === 'number') return `the server refused: ${thrown.message.slice(0, MAX_MESSAGE_LENGTH)}`
  return UNREACHABLE
}

const UNREACHABLE = 'the server could not be reached'

/** Items of a list that are looked at. */
const TOOLS = 512
const BLOCKS = 256
/** Values of any kind in one message. */
const PARTS = 20_000
/** Messages in one answer, and of one connection. */
const TOGETHER = 16
const MESSAGES = 2000

/**
 * Bounds on the messages of a server. The library checks each part of it, and for a part that is wrong that takes a
 * thousand times as long as reading it: three megabytes of `{}` would keep the event loop for a minute.
 * Applies the bounds to the messages of a transport. @param tooMany called where a connection has more than `MESSAGES`.
 */
function boundMessages(transport: Transport, tooMany: () => void): void {
  let listener: Transport['onmessage']
  let messages = 0
  const deliver: NonNullable<Transport['onmessage']> = (message, extra) => {
    if (++messages > MESSAGES) return tooMany()
    const fit = bounded(message)
    if (fit) listener?.(fit, extra)
  }
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => (listener ? deliver : undefined),
    set: (given: Transport['onmessage']) => {
      listener = given
    },
  })
}

/** An answer whose JSON is no long list of messages. */
function boundAnswer(response: Response): Response {
  const json = response.json.bind(response)
  const value = async (): Promise<unknown> => {
    const data: unknown = await json()
    if (Array.isArray(data) && data.length > TOGETHER) throw new Error('too many messages at once')
    return data
  }
  return Object.defineProperty(response, 'json', { value })
}

/** @returns undefined for an oversized message to which no request waits for an answer. */
function bounded(message: JSONRPCMessage): JSONRPCMessage | undefined {
  if ('result' in message && isObject(message.result)) cutLists(message.result)
  if (!exceeds(message)) return message
  if ('method' in message || message.id === undefined) return undefined
  return { jsonrpc: '2.0', id: message.id, error: { code: -32603, message: 'the answer has too many parts' } }
}

function cutLists(result: JsonObject): void {
  const { tools, content } = result
  if (Array.isArray(tools)) result.tools = tools.slice(0, TOOLS).filter((tool) => isObject(tool) && typeof tool.name === 'string')
  if (Array.isArray(content)) result.content = content.slice(0, BLOCKS).filter((block) => isObject(block) && typeof block.type === 'string')
}

function exceeds(message: unknown): boolean {
  const open: unknown[] = [message]
  let parts = 0
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at !== 'object' || at === null) continue
    for (const key in at) {
      if (++parts > PARTS) return true
      open.push((at as Record<string, unknown>)[key])
    }
  }
  return false
}
