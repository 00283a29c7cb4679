/** Cost of streams with custom patterns, counted in characters that are read: linear in the text. */
import fc from 'fast-check'
import t from 'tap'
import { AnswerPolicy, compileRules, Findings, type Rule, redacted, Scan, TextPolicy, TextStream } from '../../src/guardrails/index.ts'
import { property } from '../support/seed.ts'

const who = { id: 'g1', name: 'first', scope: 'account' as const }
const patternRules = (patterns: readonly string[]): Rule[] =>
  compileRules(
    who,
    {
      contentFilters: patterns.map((pattern) => ({ pattern, action: 'redact' as const })),
      builtins: [],
      phrases: [],
      allowedPhrases: [],
      action: 'redact',
    },
    'guardrails[0]',
  )

const WORDS = 'lorem ipsum dolor sit amet '
const PROSE = 'The committee met on Tuesday to discuss plans for the library, and most agreed that it is time. '
/** Patterns whose partial matches last long, each with the text that costs most. */
const HARD: readonly [pattern: string, piece: string][] = [
  ['([a-z]+ )*id', 'id a '],
  ['(\\d+-)*\\d{4}', '1234567-'],
  ['(?:x[^y]{0,500}y|y[^z]*z)', `x${'a'.repeat(400)}y${'q'.repeat(9_000)}`],
  ['q[^z]*z', `q${WORDS.repeat(300)}\u00a0`],
  ['q[^z]*z', `q р\u0430ypal ${`${WORDS}слово `.repeat(20)}`],
  ['(?s)BEGIN.*END', `BEGIN ${PROSE}\u2014`],
  // The earliest partial match is another one after every few characters.
  ['q[^z]{0,1000}z|a', 'qaqb'],
  ['(.{1,30},){1,30}z', 'abc,'],
]

/** Steps of the automaton, and characters that patterns read. */
function work(pattern: string, piece: string, size: number): { steps: number; read: number } {
  const counted = { steps: 0, read: 0 }
  const rules = patternRules([pattern]).map((rule) => {
    const { detector } = rule
    const find: typeof detector.find = (text, from) => {
      counted.read += text.length - from
      return detector.find(text, from)
    }
    return { ...rule, detector: { ...detector, find } }
  })
  const policy = new AnswerPolicy(rules)
  const { partialMatches } = policy
  const step = partialMatches.step.bind(partialMatches)
  const stepWide = partialMatches.stepWide.bind(partialMatches)
  partialMatches.step = (state, rune) => {
    counted.steps++
    return step(state, rune)
  }
  partialMatches.stepWide = (state, starts, next) => {
    counted.steps++
    return stepWide(state, starts, next)
  }
  const text = piece.repeat(Math.ceil(size / piece.length)).slice(0, size)
  const stream = new TextStream(policy, new Findings(), () => {})
  for (let at = 0; at < text.length; at += 4) stream.push(text.slice(at, at + 4))
  stream.end()
  return counted
}

t.test('a stream reads each character a few times, whatever the pattern and the text', async (t) => {
  for (const [pattern, piece] of HARD) {
    const once = work(pattern, piece, 40_000)
    const twice = work(pattern, piece, 80_000)
    const name = `${pattern} on ${piece.slice(0, 12)}…`
    for (const [size, { steps, read }] of [
      [40_000, once],
      [80_000, twice],
    ] as const) {
      // As it is, folded, and with the last word of two scripts; once more where the window is full.
      t.ok(steps <= 6 * size, `${name}: ${steps} steps for ${size} characters`)
      // Up to 16 times where the pattern is cheap, folded as well, and a few windows more.
      t.ok(read <= 2 * (16 * size + 4 * 8_448), `${name}: ${read} of ${size} characters read`)
    }
    t.ok(twice.steps <= 2.2 * once.steps && twice.read <= 2.2 * once.read + 20_000, `${name}: twice the text, twice the work`)
  }
})

const PATTERNS = [...new Set(HARD.map(([pattern]) => pattern)), 'aa', '\\bid\\b', '^x', 'c$']
const policies = PATTERNS.map((pattern) => {
  const rules = patternRules([pattern])
  return { answers: new AnswerPolicy(rules), requests: new TextPolicy(rules) }
})
const unit = fc.constantFrom(
  ...[
    'id ',
    'a ',
    'abc,',
    '1234',
    '567-',
    'x',
    'y',
    'z',
    'q',
    'aa',
    'c',
    'BEGIN',
    'END',
    '\u2014',
    '\u00a0',
    '\u200b',
    '\u2026',
    '\ud83d\ude00',
  ],
  ...['р\u0430ypal', 'р\u0430у', 'слово ', '\u0430', 'ω', '\ud835\udc1a', '\ud83d', '. ', '\n'],
  // A word of two scripts is followed for 128 letters only: none that ends with this may turn out to be one later.
  `${'q'.repeat(150)} `,
)

t.test('whatever the cut, what goes out is what a look at the whole text gives', async (t) => {
  let hits = 0
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
      fc.nat(PATTERNS.length - 1),
      (units, sizes, number) => {
        const text = units.join('')
        const { answers, requests } = policies[number]
        const scan = new Scan(requests)
        for (const _ of scan.read([{ texts: [text], user: true }]));
        const expected = scan.replaced.get(text) ?? text
        if (expected !== text) hits++
        let out = ''
        const stream = new TextStream(answers, new Findings(), (decided, spans) => {
          out += redacted(decided, spans)
        })
        for (let at = 0, i = 0; at < text.length; at += sizes[i++ % sizes.length]) stream.push(text.slice(at, at + sizes[i % sizes.length]))
        stream.end()
        if (out !== expected) {
          throw new Error(`${PATTERNS[number]} on ${JSON.stringify(text)}: ${JSON.stringify(out)}, expected ${JSON.stringify(expected)}`)
        }
      },
    ),
    property(1_200, 100_000),
  )
  t.ok(hits > 100, `${hits} texts held something`)
})

t.test('what only resembles a match goes on as soon as it cannot become one', async (t) => {
  const answers = new AnswerPolicy(patternRules(['(?:x[^y]{0,500}y|y[^z]*z)', '(\\d+-)*\\d{4}', '([a-z]+ )*id\\b']))
  let out = ''
  const stream = new TextStream(answers, new Findings(), (decided, spans) => {
    out += redacted(decided, spans)
  })
  const after = ['12-3', '4-5.', ' x', 'a'.repeat(500), 'bb. ', 'An\u00a0', 'idea. ', 'Р\u0430', 'з. '].map((piece) => {
    stream.push(piece)
    return out.length
  })
  t.same(after, [0, 8, 9, 9, 514, 515, 523, 523, 528])
  stream.end()
  t.equal(out, `12-34-5. x${'a'.repeat(500)}bb. An\u00a0idea. Р\u0430з. `)
})
