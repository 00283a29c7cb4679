/**
 * Functions of conditions in the place of the library's own, whose time grows with the square of a text or worse
 * (@marcbachmann/cel-js 8.0.0, lib/functions.js): `matches` and `duration` match by `RegExp` with backtracking, and `contains`, `indexOf`,
 * `lastIndexOf` and `split` call V8's search, which compares all of a long text at each place of one that repeats itself.
 */
import { type CelEnvironment, type CelNode, celLibrary, isNode } from './library.ts'
import { isFound } from './patterns.ts'
import { firstIndex, lastIndex, splitText } from './text-search.ts'

/** Behind the name of a function that has another one in its place. */
const MARK = 'Bounded'

const DURATION = 'google.protobuf.Duration'
/** Characters of a duration: the longest that a whole number of nanoseconds needs, and some. */
const MAX_DURATION = 64
/** Durations, of which the pattern of the library matches each part where it begins. */
const DURATION_FORM = /^[+-]?(?:(?:\d{1,19}(?:\.\d{0,9})?|\.\d{1,9})(?:ns|us|µs|ms|s|m|h))+$/

/** Parameters and result behind the name, by the name; a receiver before the point. */
const BOUNDED: Readonly<Record<string, readonly (readonly [signature: (name: string) => string, run: (...args: never[]) => unknown])[]>> = {
  matches: [[(name) => `string.${name}(string): bool`, isFound]],
  contains: [[(name) => `string.${name}(string): bool`, (text: string, sought: string) => firstIndex(text, sought, 0) >= 0]],
  indexOf: [
    [(name) => `string.${name}(string): int`, (text: string, sought: string) => BigInt(firstIndex(text, sought, 0))],
    [
      (name) => `string.${name}(string, int): int`,
      (text: string, sought: string, from: bigint) => BigInt(firstIndex(text, sought, placeIn(text, from))),
    ],
  ],
  lastIndexOf: [
    [(name) => `string.${name}(string): int`, (text: string, sought: string) => BigInt(lastIndex(text, sought, text.length))],
    [
      (name) => `string.${name}(string, int): int`,
      (text: string, sought: string, from: bigint) => BigInt(lastIndex(text, sought, placeIn(text, from))),
    ],
  ],
  split: [
    [(name) => `string.${name}(string): list<string>`, (text: string, by: string) => splitText(text, by)],
    [(name) => `string.${name}(string, int): list<string>`, (text: string, by: string, most: bigint) => splitText(text, by, Number(most))],
  ],
  duration: [[(name) => `${name}(string): ${DURATION}`, durationIn]],
}

/** As the library has it. @throws RangeError */
function placeIn(text: string, from: bigint): number {
  if (from < 0n || from >= BigInt(text.length)) throw new RangeError('the place is not in the text')
  return Number(from)
}

let durations: ((values: { readonly text: string }) => unknown) | undefined

/** @throws RangeError for what is no duration. */
function durationIn(text: string): unknown {
  if (text.length > MAX_DURATION || !DURATION_FORM.test(text)) throw new RangeError('no duration')
  if (!durations) {
    const { Environment } = celLibrary()
    durations = new Environment().registerVariable('text', 'string').parse('duration(text)') as unknown as typeof durations
  }
  return durations?.({ text })
}

export function registerBounded(environment: CelEnvironment): void {
  for (const [name, overloads] of Object.entries(BOUNDED))
    for (const [signature, run] of overloads) environment.registerFunction(signature(name + MARK), run)
}

/** Has all calls of such functions in an expression call those that are bounded. */
export function useBounded({ op, args }: CelNode): void {
  if (!Array.isArray(args)) {
    if (isNode(args)) useBounded(args)
    return
  }
  if ((op === 'call' || op === 'rcall') && Object.hasOwn(BOUNDED, String(args[0]))) args[0] += MARK
  for (const each of args.flat()) if (isNode(each)) useBounded(each)
}

/** A message of the library with the names that the expression has. */
export const plainNames = (message: string): string => message.replaceAll(MARK, '')
