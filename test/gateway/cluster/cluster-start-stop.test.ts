/** Programs of one gateway that are drained under load, and such that start where PostgreSQL or Redis is missing. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import {
  allHeard,
  ask,
  type Cluster,
  ledgersAgree,
  type Member,
  makeKey,
  newCluster,
  QUESTION,
  rush,
  type Servers,
  serveArguments,
  startLoad,
  startServers,
  tally,
} from '../../support/cluster.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { runProgram } from '../../support/program.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

/** USD. */
const LIMIT = 1

function drains(t: Test, servers: Servers): void {
  for (const workers of [0, 2])
    t.test(`SIGTERM under load, ${workers} workers: streams end, and the other can spend the rest at once`, async (t) => {
      const cluster = await newCluster(t, servers)
      const [one, other] = await Promise.all([cluster.start({ workers }), cluster.start()])
      const key = await makeKey(one, 'drained', LIMIT)
      const gate = new Gate()
      const { script } = cluster.upstream
      cluster.upstream.script = (seen, index) => {
        if (seen.json.stream !== true) return script(seen, index)
        const [first, ...rest] = framesFor(seen.path, { text: ['one ', 'two'] })
        return sseAnswer([first, gate.step, ...rest])
      }
      const load = startLoad(one, 6)
      t.same(await rush([one, other], 24, key), { 200: 24 })
      const streams = Array.from({ length: 8 }, () => ask(one, { key: key.key, body: { ...QUESTION, stream: true } }))
      const opened = () => cluster.upstream.requests.filter((seen) => seen.json.stream === true).length
      await eventually('the streams', () => (opened() === 8 ? true : undefined))
      one.child.kill('SIGTERM')
      await eventually('the drain', async () => (await fetch(`${one.admin}/readyz`)).status === 503 || undefined)
      gate.open()
      for (const { status, text } of await Promise.all(streams)) t.ok(status === 200 && text.endsWith('data: [DONE]\n\n'))
      t.match(await one.exited, { code: 0 })
      await load.end()
      t.same(Object.keys(tally(load.replies)), ['200'])
      const rest = LIMIT * 100 - 24 - 8
      t.same(await rush([other], rest + 20, key), { 200: rest, 402: 20 }, 'the whole rest')
      await ledgersAgree(t, cluster, [other])
    })
}

const PASSWORD = 'hunter2hunter2'

function starts(t: Test, servers: Servers): void {
  t.test('without PostgreSQL a program says so and ends, without a word of the password', async (t) => {
    const cluster = await newCluster(t, servers)
    const [nobody] = await freePorts(1)
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.teardown(() => silent.close())
    const address = silent.address()
    const silentPort = address && typeof address === 'object' ? address.port : 0
    const cases = [
      { port: nobody, says: /headgate: The store of record does not answer \(ECONNREFUSED\)/ },
      { port: silentPort, says: /headgate: The store of record does not answer \(timed out\)/ },
      { port: Number(new URL(cluster.database).port), says: /headgate: The store of record does not answer \(no such database, 3D000\)/ },
    ]
    const programs = await cases.reduce<Promise<[ReturnType<typeof runProgram>, RegExp][]>>(async (before, { port, says }) => {
      const made = await before
      for (const workers of [0, 2]) {
        const place = await cluster.file({ workers, database: `postgres://headgate:${PASSWORD}@127.0.0.1:${port}/nowhere` })
        made.push([runProgram(serveArguments(place)), says])
      }
      return made
    }, Promise.resolve([]))
    for (const [program, says] of programs) {
      t.match(await program.exited, { code: 1 })
      t.match(program.err(), says)
      t.notMatch(program.out() + program.err(), PASSWORD)
      t.equal(program.out(), '', 'nothing listens')
    }
  })

  t.test('without Redis a program starts, says so, and limits hold by shares', async (t) => {
    const cluster = await newCluster(t, servers)
    const [nobody] = await freePorts(1)
    const parts = { shared: `redis://:${PASSWORD}@127.0.0.1:${nobody}`, keys: [SIX] }
    const members = await Promise.all([cluster.start(parts), cluster.start({ ...parts, workers: 2 })])
    for (const member of members) {
      await eventually('said', () => /"kind":"shared-lost","reason":"ECONNREFUSED"/.exec(member.out()) ?? undefined)
      t.same(await rush([member], 6), { 200: 6 })
      t.notMatch(member.out() + member.err(), PASSWORD)
    }
    await shared(t, cluster, members)
  })

  t.test('without a Redis, the workers of one program count together, and each program has its share', async (t) => {
    const cluster = await newCluster(t, servers)
    const parts = { shared: null, keys: [SIX], workers: 2 }
    await shared(t, cluster, await Promise.all([cluster.start(parts), cluster.start(parts)]))
  })
}

/** Requests a minute that it may make. */
const MOST = 6
const FEW = 'sk-router-v1-few00000000000000000'
const SIX = `{ name: few, key: "${FEW}", limits: { requests: ${MOST} } }`

/** No more goes through than the limit allows, and at each program something. */
async function shared(t: Test, cluster: Cluster, members: readonly Member[]): Promise<void> {
  await allHeard(cluster, members)
  const from = performance.now()
  const counts = await Promise.all(members.map((member) => rush([member], 20, { key: FEW })))
  // On a busy machine the rush lasts, and of what is used up some comes back meanwhile.
  const most = MOST + Math.floor(((performance.now() - from) / 60_000) * MOST)
  const passed = counts.map((count) => count[200] ?? 0)
  t.ok(
    passed.every((count) => count > 0),
    `${passed}`,
  )
  t.ok(passed.reduce((sum, count) => sum + count, 0) <= most, `${passed} of ${most}, ${MOST} of them at once`)
  for (const count of counts) t.equal((count[200] ?? 0) + (count[429] ?? 0), 20)
}

const servers = await startServers(t)
if (servers) {
  drains(t, servers)
  starts(t, servers)
} else t.plan(0, 'needs PostgreSQL and Redis')
