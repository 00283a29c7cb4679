/** The body: read once into one buffer, parsed once, checked by the compiled schema of its dialect; files that it names are filled in. */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { badField, Fault } from '../../core/faults.ts'
import {
  asString,
  escapesLetters,
  isObject,
  type Json,
  type JsonObject,
  type JsonSize,
  membersExceed,
  pathOfLarger,
} from '../../core/json.ts'
import type { CompactionFacts } from '../../dialects/canon/compaction.ts'
import { namesMedia } from '../../dialects/canon/media.ts'
import { SIGNED_ID } from '../../dialects/canon/provider-ids.ts'
import { type GatewayFields, gatewayFields } from '../../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import { JsonReader } from '../../machines/json-bytes/json-reader.ts'
import { JsonSource, SourceSize } from '../../machines/json-bytes/json-source.ts'
import { openItems } from '../compaction/compact.ts'
import type { BodyPlace, ChainDependencies } from '../dependencies.ts'
import type { Accepted, Authenticated } from '../exchange.ts'
import type { Layer, Reply } from '../layer.ts'
import { endedEarly } from '../reply/final-fault.ts'
import { countsStreams, keyBucket } from './admission.ts'
import { ClientRequest } from './client-request.ts'
import { type PresetFields, withPreset } from './preset.ts'
import { bindIds } from './provider-ids.ts'
import { fillInFiles } from './stored-files.ts'

type Reading = Pick<ChainDependencies, 'admission' | 'files' | 'bodies' | 'summaries' | 'ledger'>

export function readLayer({ admission, files, bodies, summaries, ledger }: Reading): Layer<Authenticated, Accepted> {
  return (next) => {
    const counted = async (accepted: Authenticated & Accepted): Promise<Reply> => {
      admission.openStream(accepted.auth.key)
      try {
        return await next(accepted)
      } finally {
        admission.closeStream(accepted.auth.key)
      }
    }
    const enter = (accepted: Authenticated & Accepted): Promise<Reply> =>
      accepted.request.stream && countsStreams(accepted.auth.key) ? counted(accepted) : next(accepted)
    const read = async (exchange: Authenticated): Promise<Authenticated & Accepted> => {
      const {
        head: { cancel, costs, connection, config },
        auth: { key },
      } = exchange
      // A body of announced length was counted before (admit).
      const unannounced = connection.contentLength === undefined && key.limits.bytes !== undefined
      const sender = { payer: key.issuer ? keyBucket(key) : key.identity, digest: key.hash }
      const announced = connection.contentLength ?? 0
      const announcedPlace = bodies && announced > bodies.short ? bodies.expect(announced, sender) : undefined
      const reading = connection.readBody(config.server.maxBody, {
        cancel,
        payer: sender.payer,
        count: unannounced
          ? (more) => {
              admission.takeBytes(key, more, costs.rateBytes)
              costs.rateBytes += more
            }
          : announcedPlace && ((more) => announcedPlace.arrive(more)),
      })
      const bytes = await (announcedPlace ? reading.catch(leaving(announcedPlace)) : reading)
      const place = announcedPlace ?? (bodies && bytes.length > bodies.short ? bodies.expect(bytes.length, sender) : undefined)
      const others = place?.begin(bytes.length, cancel)
      if (others) {
        await others
        if (exchange.head.cancel.aborted) throw endedEarly(exchange, [])
      }
      const parsed = readJson(bytes, config.server.jsonDepth)
      const counting = parsed.weight > 0 ? exchange.head.connection.reserve?.(parsed.weight) : undefined
      if (counting) await counting
      const accepting = accept(exchange, parsed, summaries)
      const accepted = accepting instanceof Promise ? await accepting : accepting
      const binding = bindIds(accepted, parsed.raw.includes(SIGNED_ID), { files, summaries, ledger })
      if (binding) await binding
      const filling = accepted.request.mayHoldMedia ? fillInFiles(accepted, files, config.server.maxBody) : undefined
      if (filling) await filling
      return accepted
    }
    // Two functions, so that nothing of the first lives as long as the reply: a parsed body takes several times the memory of its bytes.
    return (exchange) => read(exchange).then(enter)
  }
}

/** @returns what gives the place of a body free that does not come. */
function leaving(place: BodyPlace): (thrown: unknown) => never {
  return (thrown) => {
    place.leave()
    throw thrown
  }
}

/** Keeps the parts of a parsed body that the exchange needs. @returns a promise only where items of the gateway's own are opened in it. */
function accept(
  exchange: Authenticated,
  { body: sent, raw, characters, bytes, source }: Parsed,
  summaries: ChainDependencies['summaries'],
): (Authenticated & Accepted) | Promise<Authenticated & Accepted> {
  const { config } = exchange.head
  const client = exchange.head.client.recognise?.(sent, exchange.head.headers) ?? exchange.head.client
  const expanded = client.expand?.(sent, config.prompts) ?? sent
  const { model, preset } = expanded
  const mayNamePreset = preset !== undefined || (typeof model === 'string' && model.includes('@'))
  const { body: whole, fields } = mayNamePreset ? withPreset(expanded, client, config) : { body: expanded }
  client.check(whole, exchange.head.headers)
  const kept = (body: JsonObject, facts: CompactionFacts | undefined): Authenticated & Accepted => {
    const accepted = acceptBody(exchange, client, body, body === sent ? { raw, characters, bytes } : bodyText(body), fields)
    const { payload } = accepted.request
    payload.sent = sent
    payload.source = source
    accepted.request.compaction = facts
    const { trace } = accepted.request.gateway
    if (trace) exchange.history.trace?.adopt(trace.trace_id, trace.parent_span_id)
    return accepted
  }
  const facts = client.compaction?.find(whole)
  if (!client.compaction || !facts) return kept(whole, undefined)
  return openItems(exchange, { body: whole, facts }, client.compaction, summaries).then((opened) => {
    const accepted = kept(opened.body, opened.facts)
    if (accepted.request.bytes > config.server.maxBody) throw new Fault('too_large', { message: OPENED_TOO_LARGE })
    return accepted
  })
}

/** A body as JSON text. */
export interface BodyText {
  raw: string | Buffer
  /** Its length as JavaScript counts it, and in UTF-8. */
  characters: number
  bytes: number
}

export function bodyText(body: JsonObject): BodyText {
  const raw = JSON.stringify(body)
  return { raw, characters: raw.length, bytes: Buffer.byteLength(raw) }
}

/**
 * Sets what a checked body says.
 * @param preset what the body does not say any more once a preset is in it.
 * @throws Fault 400 for more tools than are set up for one request.
 */
export function acceptBody<From extends Authenticated>(
  exchange: From,
  client: ClientDialect,
  body: JsonObject,
  { raw, characters, bytes }: BodyText,
  preset?: PresetFields,
): From & Accepted {
  const { headers } = exchange.head
  const session = headers['x-session-id']
  const shared = gatewayFields(body, typeof session === 'string' ? session : agentSession(headers, body))
  const own = client.gatewayFields?.(body)
  const gateway: GatewayFields = own || preset ? { ...shared, ...own, ...preset } : shared
  const request = new ClientRequest({
    client,
    body,
    bytes,
    characters,
    gateway,
    hasOtherTools: Array.isArray(body.tools) && hasOtherTools(body.tools),
    mayHoldMedia: mayHoldMedia(raw) && (client.embedding !== undefined || namesMedia(body)),
  })
  const ctx = exchange.run.ctx as { body: JsonObject; model: string }
  ctx.body = body
  ctx.model = gateway.model ?? ''
  exchange.run.client = client
  return Object.assign(exchange, { request })
}

/** As for `session_id`; a longer one is no id of ours to judge, and is not read. */
const MAX_SESSION_LENGTH = 256

/**
 * Headers with the id of an agent's conversation: Claude Code 2.1.330; Codex 0.169; earlier versions of Codex and pi 0.73.1 (its
 * openai-responses provider, and openai-completions with `sendSessionAffinityHeaders`); opencode 1.18.33, which also sends X-Session-Id.
 */
const AGENT_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id', 'x-session-affinity'] as const

/**
 * `metadata.user_id` of Claude Code: at 2.1.330 JSON with `session_id` after the ids of device and account, in earlier versions one
 * word that ends with it (github.com/ujisati/claude-code-provider-proxy/pull/11).
 */
const IN_USER = /(?:"session_id":"|_session_)([\w-]{8,128})(?:"|$)/

/**
 * The conversation that a coding agent names in words of its own, so that each of its turns finds the provider's cache of the one before.
 * @returns undefined where the request holds no such id.
 */
function agentSession(headers: IncomingHttpHeaders, { metadata }: JsonObject): string | undefined {
  for (const name of AGENT_HEADERS) {
    const id = headers[name]
    if (typeof id === 'string' && id !== '' && id.length <= MAX_SESSION_LENGTH) return id
  }
  const user = metadata !== undefined && isObject(metadata) ? asString(metadata.user_id) : undefined
  return user === undefined ? undefined : IN_USER.exec(user)?.[1]
}

/** Tools that a request may have that are more than functions of the caller's: each is set up, and some call a server of their own. */
const MAX_TOOLS = 128

/** True where a tool is more than a function, whose type the messages format may leave out. @throws Fault 400 for too many. */
function hasOtherTools(tools: readonly Json[]): boolean {
  let others = false
  let count = 0
  for (const tool of tools) {
    if (!isObject(tool) || tool.type === undefined || tool.type === 'function') continue
    others = true
    // The caller runs them as it runs functions.
    if (tool.type !== null && tool.type !== 'custom') count++
  }
  if (count > MAX_TOOLS) throw badField('tools', `expected at most ${MAX_TOOLS} tools that are no functions, found ${count}`)
  return others
}

/** The end of `"type"`, in which a part that is no text says so. A search begins with the first letter: quotes and t are frequent. */
const TYPE = 'ype"'

/** Words without which no part of a body is an image, sound, film or file; a hit only means a closer look. */
const MEDIA = ['image', 'audio', 'video', '"file', 'input_file', '"document', '"binary']

/** False where the text surely has no medium; letters written as escapes would hide the words. */
function mayHoldMedia(raw: string | Buffer): boolean {
  return (raw.includes(TYPE) && MEDIA.some((word) => raw.includes(word))) || (raw.includes('\\') && escapesLetters(raw))
}

const OPENED_TOO_LARGE = 'Request payload too large: with its compaction items opened it is longer than is accepted'

/**
 * Objects and arrays of one body: 250,000 of the smallest take 0.1 s to parse and to check, 2.7 million (8 MB) 0.9 s. A conversation
 * of 30,000 messages with several parts each stays below.
 */
const MAX_CONTAINERS = 250_000

/**
 * Members of all objects of one body, twice the objects: parts of messages and of tools have two or three. 500,000 distinct names
 * take 0.5 s to parse, 1.5 million (13 MB) several seconds.
 */
const MAX_MEMBERS = 500_000

/**
 * Members of one object. V8 keeps a large one as a dictionary, and copying and writing it take longer with every member: 16,384
 * take 0.05 s together, 250,000 2 s. No field of a request is meant for more; `logit_bias` has 4,096.
 */
const MAX_MEMBERS_OF_ONE = 16_384

/** Commas of one body, about its members and elements together. Embeddings send tokens as arrays; 4 million numbers take 0.1 s. */
const MAX_COMMAS = 4_000_000

/** Bytes of memory for each object or array beside the bytes of the text: 20 (arrays) to 170 (objects of one unusual name each). */
const CONTAINER_WEIGHT = 96
/** For each member: 11 (objects alike) to 75 (names of its own). What the text and the object weigh covers a few of each. */
const MEMBER_WEIGHT = 40
const COVERED_MEMBERS = 4

/** Below, the weight of the text covers them. */
const FEW_CONTAINERS = 1_000

/** Of the text that is being parsed: measuring and reading it are one step. */
const size = new SourceSize()
const most = { depth: 0, members: MAX_MEMBERS, commas: MAX_COMMAS }

/** Bytes of a body from which it goes on to the provider in pieces of its own. */
const LARGE = 8_192

/** @throws Fault 400 for a text that takes too long to parse. @returns bytes of memory for its objects and members. */
function weighed(raw: string | Buffer, { containers, members, commas }: JsonSize, depth: number): number {
  if (containers < 0) throw new Fault('bad_request', { message: `body: nested deeper than ${depth} levels` })
  if (containers > MAX_CONTAINERS) throw tooMuch(`at most ${MAX_CONTAINERS} objects and arrays`)
  if (members > MAX_MEMBERS) throw tooMuch(`at most ${MAX_MEMBERS} members of objects`)
  if (commas > MAX_COMMAS) throw tooMuch(`at most ${MAX_COMMAS} members and elements`)
  // Only where one may have as many: the text is walked a second time.
  if (members > MAX_MEMBERS_OF_ONE && membersExceed(raw.toString(), MAX_MEMBERS_OF_ONE))
    throw tooMuch(`at most ${MAX_MEMBERS_OF_ONE} members in each object`)
  const beyond = Math.max(0, members - COVERED_MEMBERS * Math.max(containers, FEW_CONTAINERS))
  return (containers > FEW_CONTAINERS ? containers * CONTAINER_WEIGHT : 0) + beyond * MEMBER_WEIGHT
}

function tooMuch(expected: string): Fault {
  return new Fault('bad_request', { message: `body: expected ${expected}` })
}

export function parseBody(bytes: Buffer, depth: number): JsonObject {
  return readJson(bytes, depth).body
}

/** @throws Fault 400 for a number such as 1e400, which parses to infinity and would be written as null (RFC 8259 section 6). */
function checkFinite(body: JsonObject): void {
  const path = pathOfLarger(body, Number.MAX_VALUE)
  if (path !== undefined) throw badField(path.slice(1, MAX_PATH_LENGTH), 'expected a number below 1.8e308')
}

/** Characters of a path in an error: its names are the caller's. */
const MAX_PATH_LENGTH = 200

export interface Parsed extends BodyText {
  body: JsonObject
  /** Bytes of memory for the body beside those of the text. */
  weight: number
  source: JsonSource | undefined
}

/** @throws Fault 400. */
function parsedWhole(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (problem) {
    const at = /position (\d+)/.exec(String(problem))
    throw new Fault('bad_request', { message: `body: expected valid JSON${at ? `, but it breaks at position ${at[1]}` : ''}` })
  }
}

/**
 * Checks and parses a body; its bytes are kept where they are many.
 * @param large bytes from which they are. @throws Fault 400; what stands in the body is never quoted.
 */
export function readJson(bytes: Buffer, depth: number, large = LARGE): Parsed {
  if (bytes.length === 0) throw new Fault('bad_request', { message: 'body: expected a JSON object, found nothing' })
  // Decoding would put three bytes in the place of one, which the hold has not counted. JSON is UTF-8 (RFC 8259 section 8.1).
  if (!isUtf8(bytes)) throw new Fault('bad_request', { message: 'body: expected valid UTF-8' })
  most.depth = depth
  const isLarge = bytes.length >= large
  let text = isLarge ? '' : bytes.toString()
  const raw = isLarge ? bytes : text
  const weight = weighed(raw, isLarge ? size.measureBytes(bytes, most) : size.measure(text, most), depth)
  const { mayOverflow } = size
  const reader = isLarge ? new JsonReader(bytes, size, large) : undefined
  let body: unknown = reader?.read()
  if (!body) {
    if (isLarge) text = bytes.toString()
    body = parsedWhole(text)
  }
  if (!isObject(body)) throw new Fault('bad_request', { message: 'body: expected a JSON object' })
  if (Object.hasOwn(body, '__proto__')) throw new Fault('bad_request', { message: 'body: a field may not be named __proto__' })
  if (mayOverflow) checkFinite(body)
  const characters = reader?.characters ?? text.length
  return { body, raw, characters, bytes: bytes.length, weight, source: isLarge ? JsonSource.of(bytes, body, size) : undefined }
}
