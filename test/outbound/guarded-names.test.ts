/** Look-ups of names that requests bring: shared, kept for a while, bounded; and that what they find is checked for each connection. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Address } from '../../src/core/name-sources.ts'
import { GuardedNames, MAX_STALE_MS } from '../../src/services/outbound/guarded-names.ts'
import { guardedFetch, OutboundPolicy } from '../../src/services/outbound/index.ts'
import { bubblewrap, bubblewrapDemanded } from '../support/bubblewrap.ts'
import { turn } from '../support/clock.ts'
import { startWatch } from '../support/eventually.ts'
import { ownNetwork } from '../support/name-server.ts'

/** Look-ups that a test answers. */
function scripted() {
  const queries: { host: string; answer: (addresses: readonly Address[]) => void; fail: (error: Error) => void }[] = []
  let time = 0
  const names = new GuardedNames(
    (host) =>
      new Promise((answer, fail) => {
        queries.push({ host, answer, fail })
      }),
    () => time,
  )
  return { names, queries, pass: (ms: number) => (time += ms) }
}

const ADDRESS: readonly Address[] = [{ address: '192.0.2.1', family: 4 }]

t.test('all that wait for a name share one look-up, and its answer is kept for 30 s', async (t) => {
  const { names, queries, pass } = scripted()
  const waiting = Array.from({ length: 10 }, () => names.resolve('a.example'))
  t.equal(queries.length, 1)
  queries[0]?.answer(ADDRESS)
  t.same(await Promise.all(waiting), Array(10).fill(ADDRESS))
  pass(29_999)
  t.same(await names.resolve('a.example'), ADDRESS)
  t.equal(queries.length, 1)
  pass(1)
  void names.resolve('a.example')
  t.equal(queries.length, 2, 'then it is looked up again')
})

t.test('a name without an address, one that fails and one that cannot be connected to are soon looked up again', async (t) => {
  const { names, queries, pass } = scripted()
  const none = names.resolve('none.example')
  queries[0]?.answer([])
  t.same(await none, [])
  pass(999)
  t.same(await names.resolve('none.example'), [])
  pass(1)
  const failing = names.resolve('none.example')
  queries[1]?.fail(new Error('no name server'))
  await t.rejects(failing, /no name server/)
  pass(1_000)
  const found = names.resolve('none.example')
  queries[2]?.answer(ADDRESS)
  t.same(await found, ADDRESS)
  names.doubt('none.example')
  void names.resolve('none.example')
  t.equal(queries.length, 4)
})

t.test('older addresses serve while a newer answer hangs or fails, for ten minutes, and none of a name that is gone', async (t) => {
  const { names, queries, pass } = scripted()
  const first = names.resolve('a.example')
  queries[0]?.answer(ADDRESS)
  await first
  pass(30_000)
  const watch = startWatch()
  t.same(await names.resolve('a.example'), ADDRESS, 'a look-up that hangs')
  t.ok(watch() < 2_000)
  pass(5_000)
  t.same(await names.resolve('a.example'), ADDRESS, 'what hangs for long is not waited for')
  t.equal(queries.length, 2, 'all share it')
  queries[1]?.fail(new Error('silent'))
  await turn()
  t.same(await names.resolve('a.example'), ADDRESS, 'one that has failed')
  pass(1_000)
  const gone = names.resolve('a.example')
  queries[2]?.answer([])
  t.same(await gone, [], 'a name without an address')
  pass(1_000)
  const again = names.resolve('a.example')
  queries[3]?.answer(ADDRESS)
  await again
  pass(MAX_STALE_MS)
  const late = names.resolve('a.example')
  queries[4]?.fail(new Error('silent'))
  await t.rejects(late, /silent/, 'too old')
})

t.test('look-ups and names are bounded, and a name that is known is not held up', async (t) => {
  const { names, queries } = scripted()
  const known = names.resolve('known.example')
  queries[0]?.answer(ADDRESS)
  await known
  for (let i = 0; i < 256; i++) names.resolve(`silent${i}.example`).catch(() => {})
  await t.rejects(names.resolve('another.example'), /too many names/)
  t.same(await names.resolve('known.example'), ADDRESS)
  for (const { answer } of queries) answer([])
  await turn()
  for (let i = 0; i < 3_000; i++) {
    const next = names.resolve(`n${i}.example`)
    queries.at(-1)?.answer(ADDRESS)
    await next
  }
  const before = queries.length
  void names.resolve('n2999.example')
  t.equal(queries.length, before, 'the newest are kept')
  void names.resolve('known.example')
  t.equal(queries.length, before + 1, 'the oldest are not')
})

t.test('what is kept is checked for each connection', async (t) => {
  let requests = 0
  const server = createServer((_request, response) => {
    requests++
    response.setHeader('content-type', 'text/plain').end('inside')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const names = new GuardedNames(async () => [{ address: '127.0.0.1', family: 4 }])
  const fetch = (policy: OutboundPolicy) => guardedFetch(`http://page.example.com:${port}/`, { policy, resolve: names.resolve })
  t.equal(String((await fetch(new OutboundPolicy({ allowPrivate: [`page.example.com:${port}`] }))).bytes), 'inside')
  await t.rejects(fetch(new OutboundPolicy({ ports: [port] })), { code: 'unprocessable' }, 'another policy gets nothing of what is known')
  t.equal(requests, 1)
})

interface Result {
  own: number
  pages: { failed: number; slowest: number; queries: number }
  strangers: { opened: number; queries: number }
  rebound: { fine: boolean[]; home: number; queries: number }
}

t.test(
  'silent names hold no thread of the process, with the system’s resolver and a real name server',
  { skip: bubblewrap === undefined && !bubblewrapDemanded && 'no bubblewrap here' },
  async (t) => {
    const settings = join(t.testdir({}), 'resolv.conf')
    writeFileSync(settings, 'nameserver 127.0.0.1\n')
    const script = join(import.meta.dirname, '../support/silent-pages.ts')
    const child = spawn(bubblewrap ?? 'bwrap', [...ownNetwork(settings), process.execPath, script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill())
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await once(child, 'close')
    t.comment(text)
    const { own, pages, strangers, rebound } = JSON.parse(text) as Result
    t.ok(own >= 0 && own < 1_500, `a look-up of another part of the program takes ${own} ms`)
    t.equal(pages.failed, 0, 'a host of the operator is found')
    t.ok(pages.slowest < 1_500, `within ${pages.slowest} ms`)
    t.ok(pages.queries <= 2, `${pages.queries} look-ups of one name for 20 pages`)
    t.same(strangers, { opened: 0, queries: 1 }, 'a stranger’s name that leads inside: one look-up for 20 pages, and no connection')
    t.same(
      rebound,
      { fine: [true, true, false, false], home: 0, queries: 2 },
      'a name that leads home the second time is never followed there',
    )
  },
)
