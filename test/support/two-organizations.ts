/** Two organizations with records of every kind, each of whose names has a mark, and callers of every role and place in the first one. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { JsonObject } from '../../src/core/json.ts'
import { MANAGEMENT_ROLES, type Role } from '../../src/core/roles.ts'

export interface Reply {
  readonly status: number
  readonly text: string
}

export type Call = (method: string, path: string, secret: string, body?: JsonObject) => Promise<Reply>

/** A caller of the API over HTTP. @param url of a gateway, called for each request. */
export function caller(url: () => string): Call {
  return async (method, path, secret, body) => {
    const headers = { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const reply = await fetch(`${url()}/v1${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    return { status: reply.status, text: await reply.text() }
  }
}

/** Names of records that requests have in their paths, queries and bodies. */
export interface Records {
  readonly organization: string
  readonly workspace: string
  readonly slug: string
  readonly member: string
  readonly user: string
  /** Hash of a key. */
  readonly key: string
  readonly generation: string
  readonly guardrail: string
  readonly byok: string
  readonly event: string
  readonly session: string
  readonly budget: string
  /** Entry of the ledger that says what was lost. */
  readonly entry: string
}

export interface Organization extends Records {
  /** Occurs in every text of its records, and in those of no other. */
  readonly mark: string
  /** Ids, hashes and masked secrets that say of the records that they are there. */
  readonly traces: readonly string[]
  /** Secret of its application. */
  readonly secret: string
}

/** Makes records with a key that governs the whole gateway. @throws Error where that fails. */
export class Maker {
  private readonly call: Call
  private readonly boss: string

  constructor(call: Call, boss: string) {
    this.call = call
    this.boss = boss
  }

  async json(method: string, path: string, body?: JsonObject, secret = this.boss): Promise<JsonObject> {
    const { status, text } = await this.call(method, path, secret, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return JSON.parse(text) as JsonObject
  }

  async data(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    return (await this.json(method, path, body)).data as JsonObject
  }

  async key(body: JsonObject): Promise<{ readonly hash: string; readonly label: string; readonly secret: string }> {
    const made = await this.json('POST', '/keys', { name: 'made', ...body })
    const { hash, label } = made.data as JsonObject
    return { hash: String(hash), label: String(label), secret: String(made.key) }
  }
}

/** @param budget name of a budget of the configuration that no other organization uses. */
export async function makeOrganization(
  maker: Maker,
  mark: string,
  { budget, model, provider = 'first' }: { budget: string; model: string; provider?: string },
): Promise<Organization> {
  const lower = mark.toLowerCase()
  const organization = String((await maker.data('POST', '/organizations', { name: `Company ${mark}`, slug: `company-${lower}` })).id)
  const workspace = String(
    (await maker.data('POST', '/workspaces', { name: `Team ${mark}`, slug: `team-${lower}`, organization_id: organization })).id,
  )
  const user = `ann-${mark}@example.com`
  const added = await maker.json('POST', `/workspaces/${workspace}/members/add`, { user_ids: [user] })
  const member = String((added.data as JsonObject[])[0]?.id)
  await maker.json('POST', `/organizations/${organization}/members/add`, { user_ids: [`bob-${mark}@example.com`] })
  for (const path of [`/organizations/${organization}`, `/workspaces/${workspace}`, `/members/${member}`])
    await maker.json('PUT', `${path}/budgets/monthly`, { limit_usd: 1000 })
  const key = await maker.key({ name: `key ${mark}`, workspace_id: workspace, creator_user_id: user, parent: budget, limit: 50 })
  const poor = await maker.key({ name: `poor ${mark}`, workspace_id: workspace, limit: 0 })
  const guardrail = String((await maker.data('POST', '/guardrails', { name: `guard ${mark}`, description: `of ${mark}` })).id)
  await maker.json('POST', `/guardrails/${guardrail}/assignments/keys`, { key_hashes: [key.hash] })
  await maker.json('POST', `/guardrails/${guardrail}/assignments/workspaces`, { workspace_ids: [workspace] })
  const byok = String(
    (
      await maker.data('POST', '/byok', {
        provider,
        key: `team-${mark}-secret-0123456789`,
        name: `own ${mark}`,
        allowed_api_key_hashes: [key.hash],
      })
    ).id,
  )
  const session = `session-${mark}`
  const question = { model, messages: [{ role: 'user', content: 'hello' }], session_id: session, user: `end-user-${mark}` }
  const generation = String((await maker.json('POST', '/chat/completions', question, key.secret)).id)
  await maker.json('POST', '/chat/completions', question, poor.secret).catch(() => undefined)
  const entry = await maker.data('POST', '/ledger/entries', {
    kind: 'correction',
    amount: 0.25,
    api_key_hash: key.hash,
    reason: `reason ${mark}`,
  })
  const events = (await maker.json('GET', '/events?order=newest&limit=100')).data as JsonObject[]
  const event = String(events.find((each) => JSON.stringify(each).includes(key.hash))?.id)
  const names = {
    organization,
    workspace,
    slug: `team-${lower}`,
    member,
    user,
    key: key.hash,
    generation,
    guardrail,
    byok,
    event,
    session,
    budget,
  }
  return {
    ...names,
    mark,
    entry: String(entry.id),
    traces: [
      organization,
      workspace,
      member,
      key.hash,
      poor.hash,
      key.label,
      poor.label,
      guardrail,
      byok,
      generation,
      event,
      String(entry.id),
    ],
    secret: key.secret,
  }
}

/** Names in the form of those that are there, of nothing. */
export function unknownRecords(budget: string): Records {
  const hash = randomBytes(32).toString('hex')
  return {
    organization: randomUUID(),
    workspace: randomUUID(),
    slug: 'no-such-team',
    member: randomUUID(),
    user: 'none@example.com',
    key: hash,
    generation: `gen-${randomBytes(12).toString('hex')}`,
    guardrail: randomUUID(),
    byok: randomUUID(),
    event: `evt_${randomBytes(16).toString('hex')}`,
    session: 'no-such-session',
    budget,
    entry: `ent_${randomBytes(12).toString('hex')}`,
  }
}

export type CallerPlace = 'organization' | 'workspace' | 'gateway'

export interface PlacedCaller {
  readonly name: string
  readonly role: Role
  readonly place: CallerPlace
  readonly secret: string
}

/** A management key of every role at each place, and the application. */
export async function makeCallers(maker: Maker, { organization, workspace, secret }: Organization): Promise<PlacedCaller[]> {
  const places: Readonly<Record<CallerPlace, JsonObject>> = {
    organization: { organization_id: organization },
    workspace: { workspace_id: workspace },
    gateway: {},
  }
  const callers: PlacedCaller[] = [{ name: 'member', role: 'member', place: 'workspace', secret }]
  for (const [place, named] of Object.entries(places) as [CallerPlace, JsonObject][])
    for (const role of MANAGEMENT_ROLES)
      callers.push({
        name: `${role} of the ${place}`,
        role,
        place,
        secret: (await maker.key({ name: `${role} ${place}`, role, ...named })).secret,
      })
  return callers
}
