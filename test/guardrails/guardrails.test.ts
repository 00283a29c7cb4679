import fc from 'fast-check'
import type { RE2JS } from 're2js'
import t from 'tap'
import { Fault, faultBody } from '../../src/core/faults.ts'
import type { CanonicalRequest, Item } from '../../src/dialects/canon/request.ts'
import {
  type BuiltinFilter,
  blockFault,
  type ContentFilter,
  compileRules,
  hitStages,
  passages,
  rewrite,
  Scan,
  TextPolicy,
} from '../../src/guardrails/index.ts'
import { patternDetector } from '../../src/guardrails/pattern.ts'
import { linearRegex } from '../../src/machines/linear-regex/linear-regex.ts'
import { patternProblem } from '../../src/machines/linear-regex/pattern.ts'
import { patternPrefilter } from '../../src/machines/linear-regex/prefilter.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const block = (pattern: string, label?: string): ContentFilter => ({ pattern, action: 'block', ...(label ? { label } : {}) })
const hide = (pattern: string, label?: string): ContentFilter => ({ ...block(pattern, label), action: 'redact' })
const request = (...items: Item[]): CanonicalRequest => ({ items, tools: [], sampling: {}, stream: false, used: new Set() })
const user = (...texts: string[]): Item => ({ kind: 'message', role: 'user', parts: texts.map((text) => ({ kind: 'text', text })) })
const call = (args: string): Item => ({ kind: 'call', callId: 'c1', name: 'look', args })

interface Filters {
  patterns?: readonly ContentFilter[]
  builtins?: readonly BuiltinFilter[]
  phrases?: readonly string[]
  allowed?: readonly string[]
  action?: 'flag' | 'redact' | 'block'
}

const EMAIL: BuiltinFilter = { slug: 'email', action: 'redact' }
const who = { id: 'g1', name: 'first', scope: 'api-key' as const }

/** Reads a request for the filters. */
function scanned(filters: Filters, all: CanonicalRequest): Scan {
  const { patterns = [], builtins = [], phrases = [], allowed = [], action = 'block' } = filters
  const rules = compileRules(who, { contentFilters: patterns, builtins, phrases, allowedPhrases: allowed, action }, 'guardrails[0]')
  const scan = new Scan(new TextPolicy(rules))
  for (const _step of scan.read(passages(all)));
  return scan
}

const matched = (filters: Filters, ...items: Item[]): string[] =>
  [...scanned(filters, request(...items)).hits.values()].flatMap((hit) => hit.matched)

/** The request as it goes out. */
function sent(filters: Filters, all: CanonicalRequest): CanonicalRequest {
  const { replaced } = scanned(filters, all)
  rewrite(all, (text) => replaced.get(text))
  return all
}

/** The text of its messages and results, part by part. */
function requestTexts({ items }: CanonicalRequest): string[] {
  return items
    .flatMap((item) => (item.kind === 'message' || item.kind === 'result' ? item.parts : []))
    .flatMap((part) => ('text' in part ? [part.text] : []))
}

t.test('a match is told with its text and the label of its filter', async (t) => {
  const patterns = [block('forbidden-[0-9]{4}', 'FORBIDDEN'), block('(?i)top secret')]
  t.same(matched({ patterns }, user('a harmless text', '')), [])
  t.same(matched({ patterns }, user('see forbidden-1234 and forbidden-9999, forbidden-1234')), ['forbidden-1234', 'forbidden-9999'])
  t.same(matched({ patterns }, user('ToP SeCrEt')), ['ToP SeCrEt'])
  t.same(
    matched({ patterns }, user('one'), user('TOP SECRET'), user('forbidden-0000')),
    ['TOP SECRET', 'forbidden-0000'],
    'all texts are read',
  )
  t.same(matched({ patterns }, user('FORBIDDEN-1234')), [], 'case counts unless the pattern says otherwise')
})

t.test('a report has at most 20 matches of 500 characters', async (t) => {
  const many = Array.from({ length: 100 }, (_, i) => `x${i}`).join(' ')
  t.equal(matched({ patterns: [block('x[0-9]+')] }, user(many)).length, 20)
  const [long] = matched({ patterns: [block('y+')] }, user('y'.repeat(100_000)))
  t.ok(long.length <= 501)
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
  await every(t, 'every pattern', async (t) => {
    for (const pattern of refused) {
      t.type(patternProblem(pattern), 'string', pattern.slice(0, 20))
      try {
        scanned({ patterns: [block('fine'), block(pattern)] }, request())
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
  })
  await every(t, 'every pattern', async (t) => {
    for (const pattern of ['forbidden-[0-9]{4}', '\\u0041b', '(?<name>x)y', '\\bword\\b', 'a\\/b'])
      t.equal(patternProblem(pattern), undefined, pattern)
  })
})

t.test('patterns that hang a backtracking engine end', async (t) => {
  const evil = ['(a+)+$', '([a-zA-Z]+)*b$', '(a|aa)+c', '(a|a+)+d', '(.*a){12}e$', '^(([a-z])+.)+[A-Z]([a-z])+$']
  const text = `${'a'.repeat(100_000)}!`
  // The tail lets every prefilter pass, so that the expression itself has to run.
  await every(t, 'every pattern', async (t) => {
    for (const pattern of evil) t.same(matched({ patterns: [block(pattern)] }, user(`${text}bcde!`)), [], pattern)
  })
})

t.test('a match is found wherever it lies in a long text, and once', async (t) => {
  const filler = 'lorem ipsum dolor '
  await every(t, 'every round', async (t) => {
    for (const at of [0, 2_040, 32_760, 36_800, 65_530, 99_990]) {
      const text = `${filler.repeat(6_000).slice(0, at)} secret-1234 x@example.com ${filler.repeat(1_000)}`
      const scan = scanned({ patterns: [hide('secret-[0-9]{4}')], builtins: [EMAIL] }, request(user(text)))
      t.equal(scan.replaced.get(text), text.replace('secret-1234', '[REDACTED]').replace('x@example.com', '[EMAIL]'), `at ${at}`)
    }
  })
  const long = `a${'y'.repeat(10_000)}b`
  t.equal(scanned({ patterns: [hide('y+')] }, request(user(long))).replaced.get(long), 'a[REDACTED]b', 'longer than any piece')
  t.same(matched({ patterns: [block('^begin')] }, user(`${'x'.repeat(40_000)}begin`)), [], 'a piece does not begin a text')
  t.same(matched({ patterns: [block('end$')] }, user(`${'x'.repeat(32_765)}end${'x'.repeat(90_000)}`)), [], 'nor does it end one')
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
    samples.every((pattern) => patternPrefilter(pattern)),
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
      expression = linearRegex().compile(linearRegex().translateRegExp(source))
    } catch {
      return true
    }
    const prefilter = patternPrefilter(expression.pattern())
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
    property(1500, 15_000),
  )
  t.ok(prefiltered > 2000, `${prefiltered} texts met a prefilter`)
  t.ok(matches > 500, `${matches} of them matched`)
})

t.test('a prefilter keeps texts away from the expression', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [pattern, passes, stops] of [
      ['forbidden-[0-9]{4}', 'forbidden-x', 'forbid'],
      ['(?i)Abc-def', 'ABC-DEF', 'abcdef'],
      ['(foo|bar)+', 'a bar', 'a baz'],
    ]) {
      const prefilter = patternPrefilter(pattern)
      t.equal(prefilter?.(passes), true, pattern)
      t.equal(prefilter?.(stops), false, pattern)
    }
  })
  await every(t, 'every pattern', async (t) => {
    for (const pattern of ['[a-z]+', 'a?b?', 'foo|.x', '\\x41bc', 'abc(?i)def', '(?i)sks'])
      t.equal(patternPrefilter(pattern), undefined, pattern)
  })
})

t.test('everything that a provider reads is read, in every form that could hide a match', async (t) => {
  const all = request(
    { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'word-1' }] },
    { ...user('word', '-2'), name: 'word-3' } as Item,
    { kind: 'reasoning', text: 'word-4', summary: ['word-5'] },
    call('{"q":"\\u0077ord-6"}'),
    {
      kind: 'result',
      callId: 'c1',
      parts: [
        { kind: 'text', text: 'word-7' },
        { kind: 'opaque', of: { dialect: 'x', type: 'y', data: { deep: [{ in: 'word-8' }] } } },
        { kind: 'media', media: 'file', data: 'word-9', format: 'text' },
        { kind: 'media', media: 'file', url: `data:text/plain;base64,${Buffer.from('word-10').toString('base64')}` },
      ],
    },
    { kind: 'opaque', of: { dialect: 'x', type: 'y', data: { text: 'word-11', n: 1, none: null } } },
  )
  all.tools.push({ kind: 'function', name: 'f', description: 'word-12', parameters: { properties: { a: { description: 'word-13' } } } })
  const found = [...scanned({ patterns: [block('word-[0-9]+')] }, all).hits.values()].flatMap((hit) => hit.matched)
  t.same([...found].sort(), Array.from({ length: 13 }, (_, i) => `word-${i + 1}`).sort())
  t.same(matched({ patterns: [block('bro')] }, call('{"broken\\')), ['bro'], 'broken arguments are read as they are')
  t.same(
    matched({ patterns: [block('hidden')] }, call('{"a":"\\u0068idden","a":"fine"}')),
    ['hidden'],
    'of a name said twice both are read',
  )
})

t.test('redaction changes what goes out, and nothing else', async (t) => {
  const filters: Filters = { builtins: [EMAIL, { slug: 'credit-card', action: 'redact' }], patterns: [hide('secret-[0-9]+', '[CODE]')] }
  t.same(requestTexts(sent(filters, request(user('mail a@example.com and b@example.com, secret-12')))), [
    'mail [EMAIL] and [EMAIL], [CODE]',
  ])
  t.same(requestTexts(sent(filters, request(user('a@exam', 'ple.com', ' and more')))), ['[EMAIL]', ' and more'], 'over the border of parts')
  const redactedArgs = (args: string): string => {
    const [item] = sent(filters, request(call(args))).items
    return item.kind === 'call' ? item.args : ''
  }
  t.equal(redactedArgs('{"to":"a@example.com","n":1}'), '{"to":"[EMAIL]","n":1}')
  t.equal(redactedArgs('{"to":"\\u0061@example.com"}'), '{"to":"[EMAIL]"}', 'escapes hide nothing')
  t.equal(redactedArgs('{"card":4111111111111111}'), '{"card":"[CREDIT_CARD]"}', 'a number becomes a text')
  t.equal(redactedArgs('{"a":"a@example.com","a":"x"}'), '{"a":"x"}', 'a name said twice is said once')
  t.equal(redactedArgs('not json: a@example.com'), 'not json: [EMAIL]')
  t.equal(redactedArgs('{"fine": "as it was"}'), '{"fine": "as it was"}')
  const file = sent(
    filters,
    request({ kind: 'message', role: 'user', parts: [{ kind: 'media', media: 'file', data: 'x a@example.com', format: 'text' }] }),
  )
  t.match(file.items, [{ parts: [{ data: 'x [EMAIL]', format: 'text' }] }])
  const thought = sent(filters, request({ kind: 'reasoning', text: 'a@example.com', signature: 'sig' }))
  t.match(thought.items, [{ text: '[EMAIL]', signature: undefined }], 'what was signed is not sent as signed')
})

t.test('block beats redact beats flag, over all rules; a flag changes nothing', async (t) => {
  const text = 'a@example.com'
  const both = scanned({ builtins: [EMAIL, { slug: 'email', action: 'block' }] }, request(user(text)))
  t.equal(blockFault(both.hits.values())?.message, 'Request blocked by content filter: email')
  const flagged = scanned({ builtins: [{ slug: 'email', action: 'flag' }] }, request(user(text)))
  t.equal(flagged.replaced.size, 0)
  t.equal(blockFault(flagged.hits.values()), undefined)
  t.match(hitStages(flagged.hits.values()), [
    { name: 'content-filter', data: { action: 'flagged', flagged: true, matched_entity_types: ['EMAIL'] } },
  ])
  const seen = JSON.stringify(hitStages(scanned({ builtins: [EMAIL] }, request(user(text))).hits.values()))
  t.match(seen, 'redacted')
  t.notMatch(seen, 'example.com', 'what was hidden is not shown')
})

t.test('phrases: any case, any spaces, whole words', async (t) => {
  const phrases = ['Project Aurora', 'class', '内部文件', 'a.b*c']
  await every(t, 'every text', async (t) => {
    for (const text of ['project  AURORA', 'PROJECT\naurora.', 'a class!', '这是内部文件吗', 'x a.b*c y'])
      t.equal(matched({ phrases }, user(text)).length, 1, text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of ['classes', 'subclass', 'project auroras', 'aXbc', 'projectaurora'])
      t.same(matched({ phrases }, user(text)), [], text)
  })
  const many = Array.from({ length: 1000 }, (_, i) => `phrase number ${i} with some words`)
  t.same(matched({ phrases: many }, user('see Phrase Number 512 with some words here')), ['Phrase Number 512 with some words'])
  t.same(requestTexts(sent({ phrases, action: 'redact' }, request(user('the Project Aurora')))), ['the [REDACTED]'])
})

t.test('what only looks different is found, and hidden where it stands', async (t) => {
  const hidden = ['a\u200b@exam\u00adple.com', 'ａ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'a@ex\u2060ample.com']
  await every(t, 'every text', async (t) => {
    for (const text of hidden)
      t.same(requestTexts(sent({ builtins: [EMAIL] }, request(user(`mail ${text} now`)))), ['mail [EMAIL] now'], JSON.stringify(text))
  })
  t.same(
    requestTexts(
      sent(
        { builtins: [{ slug: 'credit-card', action: 'redact' }] },
        request(user('4111\u00a01111\u20111111\u00a01111 4111\u00a01111\u00a01111\u00a01111')),
      ),
    ).length,
    1,
  )
  t.same(requestTexts(sent({ patterns: [hide('secret')] }, request(user('a s\u200becret')))), ['a [REDACTED]'])
  t.same(
    requestTexts(sent({ patterns: [hide('ｗｉｄｅ')] }, request(user('a ｗｉｄｅ word')))),
    ['a [REDACTED] word'],
    'a pattern may mean the form itself',
  )
  t.same(matched({ phrases: ['secret plan'] }, user('ѕесrеt рlаn')).length, 1, 'letters of other scripts')
})

t.test('redaction of any text leaves nothing that would be found again', async (t) => {
  const filters: Filters = {
    builtins: (['email', 'phone', 'ssn', 'credit-card', 'ip-address', 'iban', 'api-key'] as const).map((slug) => ({
      slug,
      action: 'redact',
    })),
  }
  const piece = fc.constantFrom(
    'a@example.com',
    '4111 1111 1111 1111',
    '123-45-6789',
    '+49 30 1234567',
    '10.0.0.1',
    'DE89370400440532013000',
    ' ',
    ', ',
    'x',
    '7',
    '-',
    '\n',
    '\u200b',
    'é',
    '"',
  )
  let hits = 0
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join(' ')
      const first = scanned(filters, request(user(text)))
      const after = first.replaced.get(text)
      if (after === undefined) return first.hits.size === 0
      hits++
      return scanned(filters, request(user(after))).replaced.size === 0
    }),
    property(2000, 20_000),
  )
  t.ok(hits > 500, `${hits} texts held something`)
})

t.test('reads and redacts data that is nested 100,000 levels deep', async (t) => {
  let data: { [key: string]: unknown } = { text: 'bottom-line' }
  for (let i = 0; i < 100_000; i++) data = { a: data }
  const item = { kind: 'opaque', of: { dialect: 'x', type: 'y', data } } as Item
  t.same(matched({ patterns: [block('bottom-line')] }, item), ['bottom-line'])
  const all = request({ kind: 'opaque', of: { dialect: 'x', type: 'y', data: JSON.parse('{}') } }, item)
  sent({ patterns: [hide('bottom-line')] }, all)
  t.same(matched({ patterns: [block('bottom-line')] }, ...all.items), [])
})

t.test('a block has its fault body and its stage', async (t) => {
  const { hits } = scanned({ patterns: [block('forbidden-[0-9]+', 'FORBIDDEN')] }, request(user('forbidden-1234')))
  const fault = blockFault(hits.values())
  t.same(fault && faultBody(fault), {
    error: {
      code: 403,
      message: 'Request blocked by content filter: FORBIDDEN',
      type: 'permission_error',
      param: null,
      metadata: { error_type: 'permission_denied', patterns: ['forbidden-1234'], guardrail: 'first' },
    },
  })
  // As it is told: without what only the audit trail reads.
  t.same(JSON.parse(JSON.stringify(hitStages(hits.values()))), [
    {
      type: 'guardrail',
      name: 'content-filter',
      guardrail_id: 'g1',
      guardrail_scope: 'api-key',
      summary: 'Request blocked by content filter: FORBIDDEN',
      data: { action: 'blocked', detected: true, engines: ['regex'], patterns: ['forbidden-1234'] },
    },
  ])
  t.equal(
    blockFault(scanned({ patterns: [block('x')] }, request(user('x'))).hits.values())?.message,
    'Request blocked by content filter: [BLOCKED]',
  )
})

t.test('steps are short, however long the text', async (t) => {
  const scan = new Scan(
    new TextPolicy(compileRules(who, { contentFilters: [], builtins: [EMAIL], phrases: [], allowedPhrases: [], action: 'block' }, '')),
  )
  let steps = 0
  for (const _step of scan.read(passages(request(user('word '.repeat(200_000)))))) steps++
  t.ok(steps >= 30, `${steps} steps for a megabyte`)
  t.ok(patternDetector('abc', '').sliced)
})

t.test('reads all texts of an unknown item but whole pictures', async (t) => {
  const picture = 'data:image/png;base64,iVBORw0KGgo='
  const data = { type: 'x', a: picture, b: `${picture} anna@example.com`, c: 'data:image/svg+xml,anna@example.com' }
  const all = request({ kind: 'opaque', of: { dialect: 'responses', type: 'x', data } })
  const texts = [...passages(all)].flatMap((passage) => passage.texts)
  t.ok(texts.includes(data.b))
  t.ok(texts.includes(data.c))
  t.notOk(texts.includes(picture))
})
