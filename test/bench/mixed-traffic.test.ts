/** The mix of requests: its shares, and arrivals by the clock. */
import t from 'tap'
import { arrivals, BODIES, KINDS, kindAt } from '../../bench/mixed/traffic.ts'
import { seededChance } from '../../bench/simulation/chance.ts'

t.test('70 % chats, 20 % turns of agents, 10 % embeddings', async (t) => {
  const kinds = Array.from({ length: 1000 }, (_, at) => kindAt(at / 1000))
  t.same(
    KINDS.map((kind) => kinds.filter((one) => one === kind).length),
    [700, 200, 100],
  )
})

t.test('arrivals come at their rate, whatever is answered', async (t) => {
  const list = [...arrivals(50, 100_000, seededChance(5))]
  t.ok(Math.abs(list.length - 5000) < 250, `${list.length} in 100 seconds`)
  t.ok(
    list.every(({ due }, at) => due > (list[at - 1]?.due ?? 0) && due < 100_000),
    'each is due after the one before it',
  )
  const gaps = list.map(({ due }, at) => due - (list[at - 1]?.due ?? 0))
  t.ok(gaps.filter((gap) => gap < 5).length > 900, 'some come in bunches')
  t.same(list, [...arrivals(50, 100_000, seededChance(5))], 'each target gets the same ones')
})

t.test('a turn of an agent is large and streamed', async (t) => {
  t.ok(BODIES.agent.body.length > 300_000)
  t.match(BODIES.agent.body, /"stream":true/)
  t.match(BODIES.held.body, /"stream":true/)
  t.notMatch(BODIES.chat.body, /"stream":true/)
})
