/** Custom patterns: the matches that RE2 finds one after the other, in two passes over the text. */
import fc from 'fast-check'
import t from 'tap'
import type { Match } from '../../src/guardrails/detector.ts'
import { patternDetector } from '../../src/guardrails/pattern.ts'
import { scanPattern } from '../../src/guardrails/pattern-scan.ts'
import { linearRegex } from '../../src/machines/linear-regex/linear-regex.ts'
import { PatternAutomaton, PatternTooCostly } from '../../src/machines/linear-regex/pattern-automaton.ts'
import { property } from '../support/seed.ts'

/** As RE2 gives them when it is asked for one after the other. */
function oneByOne(pattern: string, text: string, from: number): Match[] {
  const matcher = linearRegex().compile(pattern).matcher(text)
  const found: Match[] = []
  for (let more = matcher.find(from); more; more = matcher.find())
    if (matcher.end() > matcher.start()) found.push({ start: matcher.start(), end: matcher.end() })
  return found
}

function scanned(automaton: PatternAutomaton, text: string, from = 0): { found: Match[]; slices: number } {
  const slices = scanPattern(automaton, text, from)
  for (let count = 1; ; count++) {
    const step = slices.next()
    if (step.done) return { found: step.value, slices: count }
  }
}

const atom = fc.constantFrom(
  ...['a', 'b', 'c', 'x', ',', 'é', '😀', '.', '(?s:.)', '[^a]', '[a-c]', '\\d', '\\w', '\\s', '(?i:k)', '(?i:s)', '(?:)'],
  ...['\\b', '\\B', '^', '$', '\\A', '\\z', '(?m:^)', '(?m:$)'],
)
const repeats = ['*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{0,2}?', '{2,}']
const { pattern } = fc.letrec<{ pattern: string; row: string; choice: string; repeat: string }>((tie) => ({
  pattern: fc.oneof({ maxDepth: 4, withCrossShrink: true }, atom, tie('row'), tie('choice'), tie('repeat')),
  row: fc.array(tie('pattern'), { minLength: 1, maxLength: 3 }).map((all) => all.join('')),
  choice: fc.array(tie('pattern'), { minLength: 2, maxLength: 3 }).map((all) => `(${all.join('|')})`),
  repeat: fc.tuple(tie('pattern'), fc.constantFrom(...repeats)).map(([one, sign]) => `(?:${one})${sign}`),
}))
const unit = fc.constantFrom('a', 'b', 'c', 'x', ',', '1', ' ', '\n', '_', 'k', 'K', 's', '\u212a', '\u017f', 'é', '😀', '\ud83d', '\ude00')
const text = fc.array(unit, { maxLength: 16 }).map((units) => units.join(''))

t.test('the same matches as RE2 finds one by one', async (t) => {
  let compared = 0
  fc.assert(
    fc.property(pattern, text, fc.nat(4), (expression, sample, offset) => {
      const from = Math.min(offset, sample.length)
      let automaton: PatternAutomaton
      try {
        automaton = new PatternAutomaton(expression)
      } catch (problem) {
        if (problem instanceof PatternTooCostly || /RE2JS/.test(String((problem as Error).constructor.name))) return
        throw problem
      }
      compared++
      const told = JSON.stringify(scanned(automaton, sample, from).found)
      const expected = JSON.stringify(oneByOne(expression, sample, from))
      if (told !== expected) throw new Error(`${expression} on ${JSON.stringify(sample)} from ${from}: ${told}, expected ${expected}`)
    }),
    property(5_000, 500_000),
  )
  t.ok(compared > 1_000, `${compared} compared`)
})

/** The patterns of the issue, and others that ask for the rest of the text at every match. */
const GREEDY: readonly [pattern: string, text: string][] = [
  ['([^,]*,)*x', 'x'],
  ['([^,]*,)*x', 'x,'],
  ['([^,]*,)*x', 'xxa,b'],
  ['(\\d+-)*\\d{4}', '1234567-'],
  ['(\\d+-)*\\d{4}', '12345678 '],
  ['([a-z]+ )*id', 'id a '],
  ['([a-z]+ )*id', 'idid'],
  ['(?s:.*)y|x', 'x'],
]

t.test('twice the text takes twice the slices, however many matches there are', async (t) => {
  for (const [expression, piece] of GREEDY) {
    const automaton = new PatternAutomaton(expression)
    const once = scanned(automaton, piece.repeat(50_000 / piece.length))
    const twice = scanned(automaton, piece.repeat(100_000 / piece.length))
    // Each character is read once backwards and at most once forwards, in slices of 4,096.
    t.ok(once.slices <= 2 + (2 * 50_000) / 4_096, `${expression} on ${piece}…: ${once.slices} slices`)
    t.ok(twice.slices <= 2 + (2 * 100_000) / 4_096, `${expression} on ${piece}…: ${twice.slices} slices`)
    t.ok(once.found.length === 0 || twice.found.length > 0)
  }
})

t.test('no accepted pattern takes more operations for a character than the bound', async (t) => {
  fc.assert(
    fc.property(pattern, fc.integer({ min: 1, max: 200 }), (expression, times) => {
      let automaton: PatternAutomaton
      try {
        automaton = new PatternAutomaton(`(?:${expression}){1,${times}}`)
      } catch {
        return
      }
      if (automaton.work > 350) throw new Error(`${expression}: ${automaton.work}`)
    }),
    property(300, 20_000),
  )
  t.pass()
})

t.test('patterns beyond the bound are refused with their path', async (t) => {
  for (const expression of ['(a|b|ab){1,200}', '(a?){300}a{300}', `(?:${'a?'.repeat(900)}b)`, '(x|y|xx){1,100}'])
    t.throws(() => patternDetector(expression, 'guardrails[0].content_filters[0].pattern'), {
      message: /^guardrails\[0\]\.content_filters\[0\]\.pattern: .*takes too long for each character/s,
      metadata: { field: 'guardrails[0].content_filters[0].pattern' },
    })
  for (const expression of ['a.{0,1000}b', '(?i)secret.{0,50}key', '\\b([a-z]{1,63}\\.){1,10}com\\b', '(.{1,30},){1,30}z'])
    t.ok(patternDetector(expression, 'here'), expression)
})
