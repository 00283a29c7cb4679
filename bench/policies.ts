/**
 * Cost of policies: `node bench/policies.ts [--runs 200000]`. Microseconds that ten policies add to a request, by the layer itself and its
 * stages, for a request that none of them denies; and what the library takes once it is loaded.
 */
import { parseArgs } from 'node:util'
import { Decision } from '../src/pipeline/policy/decision.ts'
import type { PolicySource } from '../src/pipeline/policy/policy-facts.ts'
import { compilePolicies, type WrittenPolicy } from '../src/pipeline/policy/policy-setting.ts'

const { values } = parseArgs({ options: { runs: { type: 'string', default: '200000' } } })
const RUNS = Number(values.runs)
const ROUNDS = 7

/** Five typical conditions over the request, two of them with effects other than a denial; and one or two for each later stage. */
const POLICIES: readonly WrittenPolicy[] = [
  { name: 'name', when: 'caller.name == "ci" && !request.stream', deny: {} },
  { name: 'claim', when: 'has(claims.groups) && "contractors" in claims.groups', deny: {} },
  { name: 'tools', when: 'request.tools.exists(tool, tool == "exec" || tool.startsWith("shell"))', deny: {} },
  { name: 'model', when: 'request.model.startsWith("acme/") && request.max_output > 4000', limit: { requests: 1 } },
  { name: 'route', when: 'request.user == "batch"', route: { model: 'acme/small' } },
  { name: 'hour', when: 'request.time.getHours() > 24', deny: {} },
  { name: 'header', when: '"x-tier" in request.headers && request.headers["x-tier"] == "none"', deny: {} },
  { name: 'team', when: 'organisation.team == "closed" || "closed" in organisation.path', deny: {} },
  { name: 'endpoint', when: 'request.user == "patient" && !endpoint.zdr', deny: {} },
  { name: 'cost', when: 'cost.max_usd > 5.0', deny: {} },
]

const before = process.memoryUsage().rss
const began = performance.now()
const settings = compilePolicies(POLICIES)
const loaded = performance.now() - began
const memory = process.memoryUsage().rss - before
if (!settings) throw new Error('no policies')

const tools = ['read', 'write', 'grep', 'glob', 'edit', 'web', 'list', 'find'].map((name) => ({ type: 'function', function: { name } }))
const request = {
  client: { id: 'chat' },
  gateway: { model: 'acme/large', models: [], sessionId: undefined },
  body: { tools, user: 'ada', metadata: { project: 'x' } },
  bytes: 4_000,
  stream: true,
  mayHoldMedia: false,
  need: { cap: 1_000 },
}
const model = { slug: 'acme/large' }
const source = {
  key: {
    name: 'app',
    identity: 'app',
    token: { issuer: 'https://login.example', guardrails: [], claims: { groups: ['a', 'b', 'research'] } },
  },
  operation: 'generate',
  headers: { host: 'localhost', 'content-type': 'application/json', 'user-agent': 'openai', authorization: 'Bearer x', 'x-tier': 'gold' },
  at: Date.now(),
  sent: { request, catalog: { bySlug: new Map([['acme/large', model]]), find: () => undefined, bare: (slug: string) => ({ slug }) } },
} as unknown as PolicySource
const endpoint = { model, provider: { slug: 'first', zdr: false, about: {} } } as never

/** Processor time of the quickest round, in microseconds: others use the machine, too. */
function each(run: () => void): string {
  for (let at = 0; at < RUNS / 4; at++) run()
  const rounds = Array.from({ length: ROUNDS }, () => {
    const start = process.cpuUsage()
    for (let at = 0; at < RUNS; at++) run()
    return process.cpuUsage(start).user / RUNS
  })
  return Math.min(...rounds).toFixed(2)
}

const one = compilePolicies(POLICIES.slice(0, 1))
if (!one) throw new Error('no policies')
const figures = {
  load_and_compile_ms: loaded.toFixed(1),
  resident_mb: (memory / 1e6).toFixed(1),
  one_policy_us: each(() => void new Decision(one, source, [])),
  ten_policies_us: each(() => {
    const decision = new Decision(settings, source, [])
    if (decision.refuse(endpoint)) throw new Error('refused')
    decision.admitCost(1_000, 1_000)
  }),
}
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
