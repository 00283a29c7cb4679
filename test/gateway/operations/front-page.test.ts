/** Page of a browser at `/`: the next steps, of which the first runs as it stands; programs get the usual 404. */
import { execFile } from 'node:child_process'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import t from 'tap'
import { referencePages } from '../../../src/server/docs-routes.ts'
import { KEY, startGateway } from '../../support/gateway.ts'
import { rawExchange } from '../../support/raw.ts'
import { simulated } from '../../support/simulated.ts'

const run = promisify(execFile)
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

t.test('a browser gets the next steps, and the first of them runs', async (t) => {
  const gateway = await startGateway(simulated())
  t.teardown(() => gateway.close())
  const reply = await fetch(gateway.url, { headers: BROWSER })
  const html = await reply.text()
  t.equal(reply.status, 200)
  t.match(reply.headers.get('content-security-policy'), /default-src 'none'/)
  t.match(html, /href="\/docs"[\s\S]*control-room/)
  const [, code = ''] = /<code>(curl[\s\S]*?)<\/code>/.exec(html) ?? []
  const line = code.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
  const { stdout } = await run('bash', ['-c', `${line} -sS`], { env: { PATH: process.env.PATH, KEY } })
  t.match(JSON.parse(stdout), { object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
  t.notMatch(html, KEY)
})

t.test('programs, other methods and other paths see no page', async (t) => {
  const gateway = await startGateway(simulated())
  t.teardown(() => gateway.close())
  for (const [method, path, headers, status] of [
    ['GET', '/', {}, 404],
    ['GET', '/', { accept: 'application/json' }, 404],
    ['POST', '/', BROWSER, 404],
    ['GET', '/index.html', BROWSER, 404],
  ] as const) {
    const reply = await fetch(gateway.url + path, { method, headers })
    t.equal(reply.status, status, `${method} ${path}`)
    t.match(reply.headers.get('content-type'), 'application/json')
    await reply.arrayBuffer()
  }
})

t.test('the document is built once, however often the page is opened: it needs no key', async (t) => {
  let built = 0
  const pages = referencePages(async () => {
    built++
    return { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {} }
  })
  const call = { path: '/', method: 'GET', request: { headers: BROWSER, socket: {} } as unknown as IncomingMessage }
  for (let round = 0; round < 20; round++) t.match((await pages(call))?.html, /The gateway answers/)
  t.equal(built, 1)
})

t.test('a Host that is markup is not shown', async (t) => {
  const gateway = await startGateway(simulated())
  t.teardown(() => gateway.close())
  const text = await rawExchange(
    gateway.url,
    'GET / HTTP/1.1\r\nHost: "><script>x</script>\r\nAccept: text/html\r\nConnection: close\r\n\r\n',
  )
  t.notMatch(text, '<script>')
})
