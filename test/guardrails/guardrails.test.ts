import fc from 'fast-check'
import { RE2JS } from 're2js'
import t from 'tap'
import type { CanonicalRequest, Item } from '../../src/canon/request.ts'
import { Fault, faultBody } from '../../src/core/faults.ts'
import {
  type ContentFilter,
  compilePatterns,
  guardrailFault,
  guardrailStage,
  ownTexts,
  patternProblem,
  requestTexts,
} from '../../src/guardrails/index.ts'
import { prefilterOf } from '../../src/guardrails/prefilter.ts'

const block = (pattern: string, label?: string): ContentFilter => ({ pattern, action: 'block', ...(label ? { label } : {}) })
const request = (...items: Item[]): CanonicalRequest => ({ items, tools: [], sampling: {}, stream: false, used: new Set() })
const user = (...texts: string[]): Item => ({ kind: 'message', role: 'user', parts: texts.map((text) => ({ kind: 'text', text })) })

t.test('a match is told with its text and the label of its filter', async (t) => {
  const scanner = compilePatterns([block('forbidden-[0-9]{4}', 'FORBIDDEN'), block('(?i)top secret')])
  t.equal(scanner.scan(['a harmless text', '']), undefined)
  t.same(scanner.scan(['see forbidden-1234 and forbidden-9999, forbidden-1234']), {
    matched: ['forbidden-1234', 'forbidden-9999'],
    label: 'FORBIDDEN',
  })
  t.same(scanner.scan(['ToP SeCrEt']), { matched: ['ToP SeCrEt'] }, 'no label where the filter has none')
  t.same(scanner.scan(['one', 'TOP SECRET', 'forbidden-0000'])?.matched, ['TOP SECRET', 'forbidden-0000'], 'all texts are read')
  t.equal(scanner.scan(['FORBIDDEN-1234']), undefined, 'case counts unless the pattern says otherwise')
})

t.test('what is told stays small', async (t) => {
  const finding = compilePatterns([block('x[0-9]+'), block('y+')]).scan([
    Array.from({ length: 100 }, (_, i) => `x${i}`).join(' '),
    'y'.repeat(100_000),
  ])
  t.equal(finding?.matched.length, 20)
  const long = compilePatterns([block('y+')]).scan(['y'.repeat(100_000)])
  t.ok((long?.matched[0].length ?? 0) <= 501)
})

t.test('patterns that RE2 cannot take are refused by name', async (t) => {
  const refused = [
    '(?=a)b',
    '(?!a)b',
    '(?<=a)b',
    '(?<!a)b',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '\\h+',
    '\\x4',
    'a\\u00zz',
    '[a-z',
    'a{2,1}',
    '',
    'x*',
    '^',
    'a'.repeat(100_001),
  ]
  for (const pattern of refused) {
    t.type(patternProblem(pattern), 'string', pattern.slice(0, 20))
    try {
      compilePatterns([block('fine'), block(pattern)], 'guardrails[0].content_filters')
      t.fail(`${pattern} compiled`)
    } catch (problem) {
      t.ok(problem instanceof Fault)
      if (!(problem instanceof Fault)) continue
      t.equal(problem.status, 400)
      t.match(problem.message, 'guardrails[0].content_filters[1].pattern: ')
      t.ok(problem.message.includes(pattern.slice(0, 100)), 'the pattern is in the message')
      t.ok(problem.message.length < 1500)
    }
  }
  for (const pattern of ['forbidden-[0-9]{4}', '\\u0041b', '(?<name>x)y', '\\bword\\b', 'a\\/b'])
    t.equal(patternProblem(pattern), undefined, pattern)
})

t.test('patterns that hang a backtracking engine end, and RE2 is what ran', async (t) => {
  const evil = ['(a+)+$', '([a-zA-Z]+)*b$', '(a|aa)+c', '(a|a+)+d', '(.*a){12}e$', '^(([a-z])+.)+[A-Z]([a-z])+$']
  const text = `${'a'.repeat(100_000)}!`
  const original = RE2JS.prototype.test
  const ran: string[] = []
  t.teardown(() => {
    RE2JS.prototype.test = original
  })
  RE2JS.prototype.test = function test(this: RE2JS, input) {
    ran.push(this.pattern())
    return original.call(this, input)
  }
  for (const pattern of evil) {
    // The tail lets every prefilter pass, so that the expression itself has to run.
    const scanner = compilePatterns([block(pattern)])
    ran.length = 0
    t.equal(scanner.scan([`${text}bcde!`]), undefined, pattern)
    t.same(ran, [pattern], 'one linear run')
  }
})

const samples = [
  'forbidden-[0-9]{4}',
  '(?i)project (?:blue|green) book',
  'abc?d+e*fg',
  '(foo|bar)baz|quux',
  '(?P<x>hello)?world',
  '\\bpass\\.word\\b',
  'ab{0,2}cd{2}ef',
  '[abc]def|[^x]ghi',
  'x(?:yz)+w',
  '(?i)ab-cd|ef',
  'émile😀?z',
]

t.test('a prefilter never hides a match', async (t) => {
  t.ok(
    samples.every((pattern) => prefilterOf(pattern)),
    'each of the samples has a prefilter',
  )
  const char = fc.constantFrom(...'abcdefgh.-|()[]?*+{}^$\\é😀ſKksKS 012,x')
  const atom = fc.oneof(
    { weight: 5, arbitrary: fc.stringMatching(/^[a-hks]{1,4}$/) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '\\d',
        '\\.',
        '[a-c]',
        '[^a]',
        '.',
        '\\b',
        '\\x61',
        '\\x{62}',
        '[]a]',
        '\\Qa.b\\E',
        '^',
        '$',
        'é',
        '{a',
        '\\-',
      ),
    },
  )
  const repeat = fc.constantFrom('', '', '', '', '?', '*', '+', '{0}', '{2}', '{0,2}', '{1,}', '+?', '??')
  const alternation = (piece: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc
      .array(fc.array(piece, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
      .map((options) => options.map((all) => all.join('')).join('|'))
  const repeated = (piece: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.tuple(piece, repeat).map((both) => both.join(''))
  const group = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(fc.constantFrom('(', '(?:', '(?:', '(?i:'), inner).map(([open, body]) => `${open}${body})`)
  const simple = repeated(atom)
  const nested = repeated(fc.oneof(atom, group(alternation(simple))))
  const pattern = alternation(repeated(fc.oneof(atom, atom, group(alternation(nested)))))
  const text = fc.oneof(
    fc.string({ unit: char, maxLength: 30 }),
    fc
      .array(fc.constantFrom('ab', 'bc', 'cd', 'a', 'k', 's', 'ſ', 'K', 'AB', ' ', 'é', '1'), { maxLength: 12 })
      .map((pieces) => pieces.join('')),
  )
  let prefiltered = 0
  let matches = 0
  const holds = (source: string, candidate: string): boolean => {
    let expression: RE2JS
    try {
      expression = RE2JS.compile(RE2JS.translateRegExp(source))
    } catch {
      return true
    }
    const prefilter = prefilterOf(expression.pattern())
    if (!prefilter) return true
    prefiltered++
    if (!expression.test(candidate)) return true
    matches++
    return prefilter(candidate)
  }
  fc.assert(
    fc.property(pattern, fc.boolean(), fc.array(text, { minLength: 5, maxLength: 10 }), (source, folded, texts) =>
      texts.every(
        (candidate) =>
          holds(folded ? `(?i)${source}` : source, candidate) && holds(folded ? `(?i)${source}` : source, `${candidate}${source}`),
      ),
    ),
    { numRuns: 1500 },
  )
  t.ok(prefiltered > 2000, `${prefiltered} texts met a prefilter`)
  t.ok(matches > 500, `${matches} of them matched`)
})

t.test('a prefilter keeps texts away from the expression', async (t) => {
  for (const [pattern, passes, stops] of [
    ['forbidden-[0-9]{4}', 'forbidden-x', 'forbid'],
    ['(?i)Abc-def', 'ABC-DEF', 'abcdef'],
    ['(foo|bar)+', 'a bar', 'a baz'],
  ]) {
    const prefilter = prefilterOf(pattern)
    t.equal(prefilter?.(passes), true, pattern)
    t.equal(prefilter?.(stops), false, pattern)
  }
  for (const pattern of ['[a-z]+', 'a?b?', 'foo|.x', '\\x41bc', 'abc(?i)def', '(?i)sks']) t.equal(prefilterOf(pattern), undefined, pattern)
})

t.test('the texts of a request: everything that travels, in every form that could hide a match', async (t) => {
  const all = request(
    { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'rules' }] },
    user('forbid', 'den-1234'),
    { kind: 'reasoning', text: 'thought', summary: ['short thought'] },
    { kind: 'call', callId: 'c1', name: 'look', args: '{"q":"\\u0066oo"}' },
    {
      kind: 'result',
      callId: 'c1',
      parts: [
        { kind: 'text', text: 'found' },
        { kind: 'opaque', of: { dialect: 'x', type: 'y', data: { deep: [{ in: 'inside' }] } } },
      ],
    },
    { kind: 'opaque', of: { dialect: 'x', type: 'y', data: { text: 'sealed', n: 1, none: null } } },
  )
  const texts = [...requestTexts(all)]
  for (const text of [
    'rules',
    'forbid',
    'den-1234',
    'forbidden-1234',
    'thought',
    'short thought',
    'look',
    'foo',
    'found',
    'inside',
    'sealed',
  ]) {
    t.ok(texts.includes(text), text)
  }
  const once = [...ownTexts(all)]
  t.notOk(once.includes('forbidden-1234'))
  t.notOk(once.includes('foo'))
  t.ok(once.includes('inside'))
  t.same(compilePatterns([block('forbidden-[0-9]+')]).scan(requestTexts(all))?.matched, ['forbidden-1234'])
  t.same(
    [...requestTexts(request({ kind: 'call', callId: 'c', name: 'f', args: '{"broken\\' }))],
    ['f', '{"broken\\'],
    'broken arguments are read as they are',
  )
})

t.test('nesting is no matter of recursion', async (t) => {
  let data: { [key: string]: unknown } = { text: 'bottom-line' }
  for (let i = 0; i < 100_000; i++) data = { a: data }
  const texts = requestTexts(request({ kind: 'opaque', of: { dialect: 'x', type: 'y', data: JSON.parse('{}') } }))
  t.same([...texts], [])
  const item = { kind: 'opaque', of: { dialect: 'x', type: 'y', data } } as Item
  t.same(compilePatterns([block('bottom-line')]).scan(requestTexts(request(item)))?.matched, ['bottom-line'])
})

t.test('fault and stage of a block', async (t) => {
  const finding = { matched: ['forbidden-1234'], label: 'FORBIDDEN' }
  const fault = guardrailFault(finding)
  t.equal(fault.code, 'guardrail_blocked')
  t.same(faultBody(fault), {
    error: {
      code: 403,
      message: 'Request blocked by content filter: FORBIDDEN',
      metadata: { error_type: 'permission_denied', patterns: ['forbidden-1234'] },
    },
  })
  t.equal(guardrailFault({ matched: ['x'] }).message, 'Request blocked by content filter: [BLOCKED]')
  t.same(guardrailStage('no-secrets', finding), {
    type: 'guardrail',
    name: 'content-filter',
    guardrail_id: 'no-secrets',
    guardrail_scope: 'api-key',
    summary: 'Request blocked by content filter: FORBIDDEN',
    data: { action: 'blocked', detected: true, engines: ['regex'], patterns: ['forbidden-1234'] },
  })
})
