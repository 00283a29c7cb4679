/** Filters: what each fits, which are refused, and that none takes long. */
import t from 'tap'
import { parseFilter } from '../../../src/api/scim/filter.ts'
import { filterTest } from '../../../src/api/scim/filter-match.ts'
import { ENTERPRISE_SCHEMA, USER } from '../../../src/api/scim/schemas.ts'
import { ScimError } from '../../../src/api/scim/scim-error.ts'
import { every } from '../../support/every.ts'

const ADA = {
  id: 'a1',
  userName: 'Ada@Example.com',
  externalId: 'X-1',
  active: true,
  name: { familyName: 'Lovelace', givenName: 'Ada' },
  emails: [
    { value: 'ada@work.example', type: 'work', primary: true },
    { value: 'ada@home.example', type: 'home' },
  ],
  meta: { created: '2026-03-01T00:00:00.000Z' },
  [ENTERPRISE_SCHEMA]: { department: 'Engines' },
}

const fits = (filter: string, resource = ADA): boolean => filterTest(USER, parseFilter(filter))(resource)

t.test('a filter fits by the operators of RFC 7644', async (t) => {
  const fitting = [
    'userName eq "ada@example.COM"',
    'USERNAME EQ "ada@example.com"',
    'urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ada@"',
    'externalId eq "X-1"',
    'name.familyName co "VELA"',
    'userName ew "example.com" and active eq true',
    'active eq "True"',
    'active eq True',
    'title pr or userName pr',
    'not (title pr)',
    'title eq null',
    'emails eq "ADA@home.example"',
    'emails[type eq "work" and value sw "ada@work"]',
    'emails[type eq "work"].value eq "ada@work.example"',
    'meta.created gt "2026-02-01T00:00:00Z" and meta.created lt "2026-03-01T01:00:01+01:00"',
    `${ENTERPRISE_SCHEMA}:department eq "engines"`,
    'userName eq "x" or userName eq "y" or id eq "a1"',
    'userName ne "x"',
  ]
  await every(t, 'filters that fit', async (t) => {
    for (const filter of fitting) t.ok(fits(filter), filter)
  })
  const others = [
    'externalId eq "x-1"',
    'id eq "A1"',
    'emails[type eq "work" and value sw "ada@home"]',
    'emails[type eq "home"].value eq "ada@work.example"',
    'userName pr and not (userName pr)',
    // One of the two libraries reads this as `not a or not b`.
    'not (userName eq "ada@example.com" or userName eq "b")',
    'userName eq "x" or userName pr and active eq false',
  ]
  await every(t, 'filters that do not', async (t) => {
    for (const filter of others) t.notOk(fits(filter), filter)
  })
  t.ok(fits(String.raw`userName eq "ACME\\ada\"x\u00e9"`, { ...ADA, userName: 'acme\\ada"xé' }), 'values are texts of JSON')
  t.ok(fits('userName eq "Zoe\u0308"', { ...ADA, userName: 'Zo\u00eb' }), 'two spellings of one text are alike')
})

t.test('a filter that cannot be meant is refused, with its reason', async (t) => {
  const refused: [string, RegExp][] = [
    ['userName', /expected one of eq/],
    ['userName eq', /expected a value/],
    ['userName eq ada', /as JSON/],
    ['userName eq "ada', /without its end/],
    ['userName like "ada"', /expected one of eq/],
    ['nickname2 eq "x"', /no attribute nickname2/],
    ['__proto__ pr', /no attribute/],
    ['emails[kind eq "x"]', /no sub-attribute kind/],
    ['userName[value eq "x"]', /no elements/],
    ['emails[type eq "work"', /expected \]/],
    ['(userName eq "x"', /expected \)/],
    ['userName eq "x")', /unexpected \)/],
    ['active gt true', /eq and ne/],
    ['not userName pr', /expected \( behind not/],
    ['', /expected an attribute/],
  ]
  await every(t, 'refusals', async (t) => {
    for (const [filter, why] of refused) {
      const thrown = ((): unknown => {
        try {
          return fits(filter)
        } catch (error) {
          return error
        }
      })()
      t.ok(thrown instanceof ScimError && thrown.scimType === 'invalidFilter' && why.test(thrown.message), `${filter}: ${String(thrown)}`)
    }
  })
})

t.test('a hostile filter is refused before it takes time', async (t) => {
  const hostile = [
    '('.repeat(5_000),
    `${'('.repeat(200)}userName pr${')'.repeat(200)}`,
    `${'not ('.repeat(100)}userName pr${')'.repeat(100)}`,
    Array(200).fill('id pr').join(' or '),
    `userName eq "${'\\n'.repeat(1_000)}`,
    `userName eq "${'\n'.repeat(2_000)}`,
    `userName eq "${'x'.repeat(10_000)}"`,
  ]
  const begun = performance.now()
  await every(t, 'refusals', async (t) => {
    for (const filter of hostile) t.throws(() => fits(filter), filter.slice(0, 40))
  })
  t.ok(performance.now() - begun < 2_000)
})
