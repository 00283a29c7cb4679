/** robots.txt: what it says of a page, also where very many ask at once. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { OutboundPolicy } from '../../src/services/outbound/index.ts'
import { closeRobots, robotsAllow } from '../../src/services/pages/robots.ts'
import { FakeClock } from '../support/clock.ts'

/** Time stands still: however long the others take, nobody's is up. */
const clock = new FakeClock()

t.teardown(() => closeRobots())

t.test('answers 200 questions at once from one fetch of robots.txt', async (t) => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    response.end('User-agent: *\nDisallow: /closed')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const policy = new OutboundPolicy({ allowPrivate: [`127.0.0.1:${port}`] })
  const options = { policy, clock, timeout: 10_000 }
  const at = (path: string): string => `http://127.0.0.1:${port}${path}`
  t.equal(await robotsAllow(at('/open'), options), true)
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => robotsAllow(at(i % 2 === 0 ? '/open' : '/closed'), options)))
  t.same(
    answers,
    Array.from({ length: 200 }, (_, i) => i % 2 === 0),
  )
  t.equal(asked, 1, 'it is fetched once')
})

t.test('returns `unavailable` to questions beyond the queue', async (t) => {
  const server = createServer((_request, response) => response.end('User-agent: *\nAllow: /'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const options = { policy: new OutboundPolicy({ allowPrivate: [`127.0.0.1:${port}`] }), clock, timeout: 10_000 }
  const address = `http://127.0.0.1:${port}/`
  t.equal(await robotsAllow(address, options), true)
  const outcomes = await Promise.allSettled(Array.from({ length: 1100 }, () => robotsAllow(address, options)))
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  t.ok(refused.length > 0 && refused.length < 200, `${refused.length} of 1100`)
  t.ok(refused.every(({ reason }) => reason.code === 'unavailable'))
  t.ok(outcomes.every((outcome) => outcome.status === 'rejected' || outcome.value))
})

t.test('lines of other kinds between the names of a group do not end it', async (t) => {
  for (const line of ['Sitemap: https://example.test/map.xml', 'Crawl-delay: 5', 'Content-Signal: ai-train=no', 'Host: example.test', '']) {
    const server = createServer((_request, response) => response.end(`User-agent: *\n${line}\nUser-agent: Other\nDisallow: /closed\n`))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const options = { policy: new OutboundPolicy({ allowPrivate: [`127.0.0.1:${port}`] }), clock, timeout: 10_000 }
    t.equal(await robotsAllow(`http://127.0.0.1:${port}/closed`, options), false, line)
    t.equal(await robotsAllow(`http://127.0.0.1:${port}/open`, options), true, line)
  }
})
