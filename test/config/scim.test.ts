/** Settings of `scim` in a file. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'

const BASE = 'providers: { sim: { dialect: sim } }\nmodels: { a/b: { endpoints: [ { provider: sim, model: echo } ] } }\n'
const TOKEN = 'scim-token-0123456789abcdefghijkl'

function load(scim: string, more = '') {
  return loadConfig('f.yaml', {}, { text: `${BASE}${more}scim: ${scim}` })
}

function problem(scim: string, more?: string): string {
  try {
    load(scim, more)
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

t.test('only the hash of a token leaves the loader', async (t) => {
  const { scim } = load(`{ tokens: [ { name: okta, token: "${TOKEN}" } ] }`)
  t.match(scim, { organization: 'default', groups: { others: 'create', rules: [] }, tokens: [{ name: 'okta', hash: /^[0-9a-f]{64}$/ }] })
  t.notMatch(JSON.stringify(scim), TOKEN)
  t.same(load('{}').scim.tokens, [], 'without a token the path is closed')
})

t.test('mistakes are named, and no token is repeated', async (t) => {
  const token = `token: "${TOKEN}"`
  const wrong: [string, RegExp, string?][] = [
    ['{ tokens: [ { name: a, token: short } ] }', /scim\.tokens\[0\]\.token: .*at least 32/],
    [`{ tokens: [ { name: a, ${token} }, { name: a, token: "${TOKEN}2" } ] }`, /tokens\[1\]\.name: .*another token has it/],
    [`{ tokens: [ { name: a, ${token} }, { name: b, ${token} } ] }`, /tokens\[1\]\.token: .*another entry has it/],
    [`{ tokens: [ { name: a, ${token} } ] }`, /a key of auth\.keys/, `auth: { keys: [ { name: k, key: "${TOKEN}" } ] }\n`],
    ['{ groups: { others: make } }', /scim\.groups\.others: .*create, match/],
    ['{ groups: { rules: [ { group: Ops, role: chief } ] } }', /rules\[0\]\.role: .*admin, member/],
    ['{ groups: { rules: [ { workspace: web } ] } }', /"group" is missing/],
    ['{ groups: { rules: [ { group: Ops }, { group: ops, role: admin } ] } }', /never decides/],
  ]
  for (const [settings, expected, more] of wrong) {
    const message = problem(settings, more)
    t.match(message, expected, settings)
    t.notMatch(message, TOKEN)
  }
})
