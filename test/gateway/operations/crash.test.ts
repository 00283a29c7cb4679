/** kill -9 at any moment, then a start on the same file: nothing is lost, nothing is there twice. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Reconciliation } from '../../../src/ledger/types.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock, turns } from '../../support/clock.ts'
import { type Audit, audit, parseRows, type Row } from '../../support/crash/audit.ts'
import { freePorts, SECRET, writeConfiguration } from '../../support/crash/configuration.ts'
import { load, type Received } from '../../support/crash/load.ts'
import { BookkeepingProvider } from '../../support/crash/provider.ts'
import { type Program, runProgram, serveProgram } from '../../support/program.ts'
import { runs, seed } from '../../support/seed.ts'

const ROUNDS = runs(2, 20)
const CONNECTIONS = 32
const SEED = seed()

interface CrashRun {
  file: string
  provider: BookkeepingProvider
  random: () => number
  /** True once the command line was asked for the report: that takes a while. */
  told?: boolean
}

/** The verb's output; it must succeed. */
async function ledger(verb: string, file: string): Promise<string> {
  const program = runProgram(['ledger', verb, '--config', file])
  const { code } = await program.exited
  if (code !== 0) throw new Error(`ledger ${verb} ended with ${code}: ${program.out()}${program.err()}`)
  return program.out()
}

type Serving = Program & { url: string; admin: string }

/**
 * Puts it under load and kills it at a random moment; in every third round while it drains.
 * @returns what callers had received whole.
 */
async function killedUnderLoad({ provider, random }: CrashRun, program: Serving, round: number): Promise<Received[]> {
  let ending = false
  const clients = load({ url: program.url, key: SECRET, connections: CONNECTIONS, random, ending: () => ending })
  const moment = provider.reached(provider.received + 100 + Math.floor(random() * 400))
  // A failure of the load ends the round at once.
  await Promise.race([moment, clients])
  await turns(Math.floor(random() * 20))
  ending = true
  if (round % 3 === 2) {
    program.child.kill('SIGTERM')
    await program.until(/draining/)
  }
  program.child.kill('SIGKILL')
  const [received, { signal }] = await Promise.all([clients, program.exited])
  if (signal !== 'SIGKILL') throw new Error(`the gateway ended by itself:\n${program.out()}${program.err()}`)
  return received
}

/** Starts it and kills it before it listens, so that the recovery itself is cut: after a random real time, since it is a process. */
async function killedWhileStarting({ file, random }: CrashRun): Promise<void> {
  const program = runProgram(['--config', file])
  const killed = new Promise((resolve) => setTimeout(resolve, random() * 600)).then(() => program.child.kill('SIGKILL'))
  await Promise.all([killed, program.exited])
}

/** The report of a start names what it settled. */
async function checkRecovery(t: Test, admin: string, before: readonly Row[], after: readonly Row[]): Promise<void> {
  const open = new Set(before.filter(({ status }) => status === 'open').map(({ id }) => id))
  const settled = after.filter(({ id }) => open.has(id))
  const charged = settled.reduce((sum, { cost_nano }) => sum + cost_nano, 0)
  const report = (await (await adminFetch(`${admin}/ledger/recovery`)).json()) as Reconciliation
  t.match(report, { count: open.size, charged, keys: open.size > 0 ? [{ key: 'app', count: open.size, charged }] : [] })
  t.same(new Set(report.generations), open)
  t.equal(typeof report.oldest, open.size > 0 ? 'string' : 'object')
}

/** Settled requests stay as they are; open ones are settled as unknown. */
function checkHistory(t: Test, before: readonly Row[], after: readonly Row[]): void {
  const now = new Map(after.map((row) => [row.id, row]))
  const changed = before.filter((row) => row.status !== 'open' && JSON.stringify(row) !== JSON.stringify(now.get(row.id)))
  t.same(changed, [], 'settled rows stay as they are')
  const open = before.filter((row) => row.status === 'open')
  t.ok(open.length <= CONNECTIONS, `${open.length} generations were open`)
  t.same(
    open.filter((row) => now.get(row.id)?.status !== 'unknown'),
    [],
    'open ones are settled as unknown',
  )
  t.equal(after.length, before.length, 'a start adds none')
}

interface Audited {
  program: Serving
  found: Audit
}

/** Starts it on what the crash has left, and leaves it running for the next round. */
async function startAndAudit(t: Test, scene: CrashRun, received: readonly Received[]): Promise<Audited> {
  const { file, provider } = scene
  const before = parseRows(await ledger('export', file))
  const promised = received.length > 0 && !scene.told ? await ledger('recovery', file) : undefined
  const program = await serveProgram(['--config', file])
  const [verdict, exported] = await Promise.all([ledger('verify', file), ledger('export', file)])
  t.match(verdict, /, 0 open, .*: ok$/m)
  const after = parseRows(exported)
  const response = await fetch(`${program.url}/v1/key`, { headers: { authorization: `Bearer ${SECRET}` } })
  const { data } = (await response.json()) as { data: { usage: number; limit: number; limit_remaining: number } }

  checkHistory(t, before, after)
  await checkRecovery(t, program.admin, before, after)
  if (promised !== undefined) {
    scene.told = true
    const count = before.filter(({ status }) => status === 'open').length
    const utterance = (fate: string): RegExp =>
      new RegExp(count > 0 ? `^${count} generations ${fate} \\$` : '^0 generations left open$', 'm')
    t.match(promised, utterance('open: the next start will charge'))
    t.match(await ledger('recovery', file), utterance('settled as unknown at the start, charged'))
  }
  const found = audit(after, provider.calls)
  t.same(found.problems, [])
  t.match(found, { lost: 0, double: 0 })
  t.equal(found.settled + found.unknown, found.completed, 'every completed answer is settled')
  const rows = new Map(after.map((row) => [row.id, row]))
  t.same(
    received.filter(({ id, input }) => rows.get(id)?.status !== 'completed' || rows.get(id)?.usage.input_tokens !== input),
    [],
    'what a caller has read to its end was settled before',
  )
  const sum = after.reduce((total, row) => total + row.cost_nano, 0)
  t.equal(Math.round(data.usage * 1e9), sum, 'the spend of the key is the sum of the rows')
  t.equal(Math.round((data.limit - data.limit_remaining) * 1e9), sum, 'and nothing is held any more')
  return { program, found }
}

t.test(`${ROUNDS} rounds of kill -9 under load (seed ${SEED})`, async (t) => {
  const clock = new FakeClock(SEED)
  const random = (): number => clock.random()
  const provider = new BookkeepingProvider(random)
  const url = await provider.listen()
  t.teardown(() => provider.close())
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  writeConfiguration(file, { port, admin, store: join(directory, 'ledger.db'), provider: url })
  const scene: CrashRun = { file, provider, random }
  const received: Received[] = []
  let program: Serving = await serveProgram(['--config', file])
  t.teardown(() => program.child.kill('SIGKILL'))
  let found: Audit | undefined
  for (let round = 0; round < ROUNDS; round++) {
    received.push(...(await killedUnderLoad(scene, program, round)))
    if (round % 2 === 1) await killedWhileStarting(scene)
    ;({ program, found } = await startAndAudit(t, scene, received))
    t.comment(`round ${round + 1}: ${provider.received} calls, ${received.length} replies read whole, ${JSON.stringify(found)}`)
  }
  program.child.kill('SIGTERM')
  t.match(await program.exited, { code: 0 })
  t.ok(received.length > ROUNDS * 40, `${received.length} replies were read whole`)
})
