/**
 * Which output item an event belongs to. The format names it twice, by `output_index` and by the item's id, and servers leave out
 * either: llama.cpp sends ids alone (server-task.cpp of release b11549, `to_json_oaicompat_resp`), others draw a new id for each event.
 */
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { isPlace, mendCitations, mendPlaces } from '../canon/places.ts'

const ADDED = 'response.output_item.added'

/** Events that name a part of their item, by the member that holds its index. */
const PART_EVENTS = /^response\.(?:(?:output_text|refusal|reasoning_text|content_part)\.|reasoning_summary_(?:text|part)\.)/

export class ItemPlaces {
  private readonly byId = new Map<string, number>()
  /** Indexes that are in use. */
  private readonly taken = new Set<number>()
  /** Parts that have been added to an item, by its index. */
  private readonly parts = new Map<string, number>()
  private last: number | undefined

  /** @returns the index of the item that an event belongs to. An item's first event gives it one: its own, if no other item has it. */
  of(message: JsonObject): number {
    const { item_id: stated, item } = message
    const id = typeof stated === 'string' ? stated : item && isObject(item) ? asString(item.id) : undefined
    const known = id === undefined ? undefined : this.byId.get(id)
    if (known !== undefined) this.last = known
    else this.last = this.unknown(id, message)
    return this.last
  }

  private unknown(id: string | undefined, { type, output_index: given }: JsonObject): number {
    const index = isPlace(given) ? given : undefined
    const isFree = index !== undefined && !this.taken.has(index)
    if (index !== undefined && !isFree && type !== ADDED) return index
    if (index === undefined && id === undefined && type !== ADDED && this.last !== undefined) return this.last
    const place = isFree ? index : this.free()
    this.taken.add(place)
    if (id !== undefined && id !== '') this.byId.set(id, place)
    return place
  }

  private free(): number {
    let place = this.taken.size
    while (this.taken.has(place)) place++
    return place
  }

  /** Gives an event the numbers of its item and part where the server leaves them out, or writes none. */
  complete(type: string, message: JsonObject): void {
    if (message.item === undefined && message.item_id === undefined && message.output_index === undefined && message.part === undefined)
      return
    const index = this.of(message)
    message.output_index = index
    if (!PART_EVENTS.test(type)) return
    const member = type.startsWith('response.reasoning_summary_') ? 'summary_index' : 'content_index'
    if (isPlace(message[member])) return
    const key = `${member} ${index}`
    const next = this.parts.get(key) ?? 0
    if (type.endsWith('_part.added')) this.parts.set(key, next + 1)
    message[member] = type.endsWith('_part.added') ? next : Math.max(0, next - 1)
  }
}

/** Puts the offsets of an item's citations right, in place. */
export function mendItem(item: JsonObject): void {
  for (const part of asObjects(item.content)) mendCitations(part.annotations)
}

/** The same of all that an event holds, with the numbers that `ItemPlaces` gives nothing for. */
export function mendEvent(message: JsonObject): void {
  const { annotation, part, item } = message
  mendPlaces(message)
  if (isObject(annotation)) {
    message.annotation_index ??= 0
    mendPlaces(annotation)
  }
  if (isObject(part)) mendCitations(part.annotations)
  if (isObject(item)) mendItem(item)
}
