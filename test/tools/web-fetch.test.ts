/** The tool by itself: names that change while they are looked at, and time. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Clock, ToolContext, ToolHost, ToolOutcome } from '../../src/plugin-api/index.ts'
import { DiskFiles } from '../../src/services/files/index.ts'
import type { Resolved } from '../../src/services/outbound/index.ts'
import { fetchTool } from '../../src/tools/web-fetch/tool.ts'
import { FakeClock } from '../support/clock.ts'

const OPEN = '127.0.0.2'
const servers: Server[] = []
let port = 0
let hits = 0
let serve = (_request: IncomingMessage, response: ServerResponse): void => void response.end('public')

t.before(async () => {
  for (const [host, canary] of [
    [OPEN, false],
    ['127.0.0.1', true],
  ] as const) {
    const server = createServer((request, response) => {
      if (canary) hits++
      if (request.url === '/robots.txt') response.writeHead(404).end()
      else if (canary) response.end('secret')
      else serve(request, response)
    })
    server.listen(port, host)
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    servers.push(server)
  }
})
t.teardown(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

/** Runs the tool once, with names looked up like this. */
async function run(
  url: string,
  resolve: (host: string) => Promise<Resolved[]>,
  clock: Clock = systemClock,
  settings: JsonObject = {},
): Promise<ToolOutcome> {
  // One name is the operator's own, so that it may have a port and an address of this machine.
  const own = { allow_private: [`site.corp:${port}`, `${OPEN}:${port}`, `www.example.com:${port}`], ...settings }
  const session = await fetchTool(resolve).begin({}, 'tools[0]', own, {} as ToolContext)
  const files = new DiskFiles({ path: undefined, maxFile: 0, maxBytes: 0 }, clock)
  const host = { clock, files, estimateTokens: (text: string) => Math.ceil(text.length / 3) } as unknown as ToolHost
  return session.run({ url }, host, new AbortController().signal)
}

const told = ({ output }: ToolOutcome): JsonObject => JSON.parse(output) as JsonObject

t.test('a name that resolves anew reaches no private address', async (t) => {
  const name = `http://site.corp:${port}/`
  for (const settings of [{ robots: true }, { robots: false }]) {
    for (const address of ['169.254.169.254', '::ffff:a9fe:a9fe', '0.0.0.0', 'fe80::1', 'fd00:ec2::254', '100.100.100.200', 'nonsense']) {
      const family = address.includes(':') ? 6 : 4
      for (const others of [[], [{ address: OPEN, family: 4 }]]) {
        const outcome = await run(name, async () => [...others, { address, family }], systemClock, settings)
        t.match(told(outcome), { status: 'failed', error: 'The address could not be fetched' }, address)
      }
    }
  }
  let lookups = 0
  // Each connection looks the name up once, and connects to what that look-up said.
  const rebinding = async (): Promise<Resolved[]> => [{ address: lookups++ % 2 === 0 ? OPEN : '169.254.169.254', family: 4 }]
  t.match(told(await run(name, rebinding, systemClock, { robots: false })), { status: 'completed', content: 'public' })
  t.equal(lookups, 1)
  lookups = 0
  serve = (_request, response) => void response.writeHead(302, { location: `http://site.corp:${port}/again` }).end()
  t.match(told(await run(name, rebinding, systemClock, { robots: false })), { status: 'failed' }, 'at a redirect')
  t.equal(lookups, 2)
  lookups = 0
  t.match(
    told(await run(name, async () => [{ address: '127.0.0.1', family: 4 }], systemClock, { allow_private: [`${OPEN}:${port}`] })),
    { status: 'failed' },
    'a name that nobody has named',
  )
  t.equal(hits, 0, 'no canary was hit')
})

t.test('gives up a page that drips after ten seconds', async (t) => {
  const clock = new FakeClock()
  const waiting = Promise.withResolvers<void>()
  serve = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).write('<p>')
    waiting.resolve()
  }
  const running = run(`http://site.corp:${port}/`, async () => [{ address: OPEN, family: 4 }], clock, { robots: false })
  await waiting.promise
  await clock.advance(9_999)
  t.equal(clock.waiting.includes(10_000), true)
  await clock.advance(1)
  t.match(told(await running), { status: 'failed', error: 'The address did not answer within 10000 ms', error_code: 'url_not_accessible' })
})

t.test('arguments that are none', async (t) => {
  const session = await fetchTool().begin({}, 'tools[0]', {}, {} as ToolContext)
  for (const url of [undefined, '', '  ', 5, {}, null])
    t.match(told(await session.run({ url: url as string }, {} as ToolHost, new AbortController().signal)), {
      status: 'failed',
      error_code: 'invalid_tool_input',
    })
})
