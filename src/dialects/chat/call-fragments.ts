/** Joins fragments of `tool_calls` to calls: the call that each belongs to, its id, and the arguments that have come. */
import { randomTag } from '../../core/ids.ts'
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { alone, endOfString, frameData, utf8 } from '../../machines/sse/frames.ts'
import { argumentsText, isBroken, isWholeObject } from '../canon/call-arguments.ts'

export class CallSlot {
  /** Position among the calls of this reply, from 0, in order of appearance. */
  readonly index: number
  /** As callers see it: no two calls have the same. */
  readonly id: string
  /** As the provider sent it, '' where it sent none. */
  readonly given: string
  name: string
  /** False for a call of another kind than a function. */
  readonly isFunction: boolean
  /** Text that unread frames have brought since: the inside of a JSON text, one character per byte. */
  raw = ''
  private text = ''

  constructor({ index, id, given, name, isFunction }: Pick<CallSlot, 'index' | 'id' | 'given' | 'name' | 'isFunction'>) {
    this.index = index
    this.id = id
    this.given = given
    this.name = name
    this.isFunction = isFunction
  }

  /** All that has come of its arguments. */
  get args(): string {
    const { raw } = this
    this.raw = ''
    if (raw !== '') this.text += JSON.parse(`"${utf8(raw)}"`) as string
    return this.text
  }

  add(text: string): void {
    this.text = this.args + text
  }
}

export interface Resolved {
  slot: CallSlot
  /** True for the first fragment of its call. */
  fresh: boolean
  /** Part that the fragment adds to the arguments. */
  text: string
}

/**
 * Fragments may lack an index, repeat their id each time, reuse an index or an id for another call, or come whole.
 * The first fragment of a call makes its slot; a call without an id of its own gets one.
 */
export class ToolCalls {
  readonly slots: CallSlot[] = []
  private readonly byIndex = new Map<number, CallSlot>()

  resolve(fragment: JsonObject): Resolved {
    const given = asString(fragment.id) ?? ''
    const spec = isObject(fragment.function) ? fragment.function : undefined
    const name = asString(spec?.name) ?? ''
    const text = argumentsText(spec?.arguments)
    const known = this.known(fragment.index, given)
    // The whole call once more, as some servers send it with the finish reason.
    if (known && given !== '' && name === known.name && text !== '' && text === known.args) return { slot: known, fresh: false, text: '' }
    if (known && !isAnother(known, given, name, text)) {
      if (known.name === '') known.name = name
      known.add(text)
      return { slot: known, fresh: false, text }
    }
    if (!known && given === '' && name === '' && typeof fragment.index !== 'number') {
      const last = this.slots.at(-1)
      if (last) {
        last.add(text)
        return { slot: last, fresh: false, text }
      }
    }
    const isFunction = spec !== undefined || fragment.type === undefined || fragment.type === 'function'
    const slot = new CallSlot({ index: this.slots.length, id: this.idFor(given), given, name, isFunction })
    slot.add(text)
    this.slots.push(slot)
    if (typeof fragment.index === 'number') this.byIndex.set(fragment.index, slot)
    return { slot, fresh: true, text }
  }

  /** The slot that has this index in the provider's fragments. */
  at(index: number): CallSlot | undefined {
    return this.byIndex.get(index)
  }

  /** True where the arguments of any call are no JSON. */
  get areBroken(): boolean {
    return this.slots.some(({ isFunction, args }) => isFunction && isBroken(args))
  }

  /** Two calls with one id could not be answered apart. */
  private idFor(given: string): string {
    if (given === '') return `call_${randomTag()}`
    const isTaken = (id: string): boolean => this.slots.some((slot) => slot.id === id)
    let id = given
    for (let number = this.slots.length; isTaken(id); number++) id = `${given}_${number}`
    return id
  }

  private known(index: unknown, given: string): CallSlot | undefined {
    if (typeof index === 'number') return this.byIndex.get(index)
    return given === '' ? undefined : this.slots.findLast((slot) => slot.given === given)
  }
}

/** True for the beginning of another call under the same index or id: only such a fragment has a name again. */
function isAnother(slot: CallSlot, given: string, name: string, text: string): boolean {
  if (name === '' || slot.name === '') return false
  if (given !== '' && given !== slot.given) return true
  return !name.startsWith(slot.name) || (text !== '' && isWholeObject(slot.args))
}

const ARGUMENTS = '"arguments":'
const INDEX = '"index":'
const TOOL_CALLS = '"tool_calls"'
const QUOTE = 0x22
const SPACE = 0x20

/**
 * Adds what frames of the pass lane, which travel unread, bring of arguments. Quotes within JSON texts are escaped, so none of the names can
 * stand in what the model wrote.
 */
export function gatherArguments(frames: string, calls: ToolCalls): void {
  let end = 0
  for (let at = frames.indexOf(TOOL_CALLS); at !== -1; at = frames.indexOf(TOOL_CALLS, end)) {
    const start = frames.lastIndexOf('\n\n', at) + 2
    end = frames.indexOf('\n\n', at)
    const name = frames.indexOf(ARGUMENTS, at)
    const index = frames.indexOf(INDEX, at)
    const isPlain = name !== -1 && name < end && index !== -1 && index < end
    const next = isPlain ? frames.indexOf(ARGUMENTS, name + 1) : -1
    let from = name + ARGUMENTS.length
    if (frames.charCodeAt(from) === SPACE) from++
    if (!isPlain || (next !== -1 && next < end) || frames.charCodeAt(from) !== QUOTE) {
      gatherParsed(frames.slice(start === 1 ? 0 : start, end + 2), calls)
      continue
    }
    const slot = calls.at(Number.parseInt(frames.slice(index + INDEX.length, index + MAX_INDEX_LENGTH), 10))
    if (slot) slot.raw += alone(frames.slice(from + 1, endOfString(frames, from + 1)))
  }
}

/** Of a frame with several fragments, or of an unusual form. */
function gatherParsed(frame: string, calls: ToolCalls): void {
  const { choices } = JSON.parse(utf8(frameData(frame) ?? '{}')) as JsonObject
  for (const { delta } of asObjects(choices))
    if (isObject(delta)) for (const fragment of asObjects(delta.tool_calls)) calls.resolve(fragment)
}

const MAX_INDEX_LENGTH = INDEX.length + 5
