/**
 * The most that an expression can cost, computed when it is compiled from the bounds of its variables: no request can make it cost more. The
 * same way bounds the conditions of Kubernetes (its "estimated cost" of CEL in a CustomResourceDefinition).
 */
import { type CelNode, isNode } from './library.ts'
import { patternSteps } from './patterns.ts'
import { SHORT } from './text-search.ts'
import { type Field, isGroup, MAX_ENTRIES, USUAL_CHARACTERS, variableNamed } from './variables.ts'

/** Bounds of a value: characters of a text, entries of a list or map, and what each entry is. */
interface Size {
  readonly characters: number
  readonly entries: number
  readonly part?: Size | undefined
  /** Characters of all entries together, where they are fewer than those of as many of the largest. */
  readonly all?: number
  /** Of a value that may be anything: every part of it is such a value, and all of them together have these characters. */
  readonly isAny?: boolean
  /**
   * Of an entry whose characters are those of the average: the largest that it may be. The steps of all entries together are the same for the
   * average as long as they grow with the characters of each, which those of a loop in the loop do not.
   */
  readonly largest?: Size
}

interface Bound {
  readonly steps: number
  readonly size: Size
}

/** A place of the expression that conditions do not allow, with the remedy. */
export class NotAllowed extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

const SCALAR: Size = { characters: 0, entries: 0 }
/** Characters that a text function reads in the time of one step. */
const CHARACTERS_A_STEP = 32
/** The same of a search for a text that may be long (`text-search.ts`). */
const SOUGHT_A_STEP = 12
/** A time zone is looked up by its name (`Date.toLocaleString`, some 20 µs). */
const STEPS_OF_A_ZONE = 500

/** Functions that conditions have. */
export const FUNCTIONS = [
  ...['all', 'exists', 'exists_one', 'filter', 'map', 'has', 'size'],
  ...['contains', 'startsWith', 'endsWith', 'matches', 'lowerAscii', 'upperAscii', 'trim', 'split', 'join', 'substring'],
  ...['indexOf', 'lastIndexOf', 'string', 'int', 'double', 'bool', 'dyn', 'timestamp', 'duration'],
  ...['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getHours', 'getMinutes', 'getSeconds'],
] as const

const SEARCHES = new Set(['contains', 'indexOf', 'lastIndexOf'])
const LOOPS = new Set(['all', 'exists', 'exists_one', 'filter', 'map'])
/** Return the text that they are given, or a part of it. */
const TEXTS = new Set(['lowerAscii', 'upperAscii', 'trim', 'substring', 'string', 'dyn'])

/** Steps that evaluating the expression takes at most. @throws NotAllowed for a function that conditions lack, or a pattern that is not known. */
export function mostSteps(expression: CelNode): number {
  return bound(expression, new Map()).steps
}

type Scope = ReadonlyMap<string, Size>

function bound(node: CelNode, scope: Scope): Bound {
  const { op, args } = node
  switch (op) {
    case 'value':
      return { steps: 1, size: typeof args === 'string' ? ofText(args.length) : SCALAR }
    case 'id':
      return { steps: 1, size: scope.get(String(args)) ?? variableSize(String(args)) }
    case '.':
      return select(args as [CelNode, string], scope)
    case '[]': {
      const [list, index] = bounds(args, scope)
      return { steps: steps(list, index), size: list ? memberSize(list.size) : SCALAR }
    }
    case 'call':
    case 'rcall':
      return call(node, scope)
    case 'list':
    case 'map':
      return literal(args as readonly (CelNode | readonly CelNode[])[], scope)
    case '==':
    case '!=':
    case 'in':
      return comparison(op, args, scope)
    default:
      return operation(op, args, scope)
  }
}

const ofText = (characters: number): Size => ({ characters, entries: 0 })

function anything(characters: number): Size {
  const size: { -readonly [Name in keyof Size]: Size[Name] } = { characters, entries: MAX_ENTRIES, isAny: true }
  size.part = size
  return size
}

function fieldSize({ type, characters = USUAL_CHARACTERS }: Field): Size {
  if (type === 'string') return ofText(characters)
  if (type.startsWith('map')) return anything(characters)
  if (type.startsWith('list')) return { characters: 0, entries: MAX_ENTRIES, part: ofText(characters) }
  return SCALAR
}

function variableSize(name: string): Size {
  const variable = variableNamed(name)
  return variable && !isGroup(variable) ? fieldSize(variable) : SCALAR
}

function select([object, member]: [CelNode, string], scope: Scope): Bound {
  const group = object.op === 'id' && !scope.has(String(object.args)) ? variableNamed(String(object.args)) : undefined
  const field = group && isGroup(group) && Object.hasOwn(group.fields, member) ? group.fields[member] : undefined
  if (field) return { steps: 2 + reading(fieldSize(field)), size: fieldSize(field) }
  const inner = bound(object, scope)
  return { steps: inner.steps + 1, size: memberSize(inner.size) }
}

/** A member of a value that may be anything is such a value, as large as the whole. */
const memberSize = (size: Size): Size => (size.isAny ? size : (size.part ?? SCALAR))

/** A list or map is looked at before it is given to a condition. */
const reading = ({ entries }: Size): number => entries / CHARACTERS_A_STEP

function bounds(args: unknown, scope: Scope): Bound[] {
  const nodes = Array.isArray(args) ? args : [args]
  return nodes.filter(isNode).map((node) => bound(node, scope))
}

function steps(...parts: readonly (Bound | undefined)[]): number {
  return parts.reduce((sum, part) => sum + (part?.steps ?? 0), 1)
}

/** Characters of the value and all that is in it. */
function total({ characters, entries, part, all, isAny }: Size): number {
  if (all !== undefined) return all
  return isAny || !part ? characters : characters + entries * (1 + total(part))
}

function comparison(op: string, args: unknown, scope: Scope): Bound {
  const [left, right] = bounds(args, scope)
  const one = total(left?.size ?? SCALAR)
  const other = total(right?.size ?? SCALAR)
  // What is looked for is compared with each entry; two values are compared up to the end of the shorter one.
  const compared = op === 'in' ? (right?.size.entries ?? 0) + Math.min(other, (right?.size.entries ?? 0) * one) : Math.min(one, other)
  // Two values that may be anything may be lists in lists, with an entry for each character that they could have.
  const each = left?.size.isAny && (right?.size.isAny || right?.size.part?.isAny) ? 1 : CHARACTERS_A_STEP
  return { steps: steps(left, right) + compared / each, size: SCALAR }
}

function operation(op: string, args: unknown, scope: Scope): Bound {
  const parts = bounds(args, scope)
  const sizes = parts.map(({ size }) => size)
  if (op === '+') {
    const size = joined(sizes)
    return { steps: steps(...parts) + (size.characters + size.entries) / CHARACTERS_A_STEP, size }
  }
  return { steps: steps(...parts), size: op === '?:' ? larger(sizes.slice(1)) : SCALAR }
}

function joined(sizes: readonly Size[]): Size {
  const sum = (member: 'characters' | 'entries'): number => sizes.reduce((all, size) => all + size[member], 0)
  return { characters: sum('characters'), entries: sum('entries'), part: joinParts(sizes) }
}

function larger(sizes: readonly Size[]): Size {
  const most = (member: 'characters' | 'entries'): number => sizes.reduce((best, size) => Math.max(best, size[member]), 0)
  return { characters: most('characters'), entries: most('entries'), part: joinParts(sizes) }
}

function joinParts(sizes: readonly Size[]): Size | undefined {
  const any = sizes.find(({ isAny }) => isAny)
  if (any) return any
  const parts = sizes.flatMap(({ part }) => part ?? [])
  return parts.length === 0 ? undefined : larger(parts)
}

function literal(entries: readonly (CelNode | readonly CelNode[])[], scope: Scope): Bound {
  const parts = entries.flatMap((entry) => bounds(entry, scope))
  return { steps: steps(...parts), size: { characters: 0, entries: entries.length, part: larger(parts.map(({ size }) => size)) } }
}

function call(node: CelNode, scope: Scope): Bound {
  const [name, ...rest] = node.args as [string, ...unknown[]]
  if (!(FUNCTIONS as readonly string[]).includes(name)) throw new NotAllowed(`conditions have no function ${name}`, node.start)
  const receiver = node.op === 'rcall' && isNode(rest[0]) ? rest[0] : undefined
  const args = (rest.at(-1) as readonly CelNode[]).filter(isNode)
  if (receiver && LOOPS.has(name)) return loop(name, receiver, args, scope)
  const parts = [...(receiver ? [bound(receiver, scope)] : []), ...args.map((each) => bound(each, scope))]
  const [first] = parts
  const size = first?.size ?? SCALAR
  if (name === 'matches') return matching(node, args, parts)
  if (name === 'split') {
    const { characters } = size.largest ?? size
    return {
      steps: steps(...parts) + characters / 4,
      size: { ...SCALAR, entries: characters + 1, part: ofText(characters), all: characters },
    }
  }
  if (name === 'join') {
    const characters = total(size) + size.entries * (parts[1]?.size.characters ?? 0)
    return { steps: steps(...parts) + size.entries + characters / CHARACTERS_A_STEP, size: ofText(characters) }
  }
  if (name.startsWith('get') && args.length > 0) return { steps: steps(...parts) + STEPS_OF_A_ZONE, size: SCALAR }
  const looked = name === 'startsWith' || name === 'endsWith' ? parts.slice(1) : parts
  const read = looked.reduce((sum, part) => sum + part.size.characters, 0)
  const isLongSearch = SEARCHES.has(name) && (parts[1]?.size.characters ?? 0) > SHORT
  return { steps: steps(...parts) + read / (isLongSearch ? SOUGHT_A_STEP : CHARACTERS_A_STEP), size: TEXTS.has(name) ? size : SCALAR }
}

/** A loop over a list or the names of a map: its body is evaluated for each entry. */
function loop(name: string, receiver: CelNode, args: readonly CelNode[], scope: Scope): Bound {
  const over = whole(bound(receiver, scope))
  const variable = args[0]?.op === 'id' ? String(args[0].args) : ''
  const inner = new Map(scope).set(variable, entrySize(over.size))
  const bodies = args.slice(1).map((body) => bound(body, inner))
  const { entries, part } = over.size
  const size = name === 'filter' ? { ...SCALAR, entries, part } : { ...SCALAR, entries, part: bodies.at(-1)?.size }
  return { steps: over.steps + 1 + entries * steps(...bodies), size: name === 'filter' || name === 'map' ? size : SCALAR }
}

function whole({ steps: taken, size }: Bound): Bound {
  return { steps: taken, size: size.largest ?? size }
}

function entrySize(size: Size): Size {
  if (!size.isAny) return size.part ?? ofText(size.characters)
  const characters = Math.ceil(size.characters / size.entries)
  return { ...size, characters, all: characters, largest: size }
}

function matching(node: CelNode, args: readonly CelNode[], parts: readonly Bound[]): Bound {
  const pattern = args.at(-1)
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string')
    throw new NotAllowed('expected a pattern in quotes: one that a request brings cannot be bounded', pattern?.start ?? node.start)
  const found = patternSteps(pattern.args)
  if (typeof found === 'string') throw new NotAllowed(`this pattern ${found}`, pattern.start)
  return { steps: steps(...parts) + (parts[0]?.size.characters ?? 0) * found, size: SCALAR }
}
