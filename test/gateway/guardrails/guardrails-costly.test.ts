/** Patterns that are dear to compile: refused where they are saved, or compiled in turns, so that no caller waits. Runs with `npm run test:servers`. */
import t from 'tap'
import { answeredData, guardrailScene, HASHES } from '../../support/guardrail-scene.ts'

const WORKSPACE_GUARDRAIL = '00000000-0000-8000-8000-000000000002'
const filters = (patterns: readonly string[]) => ({ content_filters: patterns.map((pattern) => ({ pattern, action: 'block' })) })

/** Milliseconds of processor time that this thread has had: what other processes take of a busy machine does not count. */
function worked(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** @returns how long the work took, and the longest turn of the event loop meanwhile. Milliseconds of processor time. */
async function watched<T>(work: () => Promise<T>): Promise<{ result: T; took: number; longest: number }> {
  let longest = 0
  let running = true
  const begun = worked()
  let last = begun
  const look = (): void => {
    const now = worked()
    longest = Math.max(longest, now - last)
    last = now
    if (running) setImmediate(look)
  }
  look()
  const result = await work()
  look()
  running = false
  return { result, took: last - begun, longest }
}

t.test('a pattern that is too dear to compile is refused before it is compiled', async (t) => {
  const { call } = await guardrailScene(t)
  const dear = [
    `(?i)${'\\p{L}'.repeat(2_000)}`,
    `(?i)${'[B-\\x{10fffe}]'.repeat(7_000)}`,
    'a{1000}'.repeat(10_000),
    Array.from({ length: 2_000 }, (_, i) => `[${String.fromCodePoint(0x4e00 + i)}-${String.fromCodePoint(0x5e00 + i)}]`).join(''),
  ]
  for (const pattern of dear) {
    const body = { name: 'dear', ...filters(['fine', pattern]) }
    const { result, longest } = await watched(() => call('POST', '/guardrails', body))
    t.match(result, {
      status: 400,
      body: { error: { metadata: { field: 'content_filters[1].pattern', reason: 'invalid_regex_pattern' } } },
    })
    t.match(JSON.stringify(result.body), /content_filters\[1\]\.pattern: invalid_regex_pattern: takes too long for each character/)
    // Each of them took 1 to 50 seconds; it takes a tenth of a second.
    t.ok(longest < 1_000, `${pattern.slice(0, 20)}: ${Math.round(longest)} ms`)
  }
  t.same((await call('GET', '/guardrails')).body, { data: [], total_count: 0 })
})

t.test('patterns that are too much together are refused', async (t) => {
  const { call } = await guardrailScene(t)
  const many = Array.from({ length: 400 }, (_, i) => `x{1000}y{${600 + i}}`)
  t.match(await call('POST', '/guardrails', { name: 'many', ...filters(many) }), {
    status: 400,
    body: { error: { message: /^content_filters\[\d+\]\.pattern: invalid_regex_pattern: takes too much together/ } },
  })
})

t.test('patterns are compiled one per turn of the event loop, and once', async (t) => {
  const { call, say } = await guardrailScene(t)
  const patterns = (from: number) => Array.from({ length: 30 }, (_, i) => `(?i)\\p{L}{1000}\\p{L}{${from + i}}`)
  const made = await watched(() => call('POST', '/guardrails', { name: 'many', ...filters([...patterns(800), 'forbidden-[0-9]+']) }))
  t.equal(made.result.status, 201)
  t.ok(made.longest < made.took / 3, `the longest turn took ${Math.round(made.longest)} of ${Math.round(made.took)} ms`)
  const { id } = answeredData(made.result)
  const assigned = await watched(() => call('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [HASHES.app] }))
  t.equal(assigned.result.status, 200)
  t.ok(assigned.took < made.took / 2, `put in force in ${Math.round(assigned.took)} ms, compiled in ${Math.round(made.took)} ms`)
  t.equal((await say('forbidden-1234')).status, 403, 'in force once the assignment is answered')
  const workspace = await watched(() => call('PATCH', `/guardrails/${WORKSPACE_GUARDRAIL}`, filters(patterns(900))))
  t.equal(workspace.result.status, 200)
  t.ok(workspace.longest < workspace.took / 3, `the longest turn took ${Math.round(workspace.longest)} of ${Math.round(workspace.took)} ms`)
})
