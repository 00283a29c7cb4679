/**
 * The time of conditions at the largest requests: those that come near the bound of steps keep to 10 ms, of which the test allows a multiple,
 * since it shares its machine. What would take longer does not compile.
 */
import t from 'tap'
import { compileCondition, isProblem, MAX_STEPS } from '../../../src/config/conditions/condition.ts'
import { defineFacts } from '../../../src/config/conditions/facts.ts'
import { firstIndex, lastIndex, splitText } from '../../../src/config/conditions/text-search.ts'
import { isGroup, MAX_ENTRIES, type Readers, VARIABLE_LIST } from '../../../src/config/conditions/variables.ts'
import { linearRegex } from '../../../src/machines/linear-regex/linear-regex.ts'
import { compilePattern } from '../../../src/machines/linear-regex/pattern.ts'
import { holdsMatch } from '../../../src/machines/linear-regex/pattern-search.ts'
import { every } from '../../support/every.ts'

const STATED_MS = 10
/** Of a machine that others use, and of code that runs for the first time. */
const ALLOWED_MS = 10 * STATED_MS

/** Without a period, which would leave a pattern few states. */
let seed = 7
function letters(length: number): string {
  return Array.from({ length }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return 'abc '[seed >>> 30]
  }).join('')
}
const many = (length: number): string[] => Array.from({ length: MAX_ENTRIES }, (_, at) => letters(length - 4) + String(at).padStart(4, '0'))

/** Each variable as large as it may be. */
const LARGEST: Readonly<Record<string, unknown>> = Object.fromEntries(
  VARIABLE_LIST.flatMap(([name, variable]) =>
    isGroup(variable)
      ? Object.entries(variable.fields).map(([field, each]) => [`${name}.${field}`, largest(each)])
      : [[name, largest(variable)]],
  ),
)

function largest({ type, characters = 1_024 }: { type: string; characters?: number }): unknown {
  if (type === 'string') return letters(characters)
  if (type === 'list<string>') return many(characters)
  if (type === 'map<string, string>') return Object.fromEntries(many(32).map((key) => [key, letters(characters / MAX_ENTRIES - 33)]))
  if (type === 'map<string, dyn>') {
    const repeated = `${characters > 20_000 ? '' : 'b'}${'a'.repeat(characters / 4)}`
    return { text: letters(characters / 4), repeated, list: many(Math.floor(characters / 4 / MAX_ENTRIES)) }
  }
  return type === 'bool' ? false : type === 'google.protobuf.Timestamp' ? new Date(0) : 5
}

/** In lists of lists, so deep: entries without a character. */
function lists(depth: number): unknown {
  return depth === 0 ? 0 : Array.from({ length: depth === 3 ? 8 : MAX_ENTRIES }, () => lists(depth - 1))
}

/** V8 compares nearly all of the text that is sought at each place of the other one. */
const REPEATING = { arguments: { text: 'a'.repeat(49_000) }, claims: { text: `${'a'.repeat(100)}b${'a'.repeat(15_000)}` } }

type Values = Readonly<Record<string, unknown>> | undefined

const Facts = defineFacts(
  Object.fromEntries(
    VARIABLE_LIST.map(([name, variable]) => [
      name,
      isGroup(variable)
        ? Object.fromEntries(
            Object.keys(variable.fields).map((field) => [field, (values: Values) => (values ?? LARGEST)[`${name}.${field}`]]),
          )
        : (values: Values) => (values ?? LARGEST)[name],
    ]),
  ) as unknown as Readers<Values>,
)

const NEAR_THE_BOUND = [
  'arguments.text.matches("a.{0,60}b.{0,60}c.{0,20}d")',
  'arguments.text.matches("(a+)+(b+)+d") || arguments.text.matches("^(a|ab|b|c| )*d$")',
  'arguments.list.exists(x, x == "none" || x.contains("zzz") || x.startsWith("y") || x.size() > 5000)',
  'request.tools.exists(tool, tool.matches("(a|b| )*c(a|b| ){0,8}x"))',
  'request.headers.exists(name, name.matches("^x-.{0,20}secret$"))',
  'request.tools.map(tool, tool + tool).filter(tool, tool.endsWith("none")).size() > 0',
  'claims.list.exists(x, x in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])',
  'arguments.list == claims.list || !arguments.list.all(x, x != arguments.text)',
  'arguments.text.split(" ").size() > 100000',
  'arguments.repeated.contains(claims.repeated) || claims.repeated.contains(arguments.text)',
]

t.test('no request makes a condition take longer than is stated', async (t) => {
  await every(t, 'every condition', async (t) => {
    for (const text of NEAR_THE_BOUND) {
      const condition = compileCondition(text)
      if (isProblem(condition)) throw new Error(`${text}: ${condition.message}`)
      t.ok(condition.steps <= MAX_STEPS, text)
      condition.test(new Facts(undefined))
      const before = process.cpuUsage()
      const found = condition.test(new Facts(undefined))
      const { user, system } = process.cpuUsage(before)
      const took = (user + system) / 1_000
      t.equal(found, false, text)
      t.ok(took < ALLOWED_MS, `${text} takes ${took} ms for ${condition.steps} steps`)
    }
  })
})

/** Values that a caller, a model or an issuer may send to a condition that an operator would write. */
const HOSTILE: readonly (readonly [text: string, values: Readonly<Record<string, unknown>>])[] = [
  ['duration(arguments.timeout) > duration("10m")', { arguments: { timeout: '1'.repeat(60_000) } }],
  ['request.tools.exists(tool, duration(tool) > duration("1s"))', { 'request.tools': Array(MAX_ENTRIES).fill('1'.repeat(64)) }],
  ['arguments.text.contains(claims.text)', REPEATING],
  ['arguments.text.indexOf(claims.text) > 0', REPEATING],
  ['arguments.text.lastIndexOf(claims.text) > 0', REPEATING],
  ['arguments.text.split(claims.text).size() > 2', REPEATING],
  [
    'request.tools.exists(tool, request.user.contains(tool))',
    { 'request.user': 'a'.repeat(1_024), 'request.tools': Array(MAX_ENTRIES).fill(`aab${'a'.repeat(125)}`) },
  ],
  ['request.metadata.one == request.metadata.other', { 'request.metadata': { one: lists(3), other: lists(3) } }],
  [
    'request.tools.exists(tool, tool in request.metadata)',
    { 'request.tools': many(64), 'request.metadata': { deep: lists(2), last: 'a'.repeat(20_000) } },
  ],
  [
    'request.tools.exists(tool, tool in request.headers)',
    { 'request.tools': many(64), 'request.headers': Object.fromEntries(many(64).map((name) => [name, 'a'])) },
  ],
]

t.test('no text, list or map of a caller makes a condition take longer', async (t) => {
  await every(t, 'every condition', async (t) => {
    for (const [text, values] of HOSTILE) {
      const condition = compileCondition(text)
      if (isProblem(condition)) {
        t.match(condition.message, /may take/, text)
        continue
      }
      const before = process.cpuUsage()
      const found = condition.test(new Facts(values))
      const { user, system } = process.cpuUsage(before)
      const took = (user + system) / 1_000
      t.not(found, true, text)
      t.ok(took < ALLOWED_MS, `${text} takes ${took} ms for ${condition.steps} steps`)
    }
  })
})

t.test('searches find what V8 finds', async (t) => {
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  const text = (length: number): string => Array.from({ length }, () => (next(10) === 0 ? 'b' : 'a')).join('')
  for (let tries = 0; tries < 2_000; tries++) {
    const where = text(300 + next(300))
    const [at, from] = [next(where.length), next(where.length)]
    const sought = next(2) === 0 ? text(9 + next(20)) : where.slice(at, at + 9 + next(40))
    const found = [firstIndex(where, sought, from), lastIndex(where, sought, from), splitText(where, sought)]
    t.same(found, [where.indexOf(sought, from), where.lastIndexOf(sought, from), where.split(sought)], `${sought} in ${where} from ${from}`)
  }
})

t.test('patterns find what RE2 finds', async (t) => {
  const signs = ['a', 'b', 'c', 'd', ' ', 'x', '\n', '-', 'rm', '😀', 'é', '_']
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  for (const pattern of [
    'rm\\s+-',
    '(a|ab)+c',
    '^a',
    'd$',
    '\\bab\\b',
    'é.x',
    '(?i)AB',
    '[^a-z]{2}',
    'a.{0,3}b.{0,3}c',
    '😀',
    '(?s)a.b',
    '\\B-',
  ]) {
    const found = compilePattern(pattern)
    if (typeof found === 'string') throw new Error(`${pattern}: ${found}`)
    const re2 = linearRegex().compile(found.source)
    for (let at = 0; at < 400; at++) {
      const text = Array.from({ length: next(12) }, () => signs[next(signs.length)]).join('')
      t.equal(holdsMatch(found.automaton, text), re2.matcher(text).find(), `${pattern} in ${JSON.stringify(text)}`)
    }
  }
})
