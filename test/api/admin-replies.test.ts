/**
 * Replies of the admin listener to pages of the control room, from a gateway that has something of everything, against what its routes
 * declare (`src/api/admin-replies.ts`), from which the types of the pages are made: no member is missing, and none is beside them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_REPLIES } from '../../src/api/index.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { misfit } from '../gateway/formats/openapi-rules.ts'
import { ADMIN_TOKEN, adminFetch } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { list, object } from '../support/fold.ts'
import { startScene } from '../support/scene.ts'

/** The schema without room for members that it does not name. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed)
  if (!isObject(schema)) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value ?? null)]))
  return schema.type === 'object' ? { ...inner, additionalProperties: false } : inner
}

const ROUTES = Object.values(ADMIN_REPLIES).flatMap(({ routes }) => routes)
const routeSchema = (route: string): JsonObject => {
  const found = Object.values(ADMIN_REPLIES).find(({ routes }) => routes.includes(route))
  return object(closed(JSON.parse(JSON.stringify(found?.schema ?? null))))
}

t.test('every reply is as it is declared, with nothing missing and nothing beside', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-admin-replies-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { gateway, ask, clock } = await startScene(t, {
    clock: new FakeClock(1, Date.parse('2026-11-20T12:00:00Z')),
    yaml: `store: { url: "sqlite:${join(folder, 'store.db')}" }
exports: [ { name: lake, file: { path: "${join(folder, 'lake')}" } } ]
guardrails:
  - { name: words, phrases: [forbidden], action: block, audit: full }`,
  })
  const seen = new Set<string>()
  const read = async (route: string, init: RequestInit & { query?: string } = {}): Promise<JsonObject> => {
    const [method = '', path = ''] = route.split(' ')
    const { query = '', ...request } = init
    const reply = await adminFetch(`${gateway.admin}${path}${query}`, { ...request, method })
    const text = await reply.text()
    t.ok(reply.ok, `${route}: ${reply.status} ${text}`)
    const body = JSON.parse(text) as JsonObject
    t.equal(misfit({}, routeSchema(route), body), undefined, `${route}: ${text}`)
    seen.add(route)
    return body
  }
  await (await ask()).text()
  await (await ask({ messages: [{ role: 'user', content: 'forbidden' }] })).text()
  const json = { 'content-type': 'application/json', 'x-control-room': '1' }
  const session = await read('POST /control-room/session', { headers: json, body: JSON.stringify({ key: ADMIN_TOKEN }) })
  t.match(session.data, { role: 'operator' })
  t.equal((await read('GET /control-room/session')).data, null, 'without its cookie')
  const audit = { headers: json, body: JSON.stringify({ verb: 'audit' }) }
  // Rows are written a quarter of a second after the reply.
  const findings = await eventually('a finding', async () => {
    clock.advance(300)
    const { data } = await read('POST /guardrails/command', audit)
    return list(data).length > 0 ? list(data) : undefined
  })
  t.match(findings, [{ action: 'blocked', texts: ['forbidden'] }])
  t.match(await read('GET /ledger/verify/full'), { ok: true, entries: { open: 0 } })
  await read('GET /ledger/verify', { headers: { 'cache-control': 'no-cache' } })
  await read('GET /ledger/verify/progress')
  await read('GET /ledger/recovery')
  await read('POST /ledger/rebuild')
  await read('POST /ledger/exports', { query: '?export=lake&since=2026-11-20&until=2026-11-21' })
  await eventually('the export has ended', async () => object((await read('GET /ledger/exports')).run).state !== 'running')
  t.same([...seen].sort(), [...ROUTES].sort(), 'every route that is declared')
})
