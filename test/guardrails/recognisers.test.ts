import fc from 'fast-check'
import t from 'tap'
import { BUILTINS } from '../../src/guardrails/builtins.ts'
import { injectionDetector } from '../../src/guardrails/injection/detector.ts'
import { luhn } from '../../src/guardrails/recognise/credit-card.ts'
import { mod97 } from '../../src/guardrails/recognise/iban.ts'
import { BUILTIN_SLUGS, type SensitiveSlug, slugPlaceholder } from '../../src/guardrails/settings/recognisers.ts'

/** Findings of a recogniser in a text, in order. */
function found(slug: SensitiveSlug, text: string): string[] {
  const detector = BUILTINS[slug]
  if (detector.may && !detector.may(text)) return []
  let last = 0
  return [...detector.find(text, 0)]
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ end }) => {
      const inside = end <= last
      last = Math.max(last, end)
      return !inside
    })
    .map(({ start, end }) => text.slice(start, end))
}

import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const RUNS = property(1_000, 20_000)
const of = (units: string, count: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...units), minLength: count, maxLength: count })
const DIGITS = '0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const digits = (count: number): fc.Arbitrary<string> => of(DIGITS, count)
/** Characters that may stand around a number in a text. */
const around = fc.constantFrom(
  ['', ''],
  ['Pay with ', ' please.'],
  ['card: "', '"'],
  ['(', ')'],
  ['номер ', ', спасибо'],
  ['{"card":', '}'],
  ['x=', '&y=1'],
  ['\n', '\n'],
)

t.test('what is found is replaced by the name of its recogniser', async (t) => {
  t.same(BUILTIN_SLUGS.map(slugPlaceholder), [
    '[EMAIL]',
    '[PHONE]',
    '[SSN]',
    '[CREDIT_CARD]',
    '[IP_ADDRESS]',
    '[PERSON_NAME]',
    '[ADDRESS]',
    '[IBAN]',
    '[API_KEY]',
    '[PROMPT_INJECTION]',
  ])
})

const SCHEMES = [
  ['4', 13],
  ['4', 16],
  ['4', 19],
  ['51', 16],
  ['2720', 16],
  ['34', 15],
  ['37', 15],
  ['6011', 16],
  ['3528', 16],
  ['305', 14],
  ['36', 14],
  ['62', 19],
] as const

const card = fc
  .constantFrom(...SCHEMES)
  .chain(([head, length]) => digits(length - head.length - 1).map((rest) => head + rest))
  .map((number) => number + [...'0123456789'].find((digit) => luhn(number + digit)))

function grouped(number: string, gap: string): string {
  if (number.length === 15) return [number.slice(0, 4), number.slice(4, 10), number.slice(10)].join(gap)
  return number.length === 16 ? (number.match(/.{4}/g) ?? []).join(gap) : number
}

t.test('cards: every valid number is found, in every form, and none with one digit wrong', async (t) => {
  fc.assert(
    fc.property(card, fc.constantFrom('', ' ', '-'), around, (number, gap, [before, after]) => {
      const written = grouped(number, gap)
      return found('credit-card', before + written + after).join() === written
    }),
    RUNS,
  )
  fc.assert(
    fc.property(card, fc.nat(18), fc.integer({ min: 1, max: 9 }), fc.constantFrom('', ' ', '-'), (number, place, by, gap) => {
      const at = place % number.length
      const wrong = number.slice(0, at) + ((Number(number[at]) + by) % 10) + number.slice(at + 1)
      return found('credit-card', `Pay with ${grouped(wrong, gap)} please`).length === 0
    }),
    RUNS,
  )
  await every(t, 'every text', async (t) => {
    for (const text of [
      '4111 1111 1111 1111 12/27',
      'cards 4111111111111111, 378282246310005',
      '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
      '5555-5555-5555-4444.',
    ])
      t.not(found('credit-card', text).length, 0, text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of [
      '0.4111111111111111',
      'a4111111111111111',
      '4111111111111111a',
      '41111111111111110',
      '4111 1111-1111 1111',
      '550e8400-e29b-41d4-a716-446655440000',
      '1234567890123456',
      '0000000000000000',
    ])
      t.same(found('credit-card', text), [], text)
  })
})

/** Country, then kinds and counts: n digits, a letters, c either. */
const IBAN_FORMS = ['DE n18', 'GB a4 n14', 'FR n10 c11 n2', 'NO n11', 'MT a4 n5 c18', 'NL a4 n10', 'IT a1 n10 c12']
const KINDS: Record<string, string> = { n: DIGITS, a: LETTERS, c: DIGITS + LETTERS }
const account = fc
  .constantFrom(...IBAN_FORMS)
  .chain((form) => {
    const [country, ...parts] = form.split(' ')
    return fc.tuple(...parts.map((part) => of(KINDS[part[0]], Number(part.slice(1))))).map((all) => ({ country, bban: all.join('') }))
  })
  .map(({ country, bban }) => {
    for (let check = 2; check <= 98; check++) {
      const number = country + String(check).padStart(2, '0') + bban
      if (mod97(number)) return number
    }
    throw new Error(`no check digits for ${country}${bban}`)
  })

t.test('accounts: every valid number is found, grouped or not, and none with one character wrong', async (t) => {
  fc.assert(
    fc.property(account, fc.constantFrom('', ' ', '-'), around, (number, gap, [before, after]) => {
      const written = (number.match(/.{1,4}/g) ?? []).join(gap)
      return found('iban', before + written + after).join() === written
    }),
    RUNS,
  )
  fc.assert(
    fc.property(account, fc.nat(40), fc.integer({ min: 1, max: 9 }), (number, place, by) => {
      const at = 2 + (place % (number.length - 2))
      const code = Number.parseInt(number[at], 36)
      const other = code > 9 ? (((code - 10 + by) % 26) + 10).toString(36).toUpperCase() : String((code + by) % 10)
      return found('iban', `to ${number.slice(0, at) + other + number.slice(at + 1)} now`).length === 0
    }),
    RUNS,
  )
  t.same(found('iban', 'de89370400440532013000'), ['de89370400440532013000'])
  await every(t, 'every text', async (t) => {
    for (const text of [
      'DE89 3704 0044 0532 0130',
      'XX89370400440532013000',
      'DE89370400440532013000123',
      'AB12 this is not an account number at all',
    ])
      t.same(found('iban', text), [], text)
  })
})

t.test('social security numbers: issued ones are found, those that never are not', async (t) => {
  const issued = fc
    .tuple(fc.integer({ min: 1, max: 899 }), fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 9999 }))
    .filter(([area, group, serial]) => area !== 666 && !(area === 78 && group === 5 && serial === 1120) && !(area === 219 && group === 9))
    .map(([area, group, serial]) => [String(area).padStart(3, '0'), String(group).padStart(2, '0'), String(serial).padStart(4, '0')])
  fc.assert(
    fc.property(issued, (parts) => {
      const [dashed, spaced, bare] = [parts.join('-'), parts.join(' '), parts.join('')]
      return (
        found('ssn', `it is ${dashed}.`).join() === dashed &&
        found('ssn', `SSN: ${spaced}`).join() === spaced &&
        found('ssn', `my social security number is ${bare}`).join() === bare &&
        found('ssn', `order ${bare}`).length === 0
      )
    }),
    RUNS,
  )
  await every(t, 'every text', async (t) => {
    for (const text of [
      '000-12-3456',
      '666-12-3456',
      '900-12-3456',
      '123-00-4567',
      '123-45-0000',
      '078-05-1120',
      '123-45-67890',
      '1-123-45-6789',
    ])
      t.same(found('ssn', text), [], text)
  })
})

t.test('IP addresses: both versions, and no versions, times or scopes', async (t) => {
  const address = fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((text) => /[0-9][0-9a-f]{2}/i.test(text) && !text.includes('.')),
  )
  fc.assert(
    fc.property(address, (text) => found('ip-address', `from ${text} to`).join() === text),
    RUNS,
  )
  await every(t, 'every text', async (t) => {
    for (const text of ['10.0.0.1', '[2001:db8::1]', '::1', 'fe80::1', 'http://192.168.0.1:8080/'])
      t.equal(found('ip-address', text).length, 1, text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of [
      '256.1.1.1',
      '1.2.3',
      '1.2.3.4.5',
      'v1.2.3.4',
      'version 10.0.0.1',
      'curl/7.88.1.0',
      'section 4.3.2.1',
      '12:30:45',
      'std::vector',
      'ab::cd',
      '01:23:45:67:89:ab',
      '01.02.03.004',
    ])
      t.same(found('ip-address', text), [], text)
  })
})

t.test('mail addresses', async (t) => {
  const local = fc.stringMatching(/^[a-z0-9][a-z0-9._+-]{0,20}[a-z0-9]$/).filter((text) => !text.includes('..'))
  const domain = fc
    .stringMatching(/^[a-z][a-z0-9]{0,12}\.[a-z]{2,6}$/)
    .filter(
      (text) =>
        !/\.(?:png|jpe?g|gif|svg|webp|ico|avif|bmp|css|scss|less|js|jsx|mjs|cjs|ts|tsx|json|xml|ya?ml|toml|lock|log|txt|csv|html?)$/.test(
          text,
        ),
    )
  fc.assert(
    fc.property(
      local,
      domain,
      fc.constantFrom(['', ''], ['<', '>'], ['to ', ', and'], ['mailto:', '?subject=x'], ['"', '"'], ['', '.']),
      (name, host, [before, after]) => {
        const text = `${name}@${host}`
        return found('email', before + text + after).join() === text
      },
    ),
    RUNS,
  )
  t.same(found('email', 'jörg@bücher.de, Anna.O’Neil@x.io'), ['jörg@bücher.de', 'Neil@x.io'])
  await every(t, 'every text', async (t) => {
    for (const text of [
      '@app.route',
      'logo@2x.png',
      'a@b',
      'user@localhost',
      'pkg@1.2.3',
      'git@github.com:group/project.git',
      'x@.com',
      'a.@b.de',
      '@scope/name',
    ])
      t.same(found('email', text), [], text)
  })
})

t.test('telephone numbers', async (t) => {
  await every(t, 'every text', async (t) => {
    for (const text of [
      '+49 30 1234567',
      '+1 (212) 555-0142',
      '+442079460958',
      '(212) 555-0142',
      '212-555-0142',
      '212.555.0142',
      '1-212-555-0142',
      '01 23 45 67 89',
      '020 7946 0958',
    ])
      t.same(found('phone', `reach me at ${text}, thanks`), [text], text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of ['Tel. 030 1234567', 'phone: 2125550142', 'call me on 089/12345678', 'mobile 212 555 0142'])
      t.equal(found('phone', text).length, 1, text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of [
      '2026-11-21',
      '12.03.2024',
      'order 2125550142',
      '1 + 23456789',
      'x+12345678',
      '212-555-01422',
      '911-555-0142',
      '3.141592653589',
      '192.168.100.200',
      '10:30:00',
      '100 200 3000',
      '+999 1234567890',
      '+1234567890123456',
    ])
      t.same(found('phone', text), [], text)
  })
})

t.test('secrets of programs', async (t) => {
  // Put together here, so that no scanner of repositories takes them for real ones.
  const make = (...parts: string[]): string => parts.join('')
  await every(t, 'every text', async (t) => {
    for (const text of [
      make('AKIA', 'IOSFODNN7EXAMPLE'),
      make('ghp_', 'abcdefghijklmnopqrstuvwxyz0123456789'),
      make('sk-proj-', 'Ab1Cd2Ef3Gh4Ij5Kl6Mn7'),
      make('sk_live_', '4eC39HqLyjWDarjtT1zdp7dc'),
      make('AIza', 'SyA-1234567890abcdefghijklmnopqrstu'),
      make('xoxb-', '1234567890-abcdefghij'),
      make('eyJhbGciOiJIUzI1NiJ9', '.eyJzdWIiOiIxMjM0In0', '.SflKxwRJSMeKKF2QT4fwpMeJf36POk6y'),
    ])
      t.same(found('api-key', `use ${text} here`), [text], text.slice(0, 8))
  })
  t.same(found('api-key', 'api_key = "f3Aq9xL0pTz7Wq2Bn5Kd8Rv1"'), ['f3Aq9xL0pTz7Wq2Bn5Kd8Rv1'])
  t.same(found('api-key', 'postgres://app:s3cr3tPass@db.example.com/x'), ['s3cr3tPass'])
  const key = make('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA ', 'PRIVATE KEY-----')
  t.same(found('api-key', `x\n${key}\ny`), [key])
  await every(t, 'every text', async (t) => {
    for (const text of [
      'api_key = "your-api-key-goes-here"',
      'password: process.env.PASSWORD_FOR_APP_1',
      'token: aaaaaaaaaaaaaaaaaaaaaaa1',
      'https://user:<PASSWORD>@host.example',
      'the task-force met',
      'sk-learn-is-a-library-for-python',
      'public key -----BEGIN PUBLIC KEY-----',
    ])
      t.same(found('api-key', text), [], text)
  })
})

t.test('names and addresses, as far as the words around them tell', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [text, name] of [
      ['Dear Anna Schmidt,', 'Anna Schmidt'],
      ['My name is Jean-Luc Picard.', 'Jean-Luc Picard'],
      ['I spoke to Dr. Müller', 'Müller'],
      ["Patient: Sean O'Brien", "Sean O'Brien"],
      ['Frau Ludwig von Beethoven', 'Ludwig von Beethoven'],
    ])
      t.same(found('person-name', text), [name], text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of ['Dear Customer Service', 'my name is', 'The President spoke', 'I am Very Happy today', 'Mr Speaker'])
      t.same(found('person-name', text), [], text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of [
      '221B Baker Street, London NW1 6XE',
      '1600 Pennsylvania Avenue',
      'Hauptstraße 12, 10115 Berlin',
      '12 rue de la Paix, 75002 Paris',
      'P.O. Box 1234',
    ])
      t.same(found('address', `at ${text}.`), [text], text)
  })
  await every(t, 'every text', async (t) => {
    for (const text of ['2 ways to do it', 'on the street', 'step 3 Drive', 'In 2019 the Road was long'])
      t.same(found('address', text), [], text)
  })
})

t.test('no text is too hostile: each of these ends', async (t) => {
  const hostile = [
    '1 '.repeat(60_000),
    '+1'.repeat(60_000),
    `+${'1'.repeat(100_000)}x`,
    '4-'.repeat(60_000),
    'a@'.repeat(60_000),
    `${'a.'.repeat(60_000)}@${'b-'.repeat(60_000)}`,
    '('.repeat(100_000),
    '0 '.repeat(60_000),
    'Aa '.repeat(40_000),
    `Dear ${'Aa-'.repeat(40_000)}`,
    `1 ${'Aa '.repeat(40_000)}`,
    'i '.repeat(60_000),
    'ignore '.repeat(20_000),
    `ignore${' '.repeat(100_000)}previous`,
    'you are now '.repeat(10_000),
    'eyJ'.repeat(40_000),
    'token=token='.repeat(10_000),
    `-----BEGIN PRIVATE KEY-----${'A'.repeat(100_000)}`,
    'A'.repeat(100_000),
    'ab '.repeat(40_000),
    'DE89 '.repeat(20_000),
    'a:'.repeat(60_000),
    '1.'.repeat(60_000),
    '<|a'.repeat(40_000),
    `${'\n'.repeat(50_000)}System`,
  ]
  const injection = injectionDetector(['a b', 'ignore ignore'])
  await every(t, 'every text', async (t) => {
    for (const text of hostile) {
      for (const slug of Object.keys(BUILTINS) as SensitiveSlug[]) found(slug, text)
      t.ok(injection.find(text, 0).length >= 0, text.slice(0, 20))
    }
  })
})

t.test('digits that follow a telephone number are another number, however many there are', async (t) => {
  const digits = '41111111111111112222'
  await every(t, 'every round', async (t) => {
    for (let count = 3; count <= digits.length; count++) {
      for (const between of [' ', '. ', ' - ']) {
        const text = `Tel. 030 12345678${between}${digits.slice(0, count)}`
        t.same(found('phone', text), ['030 12345678'], text)
      }
    }
  })
  t.same(found('phone', 'Tel. 030 1234 567 41'), ['030 1234 567 41'])
  t.same(found('phone', 'Tel. 030 12345678-4111111111'), [], 'a stroke goes on with the same one')
})
