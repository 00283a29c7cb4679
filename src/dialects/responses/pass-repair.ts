/**
 * The items of a passed stream, for the day it is cut: closes what is open and lists the output so far.
 * Frames are only kept on the way through; nothing is parsed unless the stream breaks.
 */
import { asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { frameObject } from '../../machines/sse/frames.ts'
import { isPlace } from '../canon/places.ts'
import type { ReplyContext } from '../types.ts'
import { isRunByCaller } from './finish-calls.ts'
import { ItemPlaces } from './item-places.ts'
import { eventFrame } from './wire.ts'

/** Bytes of frames that are kept for one stream; beyond them a cut reply shows finished items only. */
const MAX_KEPT = 4 * 1024 * 1024

interface OpenPart {
  /** The object that the part's text lies in: a part, or the item itself for a call. */
  part: JsonObject
  /** Member that grows. */
  field: string
  /** Name of the `.done` event of the text, and of the part, if it is one. */
  doneType: string
  partType: string | undefined
  place: JsonObject
}

interface OpenItem {
  item: JsonObject
  parts: Map<string, OpenPart>
}

/** Delta events: which member of the part they grow, and where the part lies in its item. */
const GROWTH: Readonly<Record<string, { field: string; list?: 'content' | 'summary'; index?: string; part?: string; type?: string }>> = {
  'response.output_text': { field: 'text', list: 'content', index: 'content_index', part: 'response.content_part', type: 'output_text' },
  'response.refusal': { field: 'refusal', list: 'content', index: 'content_index', part: 'response.content_part', type: 'refusal' },
  'response.reasoning_text': {
    field: 'text',
    list: 'content',
    index: 'content_index',
    part: 'response.content_part',
    type: 'reasoning_text',
  },
  'response.reasoning_summary_text': {
    field: 'text',
    list: 'summary',
    index: 'summary_index',
    part: 'response.reasoning_summary_part',
    type: 'summary_text',
  },
  'response.function_call_arguments': { field: 'arguments' },
  'response.custom_tool_call_input': { field: 'input' },
}

function parseFrames(kept: string[]): JsonObject[] {
  const messages: JsonObject[] = []
  for (const frame of kept.join('').split('\n\n')) {
    const message = frameObject(`${frame}\n\n`)
    if (message !== undefined) messages.push(message)
  }
  return messages
}

export class OpenItems {
  private kept: string[] = []
  /** Characters of what is kept of open items, and of all. */
  private openSize = 0
  private size = 0
  private open = 0
  private readonly finished: string[] = []
  private readonly names = new Map<Json | undefined, string>()
  private output: Json[] = []

  added(frame: string): void {
    this.open++
    if (!frame.includes('"function_call"')) return
    const message = frameObject(frame)
    if (isObject(message?.item) && typeof message.item.name === 'string') this.names.set(message.output_index, message.item.name)
  }

  /** Name of the function that the item at an output index calls. */
  nameAt(index: Json | undefined): string | undefined {
    return this.names.get(index)
  }

  get any(): boolean {
    return this.finished.length > 0
  }

  done(frame: string): void {
    this.open--
    this.finished.push(frame)
    this.size += frame.length
    if (this.open > 0) return
    this.size -= this.openSize
    this.openSize = 0
    this.kept = []
  }

  /** Frames that have just gone to the client; kept while an item is open. */
  keep(frames: string): void {
    if (this.open <= 0 || frames === '' || this.size > MAX_KEPT) return
    this.kept.push(frames)
    this.openSize += frames.length
    this.size += frames.length
  }

  /** Writes the `.done` events of what is open. After it `json` is complete. */
  close(ctx: ReplyContext, status: 'completed' | 'incomplete'): string {
    const output = new Map<number, JsonObject>()
    const places = new ItemPlaces()
    for (const message of parseFrames(this.finished)) if (isObject(message.item)) output.set(places.of(message), message.item)
    let out = ''
    if (this.size <= MAX_KEPT) {
      for (const [index, { item, parts }] of this.replay(output, places)) {
        item.status = status
        output.set(index, item)
        // A call that may be cut is not done (`isUnfinishedCall` says why).
        if (status === 'incomplete' && isRunByCaller(item.type)) continue
        for (const part of parts.values()) out += closePart(ctx, part, item, index)
        out += eventFrame(ctx, 'response.output_item.done', `,"output_index":${index},"item":${JSON.stringify(item)}`)
      }
    }
    this.output = [...output].sort(([a], [b]) => a - b).map(([, item]) => item)
    return out
  }

  json(): string {
    return JSON.stringify(this.output)
  }

  /** The open items as the kept frames built them. */
  private replay(finished: ReadonlyMap<number, JsonObject>, places: ItemPlaces): Map<number, OpenItem> {
    const items = new Map<number, OpenItem>()
    for (const message of parseFrames(this.kept)) {
      const index = places.of(message)
      if (finished.has(index)) continue
      const type = String(message.type)
      const open = items.get(index)
      if (type === 'response.output_item.added' && isObject(message.item)) items.set(index, { item: message.item, parts: new Map() })
      else if (open) grow(open, type, message)
    }
    return items
  }
}

function grow(open: OpenItem, type: string, message: JsonObject): void {
  const dot = type.lastIndexOf('.')
  const base = type.slice(0, dot)
  const verb = type.slice(dot + 1)
  const part = message.part
  if (verb === 'added' && isObject(part)) {
    const list = base === 'response.reasoning_summary_part' ? 'summary' : 'content'
    openPart(open, list, partIndex(message.summary_index ?? message.content_index), part)
    return
  }
  if (type === 'response.output_text.annotation.added') {
    const target = open.parts.get(`content${message.content_index ?? 0}`)
    if (target)
      target.part.annotations = [...(Array.isArray(target.part.annotations) ? target.part.annotations : []), message.annotation ?? null]
    return
  }
  const growth = GROWTH[base]
  if (growth === undefined) {
    if (verb === 'done' && isObject(part))
      open.parts.delete(`${base.includes('summary') ? 'summary' : 'content'}${message.summary_index ?? message.content_index ?? 0}`)
    return
  }
  const index = growth.index === undefined ? 0 : partIndex(message[growth.index])
  const key = `${growth.list ?? 'call'}${index}`
  if (growth.list === undefined && !open.parts.has(key))
    open.parts.set(key, { part: open.item, field: growth.field, doneType: `${base}.done`, partType: undefined, place: {} })
  if (growth.list !== undefined && !open.parts.has(key) && verb === 'delta')
    openPart(open, growth.list, index, { type: growth.type ?? '', [growth.field]: '' })
  const target = open.parts.get(key)
  if (target === undefined) return
  if (verb === 'delta') target.part[target.field] = (asString(target.part[target.field]) ?? '') + (asString(message.delta) ?? '')
  else {
    target.part[target.field] = message[target.field] ?? target.part[target.field]
    target.doneType = ''
    if (growth.list === undefined) open.parts.delete(key)
  }
}

/** Of a part that has no number the first place: what is written into JSON is a number. */
function partIndex(value: Json | undefined): number {
  return isPlace(value) ? value : 0
}

function openPart(open: OpenItem, list: 'content' | 'summary', index: number, part: JsonObject): void {
  const all = Array.isArray(open.item[list]) ? open.item[list] : []
  all[index] = part
  open.item[list] = all
  const [base, growth] = Object.entries(GROWTH).find(([, each]) => each.type === part.type) ?? []
  if (base === undefined || growth === undefined) return
  const place: JsonObject = { [list === 'summary' ? 'summary_index' : 'content_index']: index }
  open.parts.set(`${list}${index}`, { part, field: growth.field, doneType: `${base}.done`, partType: growth.part, place })
}

/** The `.done` events of a part that the upstream left open. */
function closePart(ctx: ReplyContext, open: OpenPart, item: JsonObject, index: number): string {
  const place = `,"item_id":${JSON.stringify(item.id ?? '')},"output_index":${index}${members(open.place)}`
  let out = ''
  if (open.doneType !== '') {
    const whole: JsonObject = { [open.field]: open.part[open.field] ?? '' }
    if (open.doneType === 'response.output_text.done') whole.logprobs = open.part.logprobs ?? []
    if (open.field === 'arguments') whole.name = item.name ?? ''
    out = eventFrame(ctx, open.doneType, place + members(whole))
  }
  return open.partType === undefined ? out : out + eventFrame(ctx, `${open.partType}.done`, place + members({ part: open.part }))
}

/** Members of an object as JSON text, each behind a comma. */
function members(fields: JsonObject): string {
  const text = JSON.stringify(fields).slice(1, -1)
  return text === '' ? '' : `,${text}`
}
