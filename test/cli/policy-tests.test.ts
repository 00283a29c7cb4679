/** `headgate test`: what passes, what fails and how it is told, and the tests that ship. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { policyTests } from '../../src/cli/policy-tests.ts'
import { runProgram } from '../support/program.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const CONFIG = `
auth:
  keys:
    - { name: app, key: "\${APP_KEY}", limit: "2.00" }
    - { name: bound, key: "sk-bound-0123456789", allowed_models: [ "acme/two" ] }
providers:
  aye: { dialect: sim, zdr: true }
  bee: { dialect: sim }
  cee: { dialect: sim }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: aye, model: echo, price: { prompt: "1.00", completion: "1.00" } }
      - { provider: bee, model: echo, price: { prompt: "2.00", completion: "2.00" } }
      - { provider: cee, model: echo, variant: fast, price: { prompt: "4.00", completion: "4.00" } }
  acme/two:
    context: 8000
    endpoints: [ { provider: aye, model: echo, price: free } ]
guardrails:
  - { name: no-names, content_filters: [ { pattern: aurora, action: block, label: PROJECT } ] }
policies:
  - { name: gold, when: 'request.user == "gold"', route: { provider: { only: [ aye ] } } }
  - { name: no-bee, when: 'request.user == "silver" && endpoint.provider == "bee"', deny: {} }
  - { name: late, when: 'request.user == "late" && request.headers["x-late"] == "yes"', deny: { message: Too late } }
  - { name: dear, when: 'request.user == "dear" && cost.max_usd > 0.001', deny: {} }
`

const HEAD = 'config: ../headgate.yaml\nenv: { APP_KEY: sk-app-0123456789 }\n'
const ASK = 'request: { model: acme/one, input: Hello }'

interface Printed {
  code: number
  out: string[]
  error: string[]
  directory: string
}

type Files = { [name: string]: string | Files }

async function run(t: Test, files: Files, path = ''): Promise<Printed> {
  const directory = t.testdir({ 'headgate.yaml': CONFIG, tests: files })
  const [out, error]: [string[], string[]] = [[], []]
  const streams = { out: (line: string) => out.push(line), error: (line: string) => error.push(line) }
  const code = await policyTests(join(directory, 'tests', path), {}, streams)
  return {
    code,
    out: out.map((line) => line.replace(directory, '')),
    error: error.map((line) => line.replaceAll(directory, '')),
    directory,
  }
}

t.test('every expectation, met', async (t) => {
  const { code, out, error } = await run(t, {
    'a.yaml': `${HEAD}
random: 0.5
tests:
  - { name: order, ${ASK}, expect: { order: [aye, bee, cee/fast], first: aye, models: [acme/one], strategy: direct, plugins: [], guardrails: [no-names] } }
  - { name: another draw, random: 0.9, ${ASK}, expect: { order: [bee, aye, acme/one@cee/fast] } }
  - { name: outage, health: { aye: outage }, ${ASK}, expect: { order: [bee, cee/fast, aye] } }
  - { name: a rest, health: { acme/one@bee: resting }, ${ASK}, expect: { order: [aye, cee/fast, bee] } }
  - { name: ejected, health: { aye: ejected, bee: ejected }, ${ASK}, expect: { first: cee/fast } }
  - name: excluded
    request: { model: acme/one, input: Hello, provider: { zdr: true, ignore: [cee] } }
    expect: { order: [aye], excluded: { bee: zdr, cee/fast: ignore }, hold_at_most_usd: "0.10" }
  - name: models
    requests:
      - { model: acme/one, models: [acme/two], provider: { only: [aye] }, input: Hello }
      - { model: acme/one, models: [acme/two], provider: { only: [aye] }, messages: [{ role: user, content: Hello }] }
    expect: { order: [acme/one@aye, acme/two@aye], models: [acme/one, acme/two], strategy: fallback }
  - name: no endpoint
    request: { model: acme/one, input: Hello, provider: { zdr: true, ignore: [aye] } }
    expect: { excluded: { aye: ignore, bee: zdr }, error: { status: 404, type: not_found, code: privacy_restricted, message: removed by } }
  - { name: no credit, spent_usd: "2.00", ${ASK}, expect: { error: { status: 402 } } }
  - { name: the key, key: bound, ${ASK}, expect: { error: { status: 403, message: may not use acme/one } } }
  - { name: a guardrail, request: { model: acme/one, input: about aurora }, expect: { error: { message: PROJECT } } }
  - { name: a policy that routes, request: { model: acme/one, input: Hello, user: gold }, expect: { order: [aye], policies: [gold], excluded: { bee: only } } }
  - { name: a policy over endpoints, request: { model: acme/one, input: Hello, user: silver }, expect: { first: aye, policies: [no-bee], excluded: { bee: policy } } }
  - { name: no policy, ${ASK}, expect: { policies: [] } }
  - name: a policy that denies, by a header
    headers: { x-late: "yes" }
    request: { model: acme/one, input: Hello, user: late }
    expect: { policies: [late], error: { status: 403, message: Too late } }
  - { name: a policy that cannot be evaluated, request: { model: acme/one, input: Hello, user: late }, expect: { policies: [late], error: { message: could not be evaluated } } }
  - { name: a policy over the cost, request: { model: acme/one, input: Hello, user: dear }, expect: { policies: [dear], error: { status: 403 } } }
  - name: a session of a header, and the format
    headers: { x-session-id: one }
    format: messages
    request: { model: acme/one, max_tokens: 9, messages: [{ role: user, content: Hello }] }
    expect: { first: aye }
`,
    'b.json': JSON.stringify({
      config: '../headgate.yaml',
      env: { APP_KEY: 'sk-app-0123456789' },
      name: 'JSON',
      random: 0,
      request: { model: 'acme/one', input: 'Hello' },
      expect: { first: 'aye' },
    }),
    nested: { 'c.yml': `${HEAD.replace('..', '../..')}${ASK}\nexpect: { models: [acme/one] }\n` },
    'notes.txt': 'not a test',
  })
  t.same(error, [])
  t.equal(out.at(-1), '20 passed, 0 failed')
  t.same(out.slice(0, 2), ['/tests/a.yaml', '  pass  order'])
  t.same(out.slice(-5, -1), ['/tests/b.json', '  pass  JSON', '/tests/nested/c.yml', '  pass  test 1'])
  t.equal(code, 0)
})

t.test('what is not met is told, and is exit code 1', async (t) => {
  const { code, out } = await run(t, {
    'a.yaml': `${HEAD}
random: 0.5
tests:
  - { name: order, ${ASK}, expect: { order: [bee, aye, dee] } }
  - { name: first, ${ASK}, expect: { first: bee } }
  - { name: lists, ${ASK}, expect: { models: [acme/two], plugins: [web], guardrails: [], policies: [gold], strategy: alias } }
  - { name: excluded, request: { model: acme/one, input: Hello, provider: { zdr: true } }, expect: { excluded: { bee: ignore, aye: zdr } } }
  - { name: hold, ${ASK}, expect: { hold_at_most_usd: "0.001" } }
  - { name: refused, request: { model: acme/none, input: Hello }, expect: { first: aye } }
  - { name: not refused, ${ASK}, expect: { error: { status: 404 } } }
  - { name: otherwise refused, request: { model: acme/none, input: Hello }, expect: { error: { status: 403, type: permission_denied, code: nothing, message: may not } } }
  - { name: health, health: { dee: outage }, ${ASK}, expect: { first: aye } }
  - { name: key, key: nobody, ${ASK}, expect: { first: aye } }
  - name: several
    requests: [ { model: acme/one, input: Hello }, { model: acme/two, input: Hello } ]
    expect: { models: [acme/one] }
`,
  })
  t.equal(code, 1)
  t.equal(
    out.join('\n'),
    `/tests/a.yaml
  FAIL  order
          order: - expected, + found
            - bee
              aye
            - dee
            + bee
            + cee/fast
  FAIL  first
          first: expected bee, found aye
  FAIL  lists
          models: expected [acme/two], found [acme/one]
          plugins: expected [web], found []
          guardrails: expected [], found [no-names]
          policies: expected [gold], found []
          strategy: expected alias, found direct
  FAIL  excluded
          excluded: expected bee by ignore, found zdr
          excluded: expected aye by zdr, but it is not left out
  FAIL  hold
          hold: expected at most $0.001, found $0.135312
  FAIL  refused
          refused with 404: No such model: acme/none; expected one such as acme/one, acme/two
  FAIL  not refused
          expected an error, found aye, bee, cee/fast
  FAIL  otherwise refused
          error.status: expected 403, found 404
          error.type: expected permission_denied, found not_found
          error.code: expected nothing, found model_not_found
          error.message: expected "may not" in: No such model: acme/none; expected one such as acme/one, acme/two
  FAIL  health
          health: no endpoint dee
  FAIL  key
          no key nobody; expected one of: app, bound
  FAIL  several
          request 2: models: expected [acme/one], found [acme/two]
0 passed, 11 failed`,
  )
})

t.test('mistakes in a file name file, line and column; other files still run', async (t) => {
  const { code, out, error } = await run(t, {
    'a.yaml': `${HEAD}${ASK}\nexpect: { ordr: [aye] }\n`,
    'b.yaml': 'config: ../none.yaml\nrequest: {}\nexpect: { first: aye }\n',
    'c.yaml': `${HEAD}tests:\n  - name: nothing asked\n    expect: { first: aye }\n  - ${ASK}\n    health: { aye: sick }\n`,
    'd.yaml': `${HEAD}tests:\n  - ${ASK}\n  - ${ASK}\n    expect: { first: aye, error: { status: 404 } }\n`,
    'e.yaml': `${HEAD}${ASK}\nexpect: { first: aye }\ntests: [ { ${ASK}, expect: { first: aye } } ]\n`,
    'f.yaml': `config: ../headgate.yaml\n${ASK}\nexpect: { first: aye }\n`,
    'g.yaml': `${HEAD}random: 0\n${ASK}\nexpect: { first: aye }\n`,
    'h.yaml': `${HEAD}random: 1\n${ASK}\nexpect: { excluded: { aye: wind } }\n`,
    'i.json': '{"config": ',
  })
  t.equal(code, 1)
  t.equal(out.at(-1), '1 passed, 8 failed')
  t.match(error, [
    /^\/tests\/a\.yaml:4:11: expect\.ordr: unknown key, did you mean "?order"?/,
    /^\/none\.yaml:1:1: the file cannot be read/,
    /^\/tests\/c\.yaml:7:\d+: tests\[1\]\.health\.aye: unknown value "sick"/,
    /^\/tests\/d\.yaml:4:\d+: tests\[0\]\.expect: expected at least one expectation\n\/tests\/d\.yaml:6:\d+: tests\[1\]\.expect\.first: cannot hold of a request that gets an error$/,
    /^\/tests\/e\.yaml:5:1: tests: stands beside a request/,
    /^\/headgate\.yaml:4:\d+: auth\.keys\[0\]\.key: the environment variable APP_KEY is not set/,
    /^\/tests\/h\.yaml:3:\d+: random: found 1, expected a number from 0 to 0\.999999\n\/tests\/h\.yaml:5:\d+: expect\.excluded\.aye: unknown value "wind"/,
    /^\/tests\/i\.json:1:\d+: /,
  ])
})

t.test('nothing to test is a failure', async (t) => {
  t.match(await run(t, { 'notes.txt': '' }), { code: 1, out: ['0 passed, 0 failed'], error: [/no tests, expected files that end in/] })
  t.match(await run(t, {}, 'none'), { code: 1, error: [/headgate: .*none/] })
})

t.test('the tests that ship pass, as a program and whatever the environment', async (t) => {
  const program = runProgram(['test', join(ROOT, 'config', 'policy-tests')], {
    cwd: t.testdir(),
    env: { OPENAI_API_KEY: 'another', BACKUP_API_KEY: '' },
  })
  const { code } = await program.exited
  t.equal(program.err(), '')
  t.equal(code, 0, program.out())
  t.match(program.out(), /edge\.yaml\n[\s\S]*sidecar\.yaml\n[\s\S]*\n11 passed, 0 failed\n$/)
})
