/** Lists of domains: label by label, and what is blocked stays blocked. */
import t from 'tap'
import { domainRules } from '../../src/services/outbound/domains.ts'
import { every } from '../support/every.ts'

const CASES: readonly (readonly [rule: string, address: string, covered: boolean])[] = [
  ['example.com', 'https://example.com/', true],
  ['example.com', 'https://www.EXAMPLE.com:443/x', true],
  ['EXAMPLE.com.', 'https://a.b.example.com./', true],
  ['https://example.com', 'http://example.com/', true],
  ['example.com', 'https://evilexample.com/', false],
  ['example.com', 'https://example.com.evil.net/', false],
  ['example.com', 'https://example.org/example.com', false],
  ['example.com', 'https://example%2ecom/', true],
  ['*.example.com', 'https://www.example.com/', true],
  ['*.example.com', 'https://example.com/', false],
  ['*.example.com', 'https://wwwexample.com/', false],
  ['müller.example', 'https://xn--mller-kva.example/', true],
  ['example.com/blog', 'https://example.com/blog', true],
  ['example.com/blog/', 'https://example.com/blog/2026?x=1', true],
  ['example.com/blog', 'https://example.com/blogs', false],
  ['example.com/blog', 'https://example.com/', false],
  ['example.com/blog', 'https://example.com/x/../blog/y', true],
  ['example.com/blog', 'https://example.com/blog/../x', false],
  ['example.com/blog', 'https://example.com/blog/%2e%2e/x', false],
  ['example.com/blog', 'https://example.com/%62LOG', true],
  ['example.com/*/news', 'https://example.com/de/news/1', true],
  ['example.com/*/news', 'https://example.com/news', false],
  ['*.example.com/a', 'https://w.example.com/a', true],
  ['93.184.216.34', 'http://1572395042/', true],
]

t.test('what a rule covers', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [rule, address, covered] of CASES) {
      const url = new URL(address)
      t.equal(domainRules({ allowed: [rule] })(url), covered, `${rule} allows ${address}`)
      t.equal(domainRules({ blocked: [rule] })(url), !covered, `${rule} blocks ${address}`)
      t.equal(domainRules({ allowed: [rule], blocked: [rule] })(url), false, 'what is blocked stays blocked')
      t.equal(domainRules({ allowed: ['other.net', rule], blocked: [] })(url), covered)
    }
  })
  t.equal(domainRules({})(new URL('https://example.com/')), true)
  await every(t, 'every wrong', async (t) => {
    for (const wrong of [
      '',
      ' ',
      'a b',
      'example.com:80',
      '*',
      '*.',
      'ex*mple.com',
      'user@example.com',
      'example.com?x',
      'ftp://example.com',
      'a\\b',
    ])
      t.throws(() => domainRules({ allowed: [wrong] }), { message: /is no domain/ }, JSON.stringify(wrong))
  })
})
