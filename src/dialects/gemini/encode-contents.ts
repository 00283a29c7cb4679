/** Canonical items as the system instruction and the contents of a request. */
import { isObject, type JsonObject, objectWithin } from '../../core/json.ts'
import { parseDataUrl } from '../canon/file-url.ts'
import type { Item, Part } from '../canon/request.ts'
import type { Quirks } from '../quirks.ts'
import { audioType, mimeTypeByName } from './mime-types.ts'
import { holdsPart, partOfText } from './provider-tool-parts.ts'
import { ENCRYPTED_FORMAT, WIRE } from './wire.ts'

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>
type CallItem = Extract<Item, { kind: 'call' }>
type ResultItem = Extract<Item, { kind: 'result' }>
type MessageItem = Extract<Item, { kind: 'message' }>

export interface Content {
  role: 'user' | 'model'
  parts: JsonObject[]
}

/**
 * Documented for calls that no model of this family made: it stands in for the signature that the provider requires. Both services of
 * Google know this one (ai.google.dev/gemini-api/docs/thought-signatures, FAQs; docs.cloud.google.com/vertex-ai, "Thought signatures").
 */
const UNSIGNED = 'skip_thought_signature_validator'

/** Types that a result itself may hold at Gemini 3 (ai.google.dev/gemini-api/docs/function-calling, "Multimodal function responses"). */
const IN_RESULTS: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/webp', 'application/pdf', 'text/plain'])

/** Deeper or larger arguments and results stay text. */
function parsedObject(text: string): JsonObject | undefined {
  return text.trimStart().startsWith('{') ? objectWithin(text) : undefined
}

/** Arguments must be an object here; what is none is kept as text. */
function callArguments(text: string): JsonObject {
  if (text.trim() === '') return {}
  return parsedObject(text) ?? { arguments: text }
}

function toolResponse(text: string, failed: boolean): JsonObject {
  const value = parsedObject(text)
  if (!failed) return value ?? { output: text }
  if (value?.error !== undefined) return value
  return { error: value ?? text }
}

/** The signature of an item that this family encrypted. */
function thoughtSignature(item: ReasoningItem): string | undefined {
  return item.format === ENCRYPTED_FORMAT ? (item.encrypted ?? item.signature) : undefined
}

/** The conversation as a provider with these quirks takes it; `dropped` receives the names of what this wire cannot say. */
export function encodeContents(
  items: readonly Item[],
  quirks: Quirks,
  dropped: Set<string>,
): { contents: Content[]; system: JsonObject[] } {
  const writer = new ContentWriter(items, quirks.thinking === 'level', dropped)
  if (quirks.thinking === 'level') signCalls(writer.contents)
  if (quirks.call_ids === false) removeCallIds(writer.contents)
  return writer
}

/** Gives the first call of each step that has no signature the one that skips the check. */
function signCalls(contents: readonly Content[]): void {
  for (const { role, parts } of contents) {
    const first = role === 'model' ? parts.find((part) => part.functionCall !== undefined) : undefined
    if (first) first.thoughtSignature ??= UNSIGNED
  }
}

const isResult = (part: JsonObject): boolean => part.functionResponse !== undefined

/** For providers that match calls and results by their order alone: results get the order of their calls. */
function removeCallIds(contents: readonly Content[]): void {
  let order: unknown[] = []
  for (const { role, parts } of contents) {
    const place = ({ functionResponse }: JsonObject): number => order.indexOf(isObject(functionResponse) ? functionResponse.id : undefined)
    if (role === 'user') {
      const results = parts.filter(isResult).sort((a, b) => place(a) - place(b))
      for (const [index, part] of parts.entries()) if (isResult(part)) parts[index] = results.shift() ?? part
    } else order = parts.flatMap(({ functionCall }) => (isObject(functionCall) ? [functionCall.id] : []))
  }
  for (const { parts } of contents)
    for (const { functionCall, functionResponse } of parts)
      for (const member of [functionCall, functionResponse]) if (isObject(member)) delete member.id
}

/** Writes items in their order; `dropped` collects what this wire cannot say. */
class ContentWriter {
  readonly system: JsonObject[] = []
  readonly contents: Content[] = []
  readonly dropped: Set<string>
  /** Names of called functions by call id: a result names its function again. */
  private readonly names = new Map<string, string>()
  /** Signatures by the id of the call that they belong to. */
  private readonly signatures = new Map<string, string>()
  /** A signature that waits for the part behind it. */
  private pending: string | undefined
  private begun = false
  /** True where results may hold media. */
  private readonly nests: boolean

  constructor(items: readonly Item[], nests: boolean, dropped: Set<string>) {
    this.nests = nests
    this.dropped = dropped
    for (const item of items) if (item.kind === 'call') this.names.set(item.callId, item.name)
    for (const item of items) {
      if (item.kind !== 'reasoning' || item.id === undefined || !this.names.has(item.id)) continue
      const signature = thoughtSignature(item)
      if (signature !== undefined) this.signatures.set(item.id, signature)
    }
    for (const item of items) this.write(item)
    this.settle()
    if (this.contents.length === 0 && this.system.length > 0) this.speakAsUser()
  }

  private write(item: Item): void {
    const leads = item.kind === 'message' && (item.role === 'system' || item.role === 'developer')
    if (!leads) this.begun = true
    switch (item.kind) {
      case 'message':
        this.message(item)
        return
      case 'reasoning':
        this.reasoning(item)
        return
      case 'call':
        this.call(item)
        return
      case 'result':
        this.result(item)
        return
      case 'opaque':
        if (item.of.dialect === WIRE) this.push('model', { ...item.of.data })
        else this.dropped.add(item.of.type)
    }
  }

  private message(item: MessageItem): void {
    if (item.name !== undefined) this.dropped.add('messages.name')
    if (item.phase !== undefined) this.dropped.add('messages.phase')
    if (item.role === 'system' || item.role === 'developer') this.instruction(item)
    else for (const part of item.parts) this.part(item.role === 'assistant' ? 'model' : 'user', part)
  }

  /** Instructions have one place; later ones become text of the user. */
  private instruction(item: MessageItem): void {
    if (this.begun) this.dropped.add('system.position')
    for (const part of item.parts) {
      if (this.begun) this.part('user', part)
      else if (part.kind === 'text' || part.kind === 'refusal') {
        if (part.kind === 'text' && part.cache) this.dropped.add('cache_control')
        if (part.text !== '') this.system.push({ text: part.text })
      } else this.dropped.add(part.kind === 'media' ? `system.${part.media}` : part.of.type)
    }
  }

  private part(role: Content['role'], part: Part): void {
    const encoded = this.encoded(part)
    if (encoded) this.push(role, encoded)
  }

  private encoded(part: Part): JsonObject | undefined {
    if (part.kind === 'opaque') {
      if (part.of.dialect === WIRE) return { ...part.of.data }
      this.dropped.add(part.of.type)
      return undefined
    }
    if (part.kind !== 'refusal' && part.cache) this.dropped.add('cache_control')
    if (part.kind === 'media') return encodeMedia(part, this.dropped)
    // Providers refuse empty parts.
    return part.text === '' ? undefined : { text: part.text }
  }

  /** Thoughts go back to the family that had them, signatures to the part that they came with. */
  private reasoning(item: ReasoningItem): void {
    if (item.format !== ENCRYPTED_FORMAT) {
      this.dropped.add('reasoning')
      return
    }
    for (const text of [...(item.summary ?? []), item.text ?? '']) if (text !== '') this.push('model', { text, thought: true })
    const signature = thoughtSignature(item)
    if (signature === undefined || (item.id !== undefined && this.signatures.has(item.id))) return
    if (holdsPart(signature)) {
      const part = partOfText(signature)
      if (part) this.push('model', part)
      else this.dropped.add('reasoning')
      return
    }
    this.settle()
    this.pending = signature
  }

  private call(item: CallItem): void {
    if (item.cache) this.dropped.add('cache_control')
    const part: JsonObject = { functionCall: { id: item.callId, name: item.name, args: callArguments(item.args) } }
    const signature = this.signatures.get(item.callId)
    if (signature !== undefined) part.thoughtSignature = signature
    this.push('model', part)
  }

  private result(item: ResultItem): void {
    if (item.cache) this.dropped.add('cache_control')
    const texts: string[] = []
    const within: JsonObject[] = []
    const beside: JsonObject[] = []
    for (const part of item.parts) {
      const encoded = this.encoded(part)
      if (typeof encoded?.text === 'string') texts.push(encoded.text)
      else if (encoded) (this.nests && mayNest(encoded) ? within : beside).push(encoded)
    }
    const name = this.names.get(item.callId) ?? item.callId
    const response = toolResponse(texts.join('\n'), item.error === true)
    const parts = within.length > 0 ? { parts: within } : {}
    this.pushResult({ functionResponse: { id: item.callId, name, response, ...parts } })
    for (const part of beside) this.push('user', part)
  }

  /** Results of one turn stand together, in front of what came with them: a model counts them. */
  private pushResult(part: JsonObject): void {
    const last = this.contents.at(-1)
    const at = last?.role === 'user' ? last.parts.findLastIndex(isResult) : -1
    if (at === -1 || last === undefined) this.push('user', part)
    else last.parts.splice(at + 1, 0, part)
  }

  private push(role: Content['role'], part: JsonObject): void {
    if (role === 'user') this.settle()
    else if (this.pending !== undefined && part.thoughtSignature !== undefined) this.settle()
    else if (this.pending !== undefined && part.thought !== true) {
      part.thoughtSignature = this.pending
      this.pending = undefined
    }
    const last = this.contents.at(-1)
    if (last?.role === role) last.parts.push(part)
    else this.contents.push({ role, parts: [part] })
  }

  /** A signature without a part behind it belongs to the text before it, or stands alone as the provider itself has it. */
  private settle(): void {
    const { pending } = this
    if (pending === undefined) return
    this.pending = undefined
    const last = this.contents.at(-1)
    const before = last?.role === 'model' ? last.parts.at(-1) : undefined
    if (typeof before?.text === 'string' && before.thought !== true && before.thoughtSignature === undefined)
      before.thoughtSignature = pending
    else this.push('model', { text: '', thoughtSignature: pending })
  }

  /** The API requires contents, so instructions alone become text of the user. */
  private speakAsUser(): void {
    this.dropped.add('system.position')
    this.contents.push({ role: 'user', parts: this.system.splice(0) })
  }
}

function mayNest({ inlineData, fileData }: JsonObject): boolean {
  const data = inlineData ?? fileData
  return isObject(data) && IN_RESULTS.has(data.mimeType)
}

type Media = Extract<Part, { kind: 'media' }>

function fromUrl(part: Media, url: string, dropped: Set<string>): JsonObject {
  const inline = parseDataUrl(url)
  const byName = part.name === undefined ? undefined : mimeTypeByName(part.name)
  if (inline) {
    const known = inline.type !== '' && inline.type !== 'application/octet-stream'
    return { inlineData: { mimeType: known ? inline.type : (byName ?? (inline.type || 'text/plain')), data: inline.data } }
  }
  const mimeType = mimeTypeByName(url) ?? byName
  if (mimeType !== undefined) return { fileData: { fileUri: url, mimeType } }
  // The provider finds out by itself, or refuses.
  dropped.add(`input_${part.media}.mime_type`)
  return { fileData: { fileUri: url } }
}

function fromData(part: Media, data: string): JsonObject | undefined {
  if (part.media === 'audio') return { inlineData: { mimeType: audioType(part.format ?? 'wav'), data } }
  if (part.format === 'text') return { text: data }
  const named = part.name === undefined ? undefined : mimeTypeByName(part.name)
  const mimeType = named ?? (part.format === undefined ? undefined : mimeTypeByName(`.${part.format}`))
  return mimeType === undefined ? undefined : { inlineData: { mimeType, data } }
}

/**
 * Media of a request as parts of the wire: bytes inline, addresses as file data.
 * @param dropped receives the names of what this wire cannot say.
 * @returns undefined where this wire cannot express the part.
 */
function encodeMedia(part: Media, dropped: Set<string>): JsonObject | undefined {
  const name = `input_${part.media}`
  if (part.detail !== undefined && part.detail !== 'auto') dropped.add(`${name}.detail`)
  if (part.name !== undefined) dropped.add(`${name}.filename`)
  if (part.url !== undefined) return fromUrl(part, part.url, dropped)
  if (part.data !== undefined) {
    const encoded = fromData(part, part.data)
    if (!encoded) dropped.add(`${name}.data`)
    return encoded
  }
  dropped.add(part.fileId === undefined ? name : `${name}.file_id`)
  return undefined
}
