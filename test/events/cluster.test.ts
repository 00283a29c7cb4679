/** Several processes: one PostgreSQL, or the workers of one program. Each event is delivered once. Runs with `npm run test:servers`. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { ask, type Cluster, type Member, makeKey, manage, newCluster, startServers } from '../support/cluster.ts'
import { eventually, realTime } from '../support/eventually.ts'
import { startReceiver, status, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver.ts'

const LIMITED = 'sk-router-v1-limited000000000000'
const SLOW = { limit: 60_000 }

const servers = await startServers(t)

async function withReceiver(t: Test, cluster: Cluster): Promise<{ receiver: WebhookReceiver; start(workers: number): Promise<Member> }> {
  const receiver = await startReceiver()
  t.teardown(() => receiver.close())
  const events = `events: { receivers: [ { name: ops, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}" } ] }\n`
  const start = (workers: number): Promise<Member> =>
    cluster.start({ workers, keys: [`{ name: limited, key: "${LIMITED}", limit: "0.20" }`], more: events })
  return { receiver, start }
}

const receiverSubjects = (receiver: WebhookReceiver, type: string): string[] =>
  receiver.received.filter(({ event }) => event.type === `headgate.${type}`).map(({ event }) => String(event.subject))

if (servers) {
  t.test('two programs, one with workers, over one PostgreSQL deliver each event once', async (t) => {
    const { receiver, start } = await withReceiver(t, await newCluster(t, servers))
    const members = [await start(0), await start(2)]
    const [here, there] = members
    if (!here || !there) throw new Error('expected two members')
    const made: string[] = []
    for (let round = 0; round < 5; round++) for (const member of members) made.push((await makeKey(member, `key ${round}`)).hash)
    await eventually('an event of each key', () => new Set(receiverSubjects(receiver, 'key.created')).size === made.length, SLOW)
    await realTime(3_000)
    t.same(receiverSubjects(receiver, 'key.created').sort(), made.sort(), 'each exactly once')
    const replies = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(members[at % 2] ?? here, { key: LIMITED })))
    t.equal(replies.filter((reply) => reply.status === 200).length, 20)
    const shares = () =>
      receiver.received.filter(({ event }) => event.type === 'headgate.budget.share_reached').map(({ event }) => event.data.share_percent)
    await eventually('all shares', () => shares().length >= 3, SLOW)
    await realTime(3_000)
    t.same(
      shares()
        .map(Number)
        .sort((a, b) => a - b),
      [50, 80, 100],
      'each share once, whichever process charged it',
    )
    t.equal(receiverSubjects(receiver, 'budget.limit_reached').length, 1)
    const { data } = (await manage(there, '/events/receivers', 'GET')) as JsonObject
    t.match(data, [{ name: 'ops', pending: 0, dead: 0 }], 'a worker shows it, too')
  })

  t.test('a program that is killed while it sends is followed by another one', async (t) => {
    const { receiver, start } = await withReceiver(t, await newCluster(t, servers))
    receiver.answer = () => {}
    const first = await start(0)
    const { hash } = await makeKey(first, 'one')
    await eventually('it is sent', () => receiver.received.length === 1, SLOW)
    first.child.kill('SIGKILL')
    await first.exited
    receiver.answer = status(204)
    await start(0)
    await eventually('it is sent again', () => receiver.received.length === 2, { limit: 120_000 })
    t.same(receiverSubjects(receiver, 'key.created'), [hash, hash])
    t.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 1, 'with the same id')
  })
}
