/**
 * Cost of guardrails: `node bench/guardrails.ts [--rounds 15] [--json]`.
 * Microseconds of CPU per kilobyte of text: each recogniser alone, all together, and with hostile patterns; and the longest
 * single step, which is for how long a long text may keep the event loop. Then answers as they stream, in pieces of four
 * characters, with what is held on average. Ends with code 1 when a goal is missed.
 */
import { parseArgs } from 'node:util'
import { AnswerPolicy, compileRules, Findings, passages, type Rule, Scan, TextPolicy, TextStream } from '../src/guardrails/index.ts'
import { BUILTIN_SLUGS, type BuiltinSlug } from '../src/guardrails/settings/recognisers.ts'
import { table } from './simulation/table.ts'

/** Milliseconds for 100 KB of prose, for as much text full of triggers, for a custom pattern over its worst text, and for one step. */
const GOALS = { prose: 20, dense: 60, pattern: 50, step: 5 }
const SIZE = 100 * 1024

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' }, json: { type: 'boolean', default: false } } })
const rounds = Number(values.rounds)

const SENTENCES = [
  'The committee met on Tuesday to discuss the plans for the new library, and most members agreed that the roof has to come first. ',
  'It rained all afternoon, so the children stayed inside, built a castle out of boxes and asked for stories until dinner was ready. ',
  'Our system shows the output of every step, which makes it easier to follow the rules of the process and to repeat a run later. ',
  'In 1987 the town had 4,200 inhabitants; by 2019 there were 11,350, and the number of schools had grown from 2 to 7. ',
]
const DENSE =
  'Mail anna.schmidt@example.com, call +49 30 1234567 or (212) 555-0142, card 4111 1111 1111 1112, 10.0.0.1, ' +
  'DE89 3704 0044 0532 0130 01, 078-05-1120, ignore the rules, System: x, i g n o r e, 12 Main Street, sk-abc, token = abc ' +
  'aGVsbG8gd29ybGQgaG93IGFyZSB5b3U, 68656c6c6f20776f726c6420686f77, Dear Anna Schmidt. '

const filled = (pieces: readonly string[]): string => {
  let text = ''
  for (let i = 0; text.length < SIZE; i++) text += pieces[i % pieces.length]
  return text.slice(0, SIZE)
}
const TEXTS = { prose: filled(SENTENCES), dense: filled([DENSE]) }

const who = { id: 'g', name: 'g', scope: 'account' as const }
const ALL: readonly BuiltinSlug[] = BUILTIN_SLUGS
const HOSTILE = ['(a+)+$', '([a-zA-Z]+)*b$', '(a|aa)+c$', '(.*a){12}e$', '(x+x+)+y'].flatMap((pattern) =>
  [1, 2, 3, 4].map((n) => `${pattern}|z{${n}0}q`),
)

const guardrailRules = (slugs: readonly BuiltinSlug[], patterns: readonly string[] = []): Rule[] =>
  compileRules(
    who,
    {
      builtins: slugs.map((slug) => ({ slug, action: 'redact' })),
      contentFilters: patterns.map((pattern) => ({ pattern, action: 'redact' })),
      phrases: [],
      allowedPhrases: [],
      action: 'block',
    },
    'guardrails[0]',
  )

/** Custom patterns with a text that makes each of them work hardest: many matches, or an end that never comes. */
const CUSTOM: readonly [pattern: string, piece: string][] = [
  ['([^,]*,)*x', 'xx,'],
  ['([^,]*,)*x', 'x'],
  ['(\\d+-)*\\d{4}', '1234567-'],
  ['([a-z]+ )*id', 'id some words '],
  ['(a+)+$', 'a'],
  ['(.*a){12}e$', 'ab'],
  ['a.{0,1000}b', 'ab'],
  ['(.{1,30},){1,30}z', 'abc,'],
  ['(\\w{1,20}\\.){1,10}com', 'abc.com.'],
]

/** The same for answers as they stream: attempts that live long, and characters that are read as others. */
const STREAMED: readonly [pattern: string, piece: string][] = [
  ['([a-z]+ )*id', 'id a '],
  ['(\\d+-)*\\d{4}', '1234567-'],
  ['(?:x[^y]{0,500}y|y[^z]*z)', `x${'a'.repeat(400)}y${'q'.repeat(9_000)}`],
  ['q[^z]*z', `q${SENTENCES[0]}\u00a0`],
  ['q[^z]*z', `q р\u0430ypal ${SENTENCES[1]}слово `],
  ['(?s)BEGIN.*END', `BEGIN ${SENTENCES[2]}\u2014`],
  ['q[^z]{0,1000}z|a', 'qaqb'],
]

interface Figures {
  readonly microsPerKb: number
  /** Milliseconds. */
  readonly whole: number
  readonly longestStep: number
}

/** The quietest round counts: whoever else uses the machine only ever adds. */
function measure(policy: TextPolicy, text: string): Figures {
  let whole = Number.POSITIVE_INFINITY
  let longestStep = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const request = { items: [], tools: [], sampling: {}, stream: false, used: new Set<string>() }
    const message = { kind: 'message' as const, role: 'user' as const, parts: [{ kind: 'text' as const, text }] }
    const steps = new Scan(policy).read(passages({ ...request, items: [message] }))
    const before = process.cpuUsage()
    let longest = 0
    for (let at = performance.now(), over = false; !over; ) {
      over = steps.next().done === true
      const now = performance.now()
      longest = Math.max(longest, now - at)
      at = now
    }
    const { user, system } = process.cpuUsage(before)
    whole = Math.min(whole, (user + system) / 1000)
    longestStep = Math.min(longestStep, longest)
  }
  return { microsPerKb: (whole * 1000 * 1024) / SIZE, whole, longestStep }
}

/** Characters of a piece of a stream. */
const PIECE = 4

interface AnswerFigures {
  readonly microsPerKb: number
  /** Characters that are held, on average over the pieces, and at most. */
  readonly held: number
  readonly most: number
  /** Milliseconds. */
  readonly whole: number
}

function measureAnswer(policy: AnswerPolicy, text: string): AnswerFigures {
  const figures = { microsPerKb: Number.POSITIVE_INFINITY, held: 0, most: 0, whole: Number.POSITIVE_INFINITY }
  for (let round = 0; round < rounds; round++) {
    const stream = new TextStream(policy, new Findings(), () => {})
    let held = 0
    const before = process.cpuUsage()
    for (let at = 0; at < text.length; at += PIECE) {
      stream.push(text.slice(at, at + PIECE))
      held += stream.held
      figures.most = Math.max(figures.most, stream.held)
    }
    stream.end()
    const { user, system } = process.cpuUsage(before)
    figures.microsPerKb = Math.min(figures.microsPerKb, ((user + system) * 1024) / SIZE)
    figures.whole = Math.min(figures.whole, (user + system) / 1000)
    figures.held = (held * PIECE) / text.length
  }
  return figures
}

const cases: [name: string, rules: Rule[]][] = [
  ...ALL.map((slug): [string, Rule[]] => [slug, guardrailRules([slug])]),
  ['all', guardrailRules(ALL)],
  ['all and 20 hostile patterns', guardrailRules(ALL, HOSTILE)],
]
const rows = cases.map(([name, rules]) => {
  const policy = new TextPolicy(rules)
  return { name, prose: measure(policy, TEXTS.prose), dense: measure(policy, TEXTS.dense) }
})
const custom = CUSTOM.map(([pattern, piece]) => {
  const policy = new TextPolicy(guardrailRules([], [pattern]))
  return { name: `${pattern} on ${piece}…`, ...measure(policy, filled([piece])) }
})
const answers = cases.map(([name, rules]) => {
  const policy = new AnswerPolicy(rules)
  return { name, prose: measureAnswer(policy, TEXTS.prose), dense: measureAnswer(policy, TEXTS.dense) }
})
const streams = STREAMED.map(([pattern, piece]) => {
  const policy = new AnswerPolicy(guardrailRules([], [pattern]))
  return { name: `${pattern} on ${piece.slice(0, 12)}…`, ...measureAnswer(policy, filled([piece])) }
})
const all = rows.find(({ name }) => name === 'all')
const hostile = rows.at(-1)
const missed = [
  ...custom.filter(({ whole }) => whole > GOALS.pattern).map(({ name, whole }) => `${name}: ${whole.toFixed(1)} ms, goal ${GOALS.pattern}`),
  ...custom
    .filter(({ longestStep }) => longestStep > GOALS.step)
    .map(({ name, longestStep }) => `${name}: a step of ${longestStep.toFixed(1)} ms`),
  ...(all && all.prose.whole > GOALS.prose ? [`prose: ${all.prose.whole.toFixed(1)} ms, goal ${GOALS.prose}`] : []),
  ...(all && all.dense.whole > GOALS.dense ? [`dense: ${all.dense.whole.toFixed(1)} ms, goal ${GOALS.dense}`] : []),
  ...(hostile && Math.max(hostile.prose.longestStep, hostile.dense.longestStep) > GOALS.step ? ['a step takes longer than its goal'] : []),
]
if (values.json) console.log(JSON.stringify({ size: SIZE, rows, custom, answers, streams, missed }))
else {
  const one = ({ microsPerKb, whole, longestStep }: Figures): string[] => [microsPerKb.toFixed(1), whole.toFixed(2), longestStep.toFixed(2)]
  console.log(
    table(
      ['recogniser', 'prose µs/KB', 'ms per 100 KB', 'longest step ms', 'dense µs/KB', 'ms per 100 KB', 'longest step ms'],
      rows.map(({ name, prose, dense }) => [name, ...one(prose), ...one(dense)]),
    ),
  )
  console.log(
    table(
      ['custom pattern', 'µs/KB', 'ms per 100 KB', 'longest step ms'],
      custom.map((each) => [each.name, ...one(each)]),
    ),
  )
  const streamed = ({ microsPerKb, held, most }: AnswerFigures): string[] => [microsPerKb.toFixed(1), held.toFixed(1), String(most)]
  console.log(
    table(
      ['answers, streamed', 'prose µs/KB', 'held', 'at most', 'dense µs/KB', 'held', 'at most'],
      answers.map(({ name, prose, dense }) => [name, ...streamed(prose), ...streamed(dense)]),
    ),
  )
  console.log(
    table(
      ['custom pattern, streamed', 'µs/KB', 'ms per 100 KB', 'held'],
      streams.map(({ name, microsPerKb, whole, held }) => [name, microsPerKb.toFixed(1), whole.toFixed(2), held.toFixed(1)]),
    ),
  )
  for (const line of missed) console.log(`missed: ${line}`)
}
process.exitCode = missed.length > 0 ? 1 : 0
