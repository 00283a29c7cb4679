/** One member over two programs, one of them with workers, on one PostgreSQL: its limit holds to the cent with whatever token it calls. */
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { ask, ledgersAgree, newCluster, PRICE, startServers, tally } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { startIssuer } from '../../support/token-issuer.ts'

t.setTimeout(280_000)
/** Requests that the limit pays for, and that are sent. */
const PAID = 20
const SENT = 60

const servers = await startServers(t)
t.test('the limit of a member is one for all processes', { skip: !servers }, async (t) => {
  if (!servers) return
  const issuer = await startIssuer(t, systemClock)
  const cluster = await newCluster(t, servers)
  const rule = `{ when: { groups: ml-team }, limit: "${(PAID * PRICE) / 1e9}" }`
  const auth = `  issuers: [ { issuer: "${issuer.url}", audiences: [ headgate ], rules: [ ${rule} ] } ]`
  const [here, there] = [await cluster.start({ auth }), await cluster.start({ workers: 2, auth })]
  const tokens = await Promise.all(['one', 'two', 'three'].map((jti) => issuer.token({ jti })))
  const replies = await Promise.all(
    Array.from({ length: SENT }, (_, at) => ask([here, there][at % 2] ?? here, { key: tokens[at % tokens.length] ?? '' })),
  )
  const first = tally(replies)
  t.ok((first[200] ?? 0) <= PAID, JSON.stringify(first))
  t.equal((first[200] ?? 0) + (first[402] ?? 0), SENT, JSON.stringify(first))
  // Leases that lie idle elsewhere come back: what the rush has left is spent to the end.
  let served = first[200] ?? 0
  const spent = await eventually('all of it is spent', async () => {
    const { status } = await ask(served % 2 === 0 ? here : there, { key: await issuer.token({ jti: String(served) }) })
    if (status === 200) served++
    return served === PAID && status === 402
  })
  t.ok(spent)
  t.equal(served, PAID)
  const other = await ask(there, { key: await issuer.token({ sub: 'bob' }) })
  t.equal(other.status, 200, 'another member has a limit of its own')
  for (const member of [here, there])
    await eventually('both show all of it', async () => {
      const { text } = await ask(member, { key: tokens[0] ?? '', path: '/v1/key' })
      const { data } = JSON.parse(text) as { data: JsonObject }
      return data.usage === (PAID * PRICE) / 1e9 && data.limit_remaining === 0
    })
  await ledgersAgree(t, cluster, [here, there])
  t.ok((issuer.calls['/jwks'] ?? 0) <= 3, 'each process fetches the keys once')
})
