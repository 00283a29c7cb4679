/** A store of an older version as a test fixture: its SQL text, and everything that a gateway shows of it over HTTP. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { adminFetch } from './admin.ts'
import type { Gateway } from './gateway.ts'

export const FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'store')

export const BOSS = 'sk-router-v1-boss-0123456789abcdef'
export const APP = 'sk-router-v1-app-0123456789abcdef'

/** The moment at which the state was recorded, and at which a migrated store is read: a Wednesday, the 18th. */
export const RECORDED_AT = Date.UTC(2026, 10, 18, 12)

/** Which store a gateway of the fixture uses. */
export interface Place {
  /** `store.url` and, for PostgreSQL, `store.journal`. */
  readonly url: string
  readonly journal?: string
}

/** The configuration that wrote the fixture and that reads it. @param upstream address of the provider. */
export function fixtureConfig({ url, journal }: Place, upstream: string): string {
  return `store: { url: "${url}"${journal === undefined ? '' : `, journal: "${journal}"`}, retention: 32d }
auth:
  sign_in: { pkce: optional }
  keys:
    - { name: app, key: "${APP}", limit: "3000000.00", limit_reset: monthly }
    - { name: boss, key: "${BOSS}", management: true }
guardrails:
  - { name: written, limit_usd: 5000000, reset_interval: weekly, content_filter_builtins: [ { slug: email, action: flag } ] }
providers:
  up: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-up" }
models:
  acme/fixed: { context: 8000, endpoints: [ { provider: up, model: fixed, price: { prompt: "0", completion: "0", request: "0.01" } } ] }
  acme/tokens: { context: 8000, max_output: 100, endpoints: [ { provider: up, model: tokens, price: { prompt: "1.37", completion: "7.11" } } ] }
  acme/dear: { context: 8000, endpoints: [ { provider: up, model: dear, price: { prompt: "0", completion: "0", request: "1000000.00" } } ] }
`
}

/** Loads a dump into a new SQLite file. @returns its path. */
export function loadSqlite(path: string, dump: string): string {
  const db = new DatabaseSync(path)
  db.exec(dump)
  db.close()
  return path
}

export function fixtureText(version: string, name: string): string {
  return readFileSync(join(FIXTURES, version, name), 'utf8')
}

const KEY_FIELDS = [
  'hash',
  'name',
  'label',
  'disabled',
  'limit',
  'limit_remaining',
  'limit_reset',
  'include_byok_in_limit',
  'usage',
  'usage_daily',
  'usage_weekly',
  'usage_monthly',
  'created_at',
  'updated_at',
  'expires_at',
  'creator_user_id',
  'is_management_key',
] as const

const ROW_FIELDS = [
  'key',
  'model',
  'provider',
  'endpoint',
  'user',
  'status',
  'usage',
  'cost_nano',
  'hold_nano',
  'estimated',
  'finish_reason',
  'created_at',
] as const

/** State of its store that a gateway shows: every sum, key, guardrail, assignment, finding and generation. */
export interface StoredState extends JsonObject {
  /** By name and label. */
  keys: JsonObject
  credits: JsonObject
  guardrails: JsonObject[]
  assignments: JsonObject[]
  findings: JsonObject[]
  activity: JsonObject[]
  /** By id. */
  generations: JsonObject
  verdict: JsonObject
  /** Generations that were open when the store was opened. */
  recovered: JsonObject
}

export async function readState(gateway: Gateway): Promise<StoredState> {
  const get = async (path: string): Promise<JsonObject> => {
    const reply = await gateway.get(path, { authorization: `Bearer ${BOSS}` })
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${await reply.text()}`)
    return (await reply.json()) as JsonObject
  }
  const rows = async (path: string): Promise<JsonObject[]> => (await get(path)).data as JsonObject[]
  const admin = async (path: string): Promise<string> => (await adminFetch(`${gateway.admin}${path}`)).text()
  const keys = await rows('/v1/keys?include_disabled=true')
  const findings = await adminFetch(`${gateway.admin}/guardrails/command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verb: 'audit' }),
  })
  const generations = (await admin('/ledger/export'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
  const verdict = JSON.parse(await admin('/ledger/verify')) as JsonObject
  delete verdict.checked_at
  return {
    keys: Object.fromEntries(
      keys.map((key) => [`${String(key.name)} ${String(key.label)}`, Object.fromEntries(KEY_FIELDS.map((field) => [field, key[field]]))]),
    ),
    credits: (await get('/v1/credits')).data as JsonObject,
    guardrails: await rows('/v1/guardrails'),
    assignments: [...(await rows('/v1/guardrails/assignments/keys')), ...(await rows('/v1/guardrails/assignments/members'))],
    findings: ((await findings.json()) as { data: JsonObject[] }).data,
    activity: await rows('/v1/activity'),
    generations: Object.fromEntries(
      generations.map((row) => [String(row.id), Object.fromEntries(ROW_FIELDS.map((field) => [field, row[field]]))]),
    ),
    verdict,
    recovered: JSON.parse(await admin('/ledger/recovery')) as JsonObject,
  }
}

/** Versions before 19 listed findings the oldest first. */
const byTime = (a: JsonObject, b: JsonObject): number =>
  String(a.at).localeCompare(String(b.at)) || String(a.generation).localeCompare(String(b.generation))

/** Holds a migrated store against what the version that wrote it showed; fields that were added since are left out. */
export function compareStates(t: Test, found: StoredState, wanted: StoredState): void {
  const keys = (state: StoredState) => Object.fromEntries(Object.keys(wanted.keys).map((name) => [name, state.keys[name]]))
  t.same(keys(found), keys(wanted), 'keys: limits, spent amounts and their windows')
  t.same(found.credits, wanted.credits, 'credits')
  t.match(found.guardrails, wanted.guardrails, 'guardrails')
  // The default organization has had an id of its own since schema version 32.
  const assignments = wanted.assignments.map(({ organization_id: _, ...assignment }) => assignment)
  t.match(found.assignments, assignments, 'assignments')
  t.match(found.findings.toSorted(byTime), wanted.findings.toSorted(byTime), 'findings')
  t.match(found.activity, wanted.activity, 'activity')
  t.equal(Object.keys(found.generations).length, Object.keys(wanted.generations).length, 'no generation is lost or doubled')
  t.match(found.generations, wanted.generations, 'generations')
  t.match(found.verdict, wanted.verdict, 'sums: charged and carried')
  t.match(found.recovered, wanted.recovered, 'generations that a crash had left open')
}

/** Effect of one more request: its cost is added to the key's windows, and the sums still agree. */
export async function checkGoesOn(t: Test, gateway: Gateway, wanted: StoredState): Promise<void> {
  const reply = await gateway.post(
    '/v1/chat/completions',
    { model: 'acme/fixed', messages: [{ role: 'user', content: 'Hello' }] },
    { authorization: `Bearer ${APP}` },
  )
  t.equal(reply.status, 200, await reply.text())
  const before = Object.entries(wanted.keys).find(([name]) => name.startsWith('app '))?.[1] as Record<string, number>
  const { data } = (await (await gateway.get('/v1/key', { authorization: `Bearer ${APP}` })).json()) as { data: Record<string, number> }
  for (const field of ['usage', 'usage_daily', 'usage_weekly', 'usage_monthly'])
    t.equal(Math.round((data[field] ?? -1) * 1e9), Math.round((before[field] ?? -1) * 1e9) + 10_000_000, `${field} is 0.01 more`)
  t.match(await (await adminFetch(`${gateway.admin}/ledger/verify`)).json(), { ok: true, problems: [] }, 'the sums agree')
}

/** Features of this version work on the store as well: a compaction item is made, and opens after another start. */
export async function checkCompacts(t: Test, gateway: Gateway): Promise<void> {
  const send = async (path: string, input: JsonObject[]): Promise<JsonObject> => {
    const reply = await gateway.post(path, { model: 'acme/fixed', input }, { authorization: `Bearer ${APP}` })
    t.equal(reply.status, 200, path)
    return (await reply.json()) as JsonObject
  }
  const { output } = await send('/v1/responses/compact', [{ role: 'user', content: 'Hello' }])
  const items = output as JsonObject[]
  t.match(items.at(-1), { type: 'compaction', encrypted_content: /^hgc1\.1\./ })
  await gateway.restart()
  t.match(await send('/v1/responses', items), { status: 'completed' })
}

/** Versions of which there is a fixture. */
export const FIXTURE_VERSIONS: readonly string[] = readdirSync(FIXTURES)

export const wantedState = (version: string, name: string): StoredState => JSON.parse(fixtureText(version, name)) as StoredState
