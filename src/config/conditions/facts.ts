/** Values of the variables for one request: each is read when a condition reads it, within the bounds that its cost was computed for. */
import {
  type Field,
  isGroup,
  MAX_ENTRIES,
  type Readers,
  USUAL_CHARACTERS,
  VARIABLE_LIST,
  VARIABLES,
  type VariableName,
} from './variables.ts'

/** A value is larger than any that a condition may read: it cannot be evaluated then. */
export class ValueTooLarge extends Error {
  readonly code = 'too_large'
}

/** Levels of nested values. */
const MAX_NESTING = 16

type Read = (source: unknown) => unknown

/** A variable with fields, for one source. */
class FieldGroup {
  protected readonly readers: Readonly<Record<string, Read>>
  protected readonly source: unknown
  /** Values that a condition has read: the next one may read them, too. */
  private readonly known: Record<string, unknown> = {}

  constructor(readers: Readonly<Record<string, Read>>, source: unknown) {
    this.readers = readers
    this.source = source
  }

  read(name: string, field: Field): unknown {
    return once(this.known, name, () => celValue(this.readers[name]?.(this.source), field))
  }
}

/**
 * A value that is too large is as such remembered too: loops of CEL go on behind an error, and would have it looked at again for each entry.
 * @throws ValueTooLarge
 */
function once(known: Record<string, unknown>, name: string, read: () => unknown): unknown {
  let found = known[name]
  if (found === undefined) {
    try {
      found = read()
    } catch (thrown) {
      found = thrown
    }
    known[name] = found
  }
  if (found instanceof ValueTooLarge) throw found
  return found
}

/** Class of each variable with fields: the library knows the types of their members by it. */
export const GROUP_CLASSES: ReadonlyMap<string, typeof FieldGroup> = new Map(
  VARIABLE_LIST.flatMap(([name, variable]) => (isGroup(variable) ? [[name, groupClass(variable.fields)] as const] : [])),
)

function groupClass(fields: Readonly<Record<string, Field>>): typeof FieldGroup {
  const made = class extends FieldGroup {}
  for (const [name, field] of Object.entries(fields))
    Object.defineProperty(made.prototype, name, {
      get(this: FieldGroup) {
        return this.read(name, field)
      },
    })
  return made
}

/** All variables for one source; the members are made as they are read. */
export type Facts = Readonly<Record<VariableName, unknown>>

/** Returns what makes the variables of a source. @param readers one for each field of the table. */
export function defineFacts<Source>(readers: Readers<Source>): new (source: Source) => Facts {
  return createFacts(readers as unknown as Readonly<Record<VariableName, Read & Readonly<Record<string, Read>>>>) as new (
    source: Source,
  ) => Facts
}

function createFacts(readers: Readonly<Record<VariableName, Read & Readonly<Record<string, Read>>>>): new (source: unknown) => unknown {
  const made = class {
    readonly source: unknown
    readonly known: Partial<Record<VariableName, unknown>> = {}

    constructor(source: unknown) {
      this.source = source
    }
  }
  for (const name of Object.keys(VARIABLES) as VariableName[]) {
    const variable = VARIABLES[name]
    const Group = GROUP_CLASSES.get(name)
    Object.defineProperty(made.prototype, name, {
      get(this: InstanceType<typeof made>) {
        return once(this.known, name, () =>
          Group ? new Group(readers[name], this.source) : celValue(readers[name](this.source), variable as Field),
        )
      },
    })
  }
  return made
}

/** The value as the library takes it: whole numbers of CEL are `bigint`. @throws ValueTooLarge */
function celValue(value: unknown, { type, characters = USUAL_CHARACTERS }: Field): unknown {
  if (value === undefined || typeof value === 'boolean') return value
  if (typeof value === 'string') return boundedText(value, characters)
  if (typeof value === 'number') return type === 'int' ? BigInt(Math.trunc(value)) : value
  if (value instanceof Date) return value
  measure(value, type.startsWith('map') ? { left: characters } : { each: characters }, 0)
  return value
}

function boundedText(value: string, most: number): string {
  if (value.length > most) throw new ValueTooLarge()
  return value
}

/** Room for all of a value: characters of its texts, and one more for each entry, or for each text of a list. */
type Room = { left: number } | { readonly each: number }

function measure(value: unknown, room: Room, depth: number): void {
  if (typeof value === 'string') {
    if ('each' in room) boundedText(value, room.each)
    else take(room, value.length)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_NESTING) throw new ValueTooLarge()
  if (Array.isArray(value)) {
    if (value.length > MAX_ENTRIES) throw new ValueTooLarge()
    for (const each of value) measureEntry(each, room, depth)
    return
  }
  let entries = 0
  for (const key in value) {
    if (++entries > MAX_ENTRIES) throw new ValueTooLarge()
    measure(key, room, depth + 1)
    measureEntry((value as Readonly<Record<string, unknown>>)[key], room, depth)
  }
}

/** An entry without any text takes room as well: lists in lists have more of them than a request has bytes for texts. */
function measureEntry(value: unknown, room: Room, depth: number): void {
  if ('left' in room) take(room, 1)
  measure(value, room, depth + 1)
}

function take(room: { left: number }, characters: number): void {
  room.left -= characters
  if (room.left < 0) throw new ValueTooLarge()
}
