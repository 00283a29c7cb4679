/** Canonical items as the system prompt and the messages of this wire. */

import type { JsonObject } from '../../core/json.ts'
import { reasoningWords } from '../canon/reasoning-words.ts'
import type { Item } from '../canon/request.ts'
import { blockContent, encodeParts, marked, type Place, toolInput, type WriteContext } from './encode-blocks.ts'
import { FORMAT, messagesNative, WIRE } from './wire.ts'

type Message = Extract<Item, { kind: 'message' }>
type ReasoningItem = Extract<Item, { kind: 'reasoning' }>
type Role = 'system' | 'user' | 'assistant'

interface Turn {
  role: Role
  blocks: JsonObject[]
  /** Members of a message that only this wire knows. */
  native: JsonObject
  /** Ids of the calls made in it, in their order, and the blocks that answer them. */
  calls: string[]
  results: { call: string; block: JsonObject }[]
}

/** Opaque blocks that the caller sends; all others are the model's own. */
const USER_BLOCKS: ReadonlySet<string> = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'tool_result',
  'tool_addition',
  'tool_removal',
  'container_upload',
  'browser_state',
])

const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** True for a block that only the model writes before it says anything. */
export function isThinking(block: JsonObject | undefined): boolean {
  return THINKING.has(block?.type)
}

/** Identifiers of calls in the letters that the API allows; the same one always becomes the same. */
class CallIds {
  private readonly known = new Map<string, string>()
  private readonly taken = new Set<string>()
  /** Number of the last identifier with the same letters: many may differ in other letters alone. */
  private readonly last = new Map<string, number>()

  of(id: string): string {
    const known = this.known.get(id)
    if (known !== undefined) return known
    const base = id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call'
    let clean = base
    if (this.taken.has(base)) {
      let number = this.last.get(base) ?? 1
      do clean = `${base}_${++number}`
      while (this.taken.has(clean))
      this.last.set(base, number)
    }
    this.known.set(id, clean)
    this.taken.add(clean)
    return clean
  }
}

/** Instructions within the conversation: made a user message, kept where the API allows them, or left alone. */
export type SystemInside = 'never' | 'in place' | 'as sent'

export class TurnWriter {
  private readonly context: WriteContext
  private readonly systemInside: SystemInside
  private readonly ids = new CallIds()
  private readonly system: JsonObject[] = []
  private turns: Turn[] = []
  private readonly callers = new Map<string, Turn>()

  constructor(context: WriteContext, systemInside: SystemInside) {
    this.context = context
    this.systemInside = systemInside
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
        const id = this.ids.of(item.callId)
        const block: JsonObject = { type: 'tool_use', id, name: item.name, input: toolInput(item.args, this.context) }
        turn.blocks.push({ ...marked(block, item), ...messagesNative(item) })
        this.called(turn, id)
        return
      }
      case 'result':
        this.result(item)
        return
      case 'opaque':
        if (item.of.dialect !== WIRE) this.context.dropped.add(item.of.type)
        else this.opaque({ ...item.of.data, type: item.of.data.type ?? item.of.type })
    }
  }

  /** @returns `system`, absent where there is none, and `messages` in a legal order. */
  finish(): { system?: string | JsonObject[]; messages: JsonObject[] } {
    this.placeResults()
    this.dropEmpty()
    const last = this.turns.at(-1)
    if (last?.role === 'assistant') trimEnd(last.blocks)
    for (const turn of this.turns) if (turn.role === 'assistant') this.tidyThinking(turn.blocks)
    this.dropEmpty()
    if (this.systemInside !== 'as sent') this.foldSystem()
    // The API requires a first message with role `user`: instructions alone become one.
    if (this.turns.length === 0 && this.system.length > 0) {
      this.context.dropped.add('system.position')
      append(this.turn('user').blocks, this.system.splice(0))
    }
    const messages = this.turns.map((turn) => ({ role: turn.role, content: blockContent(turn.blocks), ...turn.native }))
    return this.system.length === 0 ? { messages } : { system: blockContent(this.system), messages }
  }

  private message(item: Message): void {
    if (item.name !== undefined) this.context.dropped.add('messages.name')
    if (item.phase !== undefined) this.context.dropped.add('messages.phase')
    const role: Role = item.role === 'developer' ? 'system' : item.role
    const native = messagesNative(item)
    const place: Place = role
    const blocks = encodeParts(item.parts, place, this.context)
    if (role === 'system' && this.turns.length === 0 && Object.keys(native).length === 0) {
      append(this.system, blocks)
      return
    }
    const turn = this.turn(role, Object.keys(native).length > 0)
    append(turn.blocks, blocks)
    Object.assign(turn.native, native)
  }

  private reasoning(item: ReasoningItem): void {
    const own = item.format === undefined ? this.context.sameWire : item.format === FORMAT
    if (own && item.encrypted !== undefined) this.turn('assistant').blocks.push({ type: 'redacted_thinking', data: item.encrypted })
    else if (own && item.signature)
      this.turn('assistant').blocks.push({
        type: 'thinking',
        thinking: item.text ?? '',
        signature: item.signature,
        ...messagesNative(item),
      })
    else {
      const words = this.context.takesUnsigned ? reasoningWords(item) : undefined
      if (words === undefined) this.context.dropped.add('reasoning')
      else this.turn('assistant').blocks.push({ type: 'thinking', thinking: words, signature: '' })
    }
  }

  private result(item: Extract<Item, { kind: 'result' }>): void {
    const id = this.ids.of(item.callId)
    const block: JsonObject = { type: 'tool_result', tool_use_id: id }
    const blocks = encodeParts(item.parts, 'result', this.context)
    if (blocks.length > 0) block.content = blockContent(blocks)
    if (item.error) block.is_error = true
    this.answer(id, { ...marked(block, item), ...messagesNative(item) })
  }

  private opaque(block: JsonObject): void {
    if (block.type === 'tool_result' && typeof block.tool_use_id === 'string') {
      const id = this.ids.of(block.tool_use_id)
      this.answer(id, { ...block, tool_use_id: id })
      return
    }
    const turn = this.turn(USER_BLOCKS.has(String(block.type)) ? 'user' : 'assistant')
    if (block.type === 'tool_use' && typeof block.id === 'string') {
      const id = this.ids.of(block.id)
      turn.blocks.push({ ...block, id })
      this.called(turn, id)
    } else turn.blocks.push(block)
  }

  private called(turn: Turn, id: string): void {
    turn.calls.push(id)
    this.callers.set(id, turn)
  }

  /** Results wait at the turn that called for them; one without a call stays where it is, for the provider to judge. */
  private answer(id: string, block: JsonObject): void {
    const caller = this.callers.get(id)
    if (caller) caller.results.push({ call: id, block })
    else this.turn('user').blocks.push(block)
  }

  /** The turn that is being written: the last one if it has the same role, since other wires need not alternate roles. */
  private turn(role: Role, apart = false): Turn {
    const last = this.turns.at(-1)
    if (last?.role === role && last.results.length === 0 && !apart && Object.keys(last.native).length === 0) return last
    const turn: Turn = { role, blocks: [], native: {}, calls: [], results: [] }
    this.turns.push(turn)
    return turn
  }

  /** The API wants the results of a turn's calls right behind it and in front of all else. */
  private placeResults(): void {
    const placed: Turn[] = []
    for (const [i, turn] of this.turns.entries()) {
      placed.push(turn)
      const { calls, results } = turn
      if (results.length === 0) continue
      const places = callPlaces(calls)
      results.sort((a, b) => (places.get(a.call) ?? 0) - (places.get(b.call) ?? 0))
      const blocks = results.map(({ block }) => block)
      const next = this.turns.at(i + 1)
      if (next?.role === 'user') next.blocks = [...blocks, ...next.blocks]
      else placed.push({ role: 'user', blocks, native: {}, calls: [], results: [] })
    }
    this.turns = placed
  }

  private dropEmpty(): void {
    this.turns = this.turns.filter((turn) => turn.blocks.length > 0 || Object.keys(turn.native).length > 0)
  }

  /** The API wants thinking first in a turn, and other blocks behind it; other wires need not keep to that. */
  private tidyThinking(blocks: JsonObject[]): void {
    if (!this.context.sameWire && !isThinking(blocks[0]) && blocks.some(isThinking)) {
      const words = blocks.filter((block) => !isThinking(block))
      for (const [i, block] of [...blocks.filter(isThinking), ...words].entries()) blocks[i] = block
    }
    while (isThinking(blocks.at(-1))) {
      blocks.pop()
      this.context.dropped.add('reasoning')
    }
  }

  /** The API takes instructions within the conversation only behind the user and in front of the model. */
  private staysSystem(before: Turn | undefined, next: Turn | undefined): boolean {
    const placed = before?.role === 'user' && (next === undefined || next.role === 'assistant')
    return placed && this.systemInside === 'in place'
  }

  /** Turns instructions within the conversation into marked text of the user, where the model takes them only in front of it. */
  private foldSystem(): void {
    const folded: Turn[] = []
    /** True where the user's next words belong to the turn before them. */
    let joins = false
    for (const [i, turn] of this.turns.entries()) {
      const before = folded.at(-1)
      if (turn.role === 'system' && !this.staysSystem(before, this.turns.at(i + 1))) {
        this.context.dropped.add('system.position')
        for (const block of turn.blocks) if (block.type === 'text') block.text = `<system>\n${block.text}\n</system>`
        if (before?.role === 'user') append(before.blocks, turn.blocks)
        else folded.push({ ...turn, role: 'user', native: {} })
        joins = true
        continue
      }
      if (joins && before && turn.role === 'user') append(before.blocks, turn.blocks)
      else folded.push(turn)
      joins = false
    }
    this.turns = folded
  }
}

/** In place; arguments of a function may not be as many as blocks of a turn. */
function append(to: JsonObject[], more: readonly JsonObject[]): void {
  for (const block of more) to.push(block)
}

/** The first place of each call: callers may send one twice. */
function callPlaces(calls: readonly string[]): Map<string, number> {
  const places = new Map<string, number>()
  for (const [place, call] of calls.entries()) if (!places.has(call)) places.set(call, place)
  return places
}

/** The API refuses a last turn of the model that is empty or ends in white space. */
function trimEnd(blocks: JsonObject[]): void {
  for (let last = blocks.at(-1); last !== undefined && last.type === 'text' && typeof last.text === 'string'; last = blocks.at(-1)) {
    const text = last.text.trimEnd()
    if (text !== '') {
      if (text !== last.text) blocks[blocks.length - 1] = { ...last, text }
      return
    }
    blocks.pop()
  }
}
