/** Identity providers in the configuration: each mistake is named at its place. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'

const BASE = `
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
budgets: { ml: { monthly: "5.00" } }
`
const issuer = (lines: string): string =>
  `${BASE}auth: { issuers: [ { issuer: "https://login.example.com", audiences: [ headgate ], ${lines} } ] }\n`

/** Problems without their places, or none. */
function problems(text: string): string[] {
  try {
    loadConfig('headgate.yaml', {}, { text })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n').map((line) => line.replace(/^\S+: /, ''))
    throw error
  }
}

t.test('an issuer with all of its settings loads, and replaces the development key', (t) => {
  const text = issuer(
    `jwks_uri: "https://keys.example.com/jwks", algorithms: [ RS256 ], leeway: 10s, max_age: 1h, required_claims: { a: [ 1, true, x ] },
    member: email, keys_kept: 2h, introspection: { url: "http://localhost:9/i", client_id: a, client_secret: "\${SECRET}" },
    rules: [ { when: { g: x }, parent: ml, limit: "1.00", allowed_models: [ sim/echo ] } ]`,
  )
  const { issuers, developmentKey, keysNamed } = loadConfig('headgate.yaml', { SECRET: 'x' }, { text })
  t.same([developmentKey, keysNamed], [false, true])
  t.match(issuers[0], { leeway: 10_000, maxAge: 3_600_000, keysKept: 7_200_000, requiredClaims: { a: [1, true, 'x'] } })
  t.match(issuers[0]?.rules, [{ when: { g: 'x' }, limit: 1e9, parent: 'ml', disabled: false }])
  t.end()
})

const WRONG: [what: string, text: string, problem: RegExp][] = [
  ['a plain address', issuer('rules: [ { when: {} } ]').replace('https://login', 'http://login'), /expected https: over plain http/],
  ['a plain address of keys', issuer('jwks_uri: "http://login.example.com/jwks", rules: [ { when: {} } ]'), /expected https/],
  [
    'a plain address of introspection',
    issuer('introspection: { url: "http://i.example.com/i", client_id: a, client_secret: b }, rules: [ { when: {} } ]'),
    /expected https/,
  ],
  ['no audience', issuer('rules: [ { when: {} } ]').replace('[ headgate ]', '[]'), /at least 1 entry/],
  ['audiences that are missing', issuer('rules: [ { when: {} } ]').replace('audiences: [ headgate ],', ''), /"audiences" is missing/],
  ['a shared secret', issuer('algorithms: [ HS256 ], rules: [ { when: {} } ]'), /unknown value "HS256"/],
  ['no signature', issuer('algorithms: [ none ], rules: [ { when: {} } ]'), /unknown value "none"/],
  ['no rule', issuer('rules: []'), /at least 1 entry/],
  ['an unknown budget', issuer('rules: [ { when: {}, parent: mll } ]'), /no such budget.*ml/],
  ['an unknown guardrail', issuer('rules: [ { when: {}, guardrails: [ none ] } ]'), /no such guardrail/],
  ['an unknown model', issuer('rules: [ { when: {}, allowed_models: [ sim/ecko ] } ]'), /no such model.*sim\/echo/],
  ['an unknown provider', issuer('rules: [ { when: {}, provider: { only: [ simm ] } } ]'), /no such provider/],
  ['a value that is none', issuer('rules: [ { when: { g: { a: 1 } } } ]'), /expected text, a number, true or false, or a list/],
  ['an empty list of values', issuer('rules: [ { when: { g: [] } } ]'), /expected text, a number, true or false, or a list/],
  ['a manager', issuer('rules: [ { when: {}, management: true } ]'), /unknown key/],
  ['an unknown role', issuer('rules: [ { when: { g: a }, role: root } ]'), /unknown value "root".*owner/],
  ['a role for every token', issuer('rules: [ { when: {}, role: viewer } ]'), /every token of the issuer would have the role viewer/],
  ['a caller of models with an organization', issuer('rules: [ { when: { g: a }, organization: acme } ]'), /expected workspace/],
  [
    'both an organization and a workspace',
    issuer('rules: [ { when: { g: a }, role: viewer, organization: acme, workspace: ml } ]'),
    /either an organization or a workspace/,
  ],
  [
    'scopes of a caller of models',
    issuer('rules: [ { when: { g: a }, scopes: [ "keys:read" ] } ]'),
    /manages nothing that scopes could narrow/,
  ],
  ['an unknown scope', issuer('rules: [ { when: { g: a }, role: viewer, scopes: [ "keys:reed" ] } ]'), /unknown value "keys:reed"/],
  ['a manager under a budget', issuer('rules: [ { when: { g: a }, role: billing, parent: ml } ]'), /spends nothing/],
  ['a key', issuer('rules: [ { when: {}, key: sk-0123456789abcdef } ]'), /unknown key/],
  [
    'an issuer for everybody',
    issuer('rules: [ { when: {} } ]').replace('login.example.com', 'token.actions.githubusercontent.com'),
    /gives tokens to everybody/,
  ],
  [
    'two of one issuer',
    issuer('rules: [ { when: {} } ]').replace(/\{ issuer:.*(?= \] \})/, (entry) => `${entry}, ${entry}`),
    /second entry of this issuer/,
  ],
  [
    'two introspections',
    issuer('introspection: { url: "https://i.example.com/i", client_id: a, client_secret: b }, rules: [ { when: {} } ]').replace(
      /\{ issuer:.*(?= \] \})/,
      (entry) => `${entry}, ${entry.replace('login.', 'second.')}`,
    ),
    /second issuer with introspection/,
  ],
  [
    'a sign-in without openid',
    issuer('sign_in: { client_id: a, scopes: [ email ] }, rules: [ { when: {} } ]'),
    /expected openid among them/,
  ],
  [
    'a scope with a space',
    issuer('sign_in: { client_id: a, scopes: [ openid, "openid email" ] }, rules: [ { when: {} } ]'),
    /a scope \(RFC 6749/,
  ],
  [
    'two sign-ins of one name',
    issuer('sign_in: { client_id: a, name: acme }, rules: [ { when: {} } ]').replace(
      /\{ issuer:.*(?= \] \})/,
      (entry) => `${entry}, ${entry.replace('login.', 'second.')}`,
    ),
    /a second sign-in at acme/,
  ],
  [
    'a key with the identity of a member',
    issuer('rules: [ { when: {} } ]').replace('auth: {', `auth: { keys: [ { name: "${'ab'.repeat(32)}", key: sk-0123456789abcdef } ],`),
    /expected another name/,
  ],
  [
    'a guardrail for no caller',
    `${issuer('rules: [ { when: {} } ]')}guardrails: [ { name: g, scope: { keys: [] } } ]\n`,
    /hold for no caller/,
  ],
  ['a secret of the wrong length', issuer('member: "", rules: [ { when: {} } ]'), /not empty/],
]

t.test('each mistake is named', (t) => {
  for (const [what, text, problem] of WRONG) {
    const found = problems(text)
    t.equal(found.length, 1, `${what}: ${found.join(' | ')}`)
    t.match(found[0], problem, what)
  }
  t.end()
})
