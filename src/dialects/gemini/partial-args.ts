/**
 * Arguments of a call that stream as single values with their places (`FunctionCall.partialArgs`, discovery document aiplatform v1beta1,
 * revision 20261106), as the text of one JSON object that grows.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

type Place = readonly (string | number)[]

interface Container {
  readonly isArray: boolean
  readonly names: Set<string | number>
}

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

/** The steps of a JSON path such as `$.operations[1].price`; undefined where it has none or cannot be read (RFC 9535 §2). */
function parsePlace(path: Json | undefined): Place | undefined {
  if (typeof path !== 'string' || !path.startsWith('$')) return undefined
  const place: (string | number)[] = []
  STEP.lastIndex = 1
  while (STEP.lastIndex < path.length) {
    const [, name, index, single, double] = STEP.exec(path) ?? []
    if (index !== undefined) place.push(Number(index))
    else if (name !== undefined) place.push(name)
    else {
      const quoted = single ?? double
      if (quoted === undefined) return undefined
      place.push(quoted.replace(/\\(.)/g, '$1'))
    }
  }
  return place.length > 0 ? place : undefined
}

/** @returns undefined where the value is none that this wire has. */
function valueIn(arg: JsonObject): string | number | boolean | null | undefined {
  const { stringValue, numberValue, boolValue, nullValue } = arg
  if (typeof stringValue === 'string') return stringValue
  if (typeof numberValue === 'number') return numberValue
  if (typeof boolValue === 'boolean') return boolValue
  if (nullValue !== undefined) return null
  return arg.willContinue === true ? '' : undefined
}

const sameStart = (a: Place, b: Place): number => {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

export class PartialArgs {
  /** The root first; it opens with the first value. */
  private readonly open: Container[] = []
  /** Steps from the root to the innermost open container. */
  private path: Place = []
  /** The place of a text that goes on. */
  private speaking: Place | undefined

  /** @returns the text that these values add; undefined where they do not follow what came before. */
  add(args: readonly Json[]): string | undefined {
    let text = ''
    for (const arg of args) {
      const place = isObject(arg) ? parsePlace(arg.jsonPath) : undefined
      const added = isObject(arg) && place !== undefined ? this.value(place, arg) : undefined
      if (added === undefined) return undefined
      text += added
    }
    return text
  }

  /** @returns the text that ends the object. */
  end(): string {
    if (this.open.length === 0) return '{}'
    return this.endText() + this.closeDownTo(0)
  }

  private value(place: Place, arg: JsonObject): string | undefined {
    const value = valueIn(arg)
    if (value === undefined) return undefined
    const { speaking } = this
    let text = ''
    if (speaking !== undefined && speaking.length === place.length && sameStart(speaking, place) === place.length) {
      if (typeof value !== 'string') return undefined
      text = escaped(value)
    } else {
      const begun = this.begin(place)
      if (begun === undefined) return undefined
      text = begun + (typeof value === 'string' ? `"${escaped(value)}` : JSON.stringify(value))
    }
    this.speaking = typeof value === 'string' ? place : undefined
    return typeof value === 'string' && arg.willContinue !== true ? text + this.endText() : text
  }

  private endText(): string {
    if (this.speaking === undefined) return ''
    this.speaking = undefined
    return '"'
  }

  private closeDownTo(length: number): string {
    let text = ''
    while (this.open.length > length) text += this.open.pop()?.isArray ? ']' : '}'
    return text
  }

  /** All text in front of a value: what ends before it, what opens around it, and its name. */
  private begin(place: Place): string | undefined {
    let text = this.endText()
    if (this.open.length === 0) {
      this.open.push({ isArray: false, names: new Set() })
      text += '{'
    }
    const around = place.slice(0, -1)
    const shared = sameStart(this.path, around)
    text += this.closeDownTo(shared + 1)
    this.path = around
    for (let depth = shared; depth < place.length; depth++) {
      const step = place[depth]
      const next = place[depth + 1]
      const name = step === undefined ? undefined : this.name(step)
      if (name === undefined) return undefined
      text += name
      if (next === undefined) continue
      const isArray = typeof next === 'number'
      this.open.push({ isArray, names: new Set() })
      text += isArray ? '[' : '{'
    }
    return text
  }

  /** Text in front of a member of the innermost container; undefined where it cannot come next. */
  private name(step: string | number): string | undefined {
    const container = this.open.at(-1)
    if (container === undefined || container.isArray !== (typeof step === 'number') || container.names.has(step)) return undefined
    if (container.isArray && step !== container.names.size) return undefined
    const comma = container.names.size > 0 ? ',' : ''
    container.names.add(step)
    return container.isArray ? comma : `${comma}${JSON.stringify(String(step))}:`
  }
}
