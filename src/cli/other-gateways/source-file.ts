/**
 * A file of another gateway, read so that nothing of it is lost without a word: each value that it holds is carried, replaced by
 * something else, or left, with a reason. What no reader has looked at is left, as unknown.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

export interface Fate {
  /** Place of the value: `model_list[0].litellm_params.model`. Values themselves are not shown, since some are secrets. */
  readonly path: string
  readonly fate: 'carried' | 'replaced' | 'left'
  /** Replacement, or the reason for which it is left. */
  readonly note?: string
}

const UNKNOWN = 'headgate import does not know it'

export class SourceFile {
  readonly root: Part
  private readonly marks = new Map<string, Fate>()
  /** Values that are carried for no more reason than that a reader has read them. */
  private readonly read = new Set<string>()

  constructor(value: JsonObject) {
    this.root = new Part(value, '', (fate, isRead = false) => {
      const { path } = fate
      // The first note on a value counts: a reader may leave the rest of an object that it has read.
      if (this.marks.has(path) && (isRead || !this.read.has(path))) return
      this.marks.set(path, fate)
      if (isRead) this.read.add(path)
      else this.read.delete(path)
    })
  }

  /** One for each value of the file, in its order. */
  fates(): Fate[] {
    return this.below(this.root.value, '', undefined)
  }

  private below(value: Json, path: string, above: Fate | undefined): Fate[] {
    const own = this.marks.get(path) ?? above
    const members = listMembers(value)
    if (members.length > 0) return members.flatMap(([name, member]) => this.below(member, pathTo(path, name), own))
    return [{ ...(own ?? { fate: 'left', note: UNKNOWN }), path }]
  }
}

/** @param isRead true where the value has been read: what a reader says of it outright holds in place of that. */
type Mark = (fate: Fate, isRead?: boolean) => void

export class Part {
  readonly value: Json
  readonly path: string
  private readonly mark: Mark

  constructor(value: Json, path: string, mark: Mark) {
    this.value = value
    this.path = path
    this.mark = mark
  }

  /** The member, without a note on it; undefined where it is absent or null. */
  part(name: string): Part | undefined {
    const value = isObject(this.value) && Object.hasOwn(this.value, name) ? this.value[name] : undefined
    return value === undefined || value === null ? undefined : new Part(value, pathTo(this.path, name), this.mark)
  }

  /** The members of an object, or of the object under a name. */
  entries(name?: string): [name: string, part: Part][] {
    const part = name === undefined ? this : this.part(name)
    if (part === undefined || !isObject(part.value)) return []
    return Object.keys(part.value).flatMap((key) => {
      const member = part.part(key)
      return member === undefined ? [] : [[key, member]]
    })
  }

  /** The elements of the list under a name. */
  list(name: string): Part[] {
    const part = this.part(name)
    if (part === undefined || !Array.isArray(part.value)) return []
    return part.value.map((value, index) => new Part(value, pathTo(part.path, index), this.mark))
  }

  /** The text, number or boolean under a name, as text; it is carried. */
  text(name: string): string | undefined {
    const part = this.part(name)
    if (part === undefined || typeof part.value === 'object') return undefined
    part.wasRead()
    return String(part.value)
  }

  number(name: string): number | undefined {
    const found = this.part(name)?.value
    const number = typeof found === 'string' && found.trim() !== '' ? Number(found) : found
    if (typeof number !== 'number' || !Number.isFinite(number)) return undefined
    this.part(name)?.wasRead()
    return number
  }

  /** The number under a name, which something else stands for here. @param note what that is. */
  numberFor(name: string, note: string): number | undefined {
    const number = this.number(name)
    if (number !== undefined) this.part(name)?.replaced(note)
    return number
  }

  /** The texts of a list under a name; they are carried. */
  texts(name: string): string[] {
    return this.list(name).flatMap((part) => {
      if (typeof part.value !== 'string') return []
      part.wasRead()
      return [part.value]
    })
  }

  carried(): void {
    this.mark({ path: this.path, fate: 'carried' })
  }

  private wasRead(): void {
    this.mark({ path: this.path, fate: 'carried' }, true)
  }

  /** @param note what does it here. */
  replaced(note: string): void {
    this.mark({ path: this.path, fate: 'replaced', note })
  }

  /** Adds a note to this value and to all below it that have none. @param note why, and what would help. */
  left(note: string): void {
    this.mark({ path: this.path, fate: 'left', note })
  }

  /** Fates of members, by their names; of those that are there. */
  members(fates: Readonly<Record<string, readonly ['replaced' | 'left', note: string]>>): void {
    for (const [name, [fate, note]] of Object.entries(fates)) this.part(name)?.[fate](note)
  }
}

function listMembers(value: Json): [name: string | number, member: Json][] {
  if (Array.isArray(value)) return value.map((member, index) => [index, member])
  return isObject(value) ? Object.entries(value).flatMap(([name, member]) => (member === undefined ? [] : [[name, member]])) : []
}

function pathTo(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`
  return path === '' ? name : `${path}.${name}`
}
