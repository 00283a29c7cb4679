/** Canonical items as the system prompt and the messages of a request. */
import { createHash } from 'node:crypto'
import { type Json, type JsonObject, objectWithin } from '../../core/json.ts'
import type { CacheMark, Item, Part } from '../canon/request.ts'
import type { Target } from '../types.ts'
import { isExtracted, MediaWriter } from './documents.ts'
import { CLAUDE_FORMAT, OWN_FORMAT, signsReasoning } from './wire.ts'

type Message = Extract<Item, { kind: 'message' }>
type ReasoningItem = Extract<Item, { kind: 'reasoning' }>
type Result = Extract<Item, { kind: 'result' }>
type Role = 'user' | 'assistant' | 'system'

interface Turn {
  readonly role: Role
  blocks: JsonObject[]
  /** Ids of the calls made in it, and the blocks that answer them. */
  readonly calls: string[]
  readonly results: { readonly call: string; readonly blocks: JsonObject[] }[]
}

export interface Conversation {
  readonly system: JsonObject[]
  readonly messages: JsonObject[]
}

/** `CachePointBlock`; five minutes are what it means without a lifetime. */
function cachePoint({ ttl }: CacheMark): JsonObject {
  return { cachePoint: ttl === '1h' ? { type: 'default', ttl } : { type: 'default' } }
}

/** Arguments are an object here; what is none is kept as text, which the tool refuses by its own check. */
function toolInput(args: string): JsonObject {
  const text = args.trim()
  return text === '' ? {} : (objectWithin(text) ?? { INVALID_JSON: text })
}

const isThought = (block: JsonObject | undefined): boolean => block?.reasoningContent !== undefined

/** `toolUseId`: 1 to 64 letters, digits and `_.:-` (API reference, ToolUseBlock; run-llama/llama_index pull 22775). */
const FREE_ID = /^[A-Za-z0-9_.:-]{1,64}$/

/** The same identifier always becomes the same, and different ones stay different. */
function callId(id: string): string {
  if (FREE_ID.test(id)) return id
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 12)
  return `${id.replaceAll(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 51)}_${digest}`
}

export class ConversationWriter {
  readonly dropped: Set<string>
  private readonly media: MediaWriter
  private readonly signs: boolean
  private readonly takesMarks: boolean
  private readonly system: JsonObject[] = []
  private readonly turns: Turn[] = []
  private readonly callers = new Map<string, Turn>()
  private readonly systemInside: boolean

  constructor(target: Target, dropped: Set<string>) {
    const { quirks, supported } = target
    this.dropped = dropped
    this.media = new MediaWriter(dropped, quirks.stored_files === true)
    this.signs = signsReasoning(quirks) && (supported === undefined || supported.has('reasoning') || supported.has('reasoning_effort'))
    this.takesMarks = quirks.body?.drop?.includes('cache_control') !== true
    this.systemInside = quirks.system_messages === true
  }

  write(item: Item): void {
    switch (item.kind) {
      case 'message':
        this.message(item)
        return
      case 'reasoning':
        this.reasoning(item)
        return
      case 'call': {
        const turn = this.turn('assistant')
        const id = callId(item.callId)
        turn.blocks.push({ toolUse: { toolUseId: id, name: item.name, input: toolInput(item.args) } }, ...this.mark(item.cache))
        turn.calls.push(id)
        this.callers.set(id, turn)
        return
      }
      case 'result':
        this.result(item)
        return
      case 'opaque':
        this.dropped.add(item.of.type)
    }
  }

  /** @returns system and messages in a legal order: roles alternate, and results stand right behind their calls. */
  finish(): Conversation {
    const placed = this.placed()
    for (const turn of placed) if (turn.role === 'assistant') this.tidyThoughts(turn)
    let kept = joined(placed.filter(({ blocks }) => blocks.some((block) => block.cachePoint === undefined)))
    if (kept.length === 0 && this.system.length > 0) {
      // A request needs messages.
      this.dropped.add('system.position')
      kept = [{ role: 'user', blocks: this.system.splice(0), calls: [], results: [] }]
    }
    for (const turn of kept) turn.blocks = withText(turn.blocks)
    const last = kept.at(-1)
    if (last?.role === 'assistant') trimEnd(last.blocks)
    return { system: this.system, messages: kept.map(({ role, blocks }) => ({ role, content: blocks })) }
  }

  private message(item: Message): void {
    if (item.name !== undefined) this.dropped.add('messages.name')
    if (item.phase !== undefined) this.dropped.add('messages.phase')
    const isInstruction = item.role === 'system' || item.role === 'developer'
    if (isInstruction && this.turns.length === 0) this.parts(item.parts, 'system', this.system)
    else if (!isInstruction) this.parts(item.parts, item.role as Role, this.turn(item.role as Role).blocks)
    else if (this.systemInside) this.parts(item.parts, 'system', this.turn('system').blocks)
    else this.instruction(item.parts)
  }

  /** Instructions within the conversation become marked text of the user. */
  private instruction(parts: readonly Part[]): void {
    this.dropped.add('system.position')
    const blocks: JsonObject[] = []
    this.parts(parts, 'system', blocks)
    for (const block of blocks) if (typeof block.text === 'string') block.text = `<system>\n${block.text}\n</system>`
    this.turn('user').blocks.push(...blocks)
  }

  private parts(parts: readonly Part[], place: Role | 'result', into: JsonObject[]): void {
    for (const part of parts) {
      const block = this.part(part, place)
      if (block) into.push(block)
      const cache = part.kind === 'text' || part.kind === 'media' ? part.cache : undefined
      if (cache) this.markLast(into, block, cache)
    }
  }

  /** No point may stand behind text that the service extracts from a document: there it stands in front of the document. */
  private markLast(into: JsonObject[], block: JsonObject | undefined, cache: CacheMark): void {
    const at = block !== undefined && isExtracted(block) ? into.length - 1 : into.length
    const before = into[at - 1]
    if (block === undefined || before === undefined || before.cachePoint !== undefined || isExtracted(before)) {
      this.dropped.add('cache_control')
      return
    }
    into.splice(at, 0, ...this.mark(cache))
  }

  private mark(cache: CacheMark | undefined): JsonObject[] {
    if (!cache) return []
    if (this.takesMarks) return [cachePoint(cache)]
    this.dropped.add('cache_control')
    return []
  }

  private part(part: Part, place: Role | 'result'): JsonObject | undefined {
    if (part.kind === 'opaque') {
      this.dropped.add(part.of.type)
      return undefined
    }
    if (part.kind !== 'media') {
      // "The text field in the ContentBlock object … is blank" (NousResearch/hermes-agent issue 55092); in results it may be.
      return part.text.trim() === '' && (place !== 'result' || part.text === '') ? undefined : { text: part.text }
    }
    if (place === 'user' || place === 'result') return this.media.block(part)
    this.dropped.add(place === 'system' ? `system.${part.media}` : `output_${part.media}`)
    return undefined
  }

  /** Only what Claude has signed, and what the service itself has encrypted, may come back (can1357/oh-my-pi pull 9086). */
  private reasoning({ format, signature, encrypted, text }: ReasoningItem): void {
    const { blocks } = this.turn('assistant')
    if (this.signs && format === CLAUDE_FORMAT && encrypted !== undefined)
      blocks.push({ reasoningContent: { redactedContent: Buffer.from(encrypted, 'utf8').toString('base64') } })
    else if (this.signs && format === CLAUDE_FORMAT && signature)
      blocks.push({ reasoningContent: { reasoningText: { text: text ?? '', signature } } })
    else if (!this.signs && format === OWN_FORMAT && encrypted !== undefined)
      blocks.push({ reasoningContent: { redactedContent: encrypted } })
    else this.dropped.add('reasoning')
  }

  private result(item: Result): void {
    const id = callId(item.callId)
    const content: JsonObject[] = []
    const parts = item.parts.map((part) => (part.kind === 'text' || part.kind === 'media' ? { ...part, cache: undefined } : part))
    this.parts(parts, 'result', content)
    const inner = item.parts.find((part) => (part.kind === 'text' || part.kind === 'media') && part.cache !== undefined)
    const cache = item.cache ?? (inner && 'cache' in inner ? inner.cache : undefined)
    const failed = item.error === true
    // An error must say something (aws-samples/sample-multi-agent-orchestration-chat-on-agentcore issue 15).
    if (failed && content.length === 0) content.push({ text: 'The tool failed.' })
    const block: JsonObject = { toolResult: { toolUseId: id, content, status: failed ? 'error' : 'success' } }
    const blocks = [block, ...this.mark(cache)]
    const caller = this.callers.get(id)
    if (caller) caller.results.push({ call: id, blocks })
    else this.turn('user').blocks.push(...blocks)
  }

  /** The turn that is being written: the last one if it has the same role and waits for no results. */
  private turn(role: Role): Turn {
    const last = this.turns.at(-1)
    if (last?.role === role && last.results.length === 0) return last
    const turn: Turn = { role, blocks: [], calls: [], results: [] }
    this.turns.push(turn)
    return turn
  }

  /** The results of a turn's calls stand in the order of the calls, in front of all else that the user says next. */
  private placed(): Turn[] {
    return this.turns.flatMap((turn) => {
      const { calls, results } = turn
      if (results.length === 0) return [turn]
      const places = new Map(calls.toReversed().map((call, index) => [call, calls.length - index]))
      const sorted = results.toSorted((a, b) => (places.get(a.call) ?? 0) - (places.get(b.call) ?? 0))
      return [turn, { role: 'user' as const, blocks: sorted.flatMap(({ blocks }) => blocks), calls: [], results: [] }]
    })
  }

  /** Thinking stands first in a turn, with words or calls behind it (NousResearch/hermes-agent issue 105780), and takes no cache point. */
  private tidyThoughts(turn: Turn): void {
    const thoughts = turn.blocks.filter(isThought)
    if (thoughts.length === 0) return
    const words = turn.blocks.filter((block) => !isThought(block))
    if (words.every(({ cachePoint: point }) => point !== undefined)) {
      this.dropped.add('reasoning')
      turn.blocks = []
    } else if (!isThought(turn.blocks[0]) || words[0]?.cachePoint !== undefined)
      turn.blocks = [...thoughts, ...words.slice(words.findIndex((block) => block.cachePoint === undefined))]
  }
}

/** Roles alternate (microsoft/semantic-kernel issue 10281). */
function joined(turns: readonly Turn[]): Turn[] {
  const all: Turn[] = []
  for (const turn of turns) {
    const last = all.at(-1)
    if (last?.role === turn.role) for (const block of turn.blocks) last.blocks.push(block)
    else all.push(turn)
  }
  return all
}

const nameIn = (document: Json | undefined): string =>
  typeof document === 'object' && document !== null && !Array.isArray(document) ? String(document.name) : ''

/** "A text block must be included when using documents" (maximhq/bifrost pull 5817). */
function withText(blocks: JsonObject[]): JsonObject[] {
  const at = blocks.findIndex(({ document }) => document !== undefined)
  if (at === -1 || blocks.some(({ text }) => text !== undefined)) return blocks
  return blocks.toSpliced(at, 0, { text: `${nameIn(blocks[at]?.document)}:` })
}

/** The last turn of the model must not end in white space. */
function trimEnd(blocks: JsonObject[]): void {
  const last = blocks.at(-1)
  if (typeof last?.text === 'string') blocks[blocks.length - 1] = { text: last.text.trimEnd() }
}
