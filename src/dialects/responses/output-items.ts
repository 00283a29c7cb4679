/**
 * The output of a reply while it grows: owns the items, their identifiers and their snapshots.
 * Which block joins which item depends on the order of block starts alone, so a stream and a whole reply agree.
 */

import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isBroken } from '../canon/call-arguments.ts'
import type { BlockKind, Called, NoteKind } from '../canon/events.ts'
import { InputText } from '../canon/input-text.ts'
import { wrapReasoning } from '../canon/wrapped-reasoning.ts'
import type { ReplyContext } from '../types.ts'
import { type CallType, callItem, callType } from './encode-calls.ts'
import { isRunByCaller } from './finish-calls.ts'
import { ENCRYPTED } from './fit-request.ts'
import { isOwnFormat } from './foreign-reasoning.ts'
import { type NewBlock, outcomeItem, shownAnnotation, wholeItem } from './output-item-forms.ts'
import { WIRE } from './wire.ts'

export interface Part {
  readonly item: OutputItem
  /** As the wire shows it. */
  readonly kind: BlockKind
  /** True for the model's own thoughts, which a caller that requests a summary is shown as one. */
  readonly raw: boolean
  /** `content_index` or `summary_index`; the arguments of a call have none. */
  index: number
  text: string
  /** Reads the free text of a custom tool out of its arguments. */
  readonly input: InputText | undefined
  readonly annotations: JsonObject[]
  readonly logprobs: JsonObject[]
  /** True once the events that open the part have been written. */
  begun: boolean
  ended: boolean
  /** JSON text between `sequence_number` and the delta's own text. */
  head: string
}

export interface OutputItem {
  readonly index: number
  readonly id: string
  readonly type: 'message' | 'reasoning' | CallType | 'whole'
  /** The canon's key of the item, where the blocks carry one. */
  readonly key: string | undefined
  readonly parts: Part[]
  readonly call: Called | undefined
  /** Of a function call: what a provider of this wire sent beside what the canon names. */
  readonly members: JsonObject | undefined
  whole: JsonObject | undefined
  /** Of a message. */
  readonly phase: string | undefined
  signature: string | undefined
  encrypted: string | undefined
  /** The identifier that the encrypted content belongs to, where it is not the item's own. */
  encryptedId: string | undefined
  format: string | undefined
  /** True where the caller requested encrypted content. */
  readonly showsEncrypted: boolean
  /** Blocks of the item that have not ended. */
  open: number
  closed: boolean
  /** The final snapshot as JSON text, once the item is closed. */
  json: string
}

type ItemType = OutputItem['type']

function blockItemType({ kind, call }: NewBlock): ItemType {
  if (kind === 'text' || kind === 'refusal') return 'message'
  if (kind === 'reasoning' || kind === 'summary') return 'reasoning'
  return kind === 'call' ? callType(call) : 'whole'
}

const PREFIX: Readonly<Record<ItemType, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  tool_search_call: 'tsc',
  local_shell_call: 'lsh',
  whole: 'item',
}

/** Every key that strict clients demand of an entry. */
function logprobEntry(entry: JsonObject): JsonObject {
  const best = asObjects(entry.top_logprobs).map((each) => ({ ...each, bytes: each.bytes ?? [] }))
  return { ...entry, bytes: entry.bytes ?? [], top_logprobs: best }
}

export function encodeLogprobs(data: JsonObject): JsonObject[] {
  return asObjects(data.content ?? data.logprobs).map(logprobEntry)
}

/** The finished or growing part as the wire shows it. */
export function partSnapshot(part: Part): JsonObject {
  switch (part.kind) {
    case 'text':
      return { type: 'output_text', text: part.text, annotations: part.annotations, logprobs: part.logprobs }
    case 'refusal':
      return { type: 'refusal', refusal: part.text }
    case 'reasoning':
      return { type: 'reasoning_text', text: part.text }
    default:
      return { type: 'summary_text', text: part.text }
  }
}

/** Many clients show summaries alone and request them; a provider of another wire has nothing but the thoughts. */
function asksForSummary(body: JsonObject): boolean {
  return isObject(body.reasoning) && typeof body.reasoning.summary === 'string'
}

/**
 * The encrypted content as it came where this wire's family made it, else all that its own family needs to take it back. Clients that
 * request encrypted content may refuse to send back a call whose reasoning has none (agent-framework-openai 1.17.0,
 * `_validate_reasoning_groups_for_stateless_replay`), so the open thoughts of other families get an envelope as well.
 */
function encryptedContent(item: OutputItem, thoughts: readonly Part[]): string | undefined {
  const { encrypted, signature } = item
  if (item.format !== undefined && isOwnFormat(item.format)) return item.showsEncrypted ? encrypted : undefined
  if (encrypted === undefined && signature === undefined && (thoughts.length === 0 || !item.showsEncrypted)) return undefined
  return wrapReasoning({
    format: item.format ?? 'unknown',
    ...(encrypted === undefined ? {} : { encrypted }),
    ...(signature === undefined ? {} : { signature }),
    ...(item.encryptedId === undefined ? {} : { id: item.encryptedId }),
    ...(thoughts.length === 0 ? {} : { text: thoughts.map((part) => part.text).join('') }),
  })
}

function reasoningSnapshot(item: OutputItem, status: string): JsonObject {
  const begun = item.parts.filter((part) => part.begun)
  const thoughts = begun.filter((part) => part.raw)
  const content = thoughts.filter((part) => part.kind === 'reasoning')
  const snapshot: JsonObject = {
    id: item.id,
    type: 'reasoning',
    status,
    summary: begun.filter((part) => part.kind === 'summary').map(partSnapshot),
  }
  if (content.length > 0) snapshot.content = content.map(partSnapshot)
  const encrypted = status === 'in_progress' ? undefined : encryptedContent(item, thoughts)
  if (encrypted !== undefined) snapshot.encrypted_content = encrypted
  if (item.signature !== undefined) snapshot.signature = item.signature
  if (item.format !== undefined) snapshot.format = item.format
  return snapshot
}

export function itemSnapshot(item: OutputItem, status: 'in_progress' | 'completed' | 'incomplete'): JsonObject {
  switch (item.type) {
    case 'message':
      return {
        id: item.id,
        type: 'message',
        status,
        role: 'assistant',
        content: item.parts.filter((part) => part.begun).map(partSnapshot),
        ...(item.phase === undefined ? {} : { phase: item.phase }),
      }
    case 'reasoning':
      return reasoningSnapshot(item, status)
    case 'whole':
      return { ...item.whole, ...(status === 'in_progress' && item.whole?.status !== undefined ? { status } : {}) }
    default:
      return { ...callItem(item.call, item.parts[0]?.text ?? '', { id: item.id, status }), ...item.members }
  }
}

const hasBrokenArguments = ({ type, parts }: OutputItem): boolean => type === 'function_call' && isBroken(parts[0]?.text ?? '')

/**
 * True for a call that may be cut: its events of the end are left out, since clients run a call when its item is done, whatever its
 * status (Codex 0.169, test/agents/failures.ts), and half of a custom tool's free text is as good as all of it.
 */
export function isUnfinishedCall(item: OutputItem, status: 'completed' | 'incomplete'): boolean {
  if (item.type === 'whole' || !isRunByCaller(item.type)) return false
  return status === 'incomplete' || hasBrokenArguments(item)
}

/** Without a key two pieces of raw reasoning are not known to be one; each may have encrypted content of its own. */
function mayGrow(item: OutputItem): boolean {
  if (item.type === 'message') return true
  return item.type === 'reasoning' && (item.key !== undefined || !item.parts.some((part) => part.raw))
}

export class OutputItems {
  readonly all: OutputItem[] = []
  private readonly ctx: ReplyContext
  private readonly wantsEncrypted: boolean
  private readonly summaries: boolean

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
    this.summaries = asksForSummary(ctx.body)
    this.wantsEncrypted = Array.isArray(ctx.body.include) && ctx.body.include.includes(ENCRYPTED)
  }

  /**
   * Places a block in the output: with the last item where they belong together, else in a new one.
   * @returns undefined where this wire has no form for the block.
   */
  start(block: NewBlock): Part | undefined {
    const type = blockItemType(block)
    const whole = type === 'whole' ? wholeItem(block) : undefined
    if (type === 'whole' && whole === undefined) return undefined
    const last = this.all.at(-1)
    const joins = last !== undefined && last.type === type && last.key === block.item && mayGrow(last)
    const item = joins ? last : this.add(type, block, whole)
    const index = type === 'reasoning' ? -1 : item.parts.length
    const raw = block.kind === 'reasoning'
    const kind = raw && this.summaries ? 'summary' : block.kind
    const input = type === 'custom_tool_call' ? new InputText() : undefined
    const part: Part = { item, kind, raw, index, text: '', input, annotations: [], logprobs: [], begun: false, ended: false, head: '' }
    item.parts.push(part)
    item.open++
    // A reasoning block may hold nothing but encrypted content: its part begins with its first text.
    if (!raw) this.begin(part)
    return part
  }

  /** Gives the part its place within the item. */
  begin(part: Part): void {
    const { item } = part
    part.begun = true
    if (item.type === 'reasoning') {
      part.index = 0
      for (const other of item.parts) if (other !== part && other.kind === part.kind && other.begun) part.index++
    }
  }

  note(part: Part, note: NoteKind, data: JsonObject): void {
    const { item } = part
    if (typeof data.format === 'string' && item.type === 'reasoning') item.format = data.format
    if (note === 'annotation') {
      const annotation = shownAnnotation(data)
      if (annotation !== undefined) part.annotations.push(annotation)
    } else if (note === 'outcome') item.whole = { ...outcomeItem(item.whole, data), id: item.id }
    else if (note === 'logprobs') part.logprobs.push(...encodeLogprobs(data))
    else if (note === 'signature') item.signature = asString(data.signature)
    else if (note === 'encrypted') {
      item.encrypted = asString(data.data)
      item.encryptedId = asString(data.id) ?? item.encryptedId
    }
  }

  close(item: OutputItem, status: 'completed' | 'incomplete'): void {
    item.closed = true
    item.json = JSON.stringify(itemSnapshot(item, hasBrokenArguments(item) ? 'incomplete' : status))
  }

  /** The output array as JSON text; every item must be closed. */
  json(): string {
    return `[${this.all.map((item) => item.json).join(',')}]`
  }

  private add(type: ItemType, block: NewBlock, whole: JsonObject | undefined): OutputItem {
    const index = this.all.length
    const id = this.itemId(type, block, whole, index)
    const item: OutputItem = {
      index,
      id,
      type,
      key: block.item,
      parts: [],
      call: block.call,
      members: block.of?.dialect === WIRE && type === 'function_call' ? block.of.data : undefined,
      whole: whole && { ...whole, id },
      phase: block.of?.dialect === WIRE && type === 'message' ? asString(block.of.data.phase) : undefined,
      signature: undefined,
      encrypted: undefined,
      encryptedId: block.item,
      format: undefined,
      showsEncrypted: this.wantsEncrypted,
      open: 0,
      closed: false,
      json: '',
    }
    this.all.push(item)
    return item
  }

  private itemId(type: ItemType, block: NewBlock, whole: JsonObject | undefined, index: number): string {
    const given: Json | undefined = whole?.id
    if (typeof given === 'string') return given
    // Encrypted reasoning is bound to the identifier that its provider gave it.
    if (type === 'reasoning' && block.item?.startsWith('rs_')) return block.item
    return `${PREFIX[type]}_${this.ctx.id.replace(/^gen-/, '')}_${index}`
  }
}
