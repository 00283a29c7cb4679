/** Which call a fragment belongs to, whatever habit its provider has; used by the decoder and the pass lane alike. */
import { randomTag } from '../../core/ids.ts'
import { isObject, type JsonObject } from '../../core/json.ts'

export interface CallSlot {
  /** Position among the calls of this reply, from 0, in order of appearance. */
  readonly index: number
  id: string
  name: string
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Fragments may lack an index, repeat their id each time, reuse an index for another call, or come whole.
 * The first fragment of a call makes its slot; a call without an id gets one.
 */
export class ToolCalls {
  readonly slots: CallSlot[] = []
  private readonly byIndex = new Map<number, CallSlot>()

  /** The slot of a fragment; `fresh` is true for the first one of its call. */
  resolve(fragment: JsonObject): { slot: CallSlot; fresh: boolean } {
    const id = text(fragment.id)
    const name = isObject(fragment.function) ? text(fragment.function.name) : ''
    const known = this.find(fragment.index, id, name)
    if (known) {
      if (known.name === '') known.name = name
      return { slot: known, fresh: false }
    }
    const slot: CallSlot = { index: this.slots.length, id: id || `call_${randomTag()}`, name }
    this.slots.push(slot)
    if (typeof fragment.index === 'number') this.byIndex.set(fragment.index, slot)
    return { slot, fresh: true }
  }

  private find(index: unknown, id: string, name: string): CallSlot | undefined {
    if (typeof index === 'number') {
      const slot = this.byIndex.get(index)
      return slot && id !== '' && id !== slot.id && name !== '' && slot.name !== '' ? undefined : slot
    }
    if (id !== '') return this.slots.find((slot) => slot.id === id)
    return name === '' ? this.slots.at(-1) : undefined
  }
}
