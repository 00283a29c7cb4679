/** A SCIM client of a gateway, which sends what identity providers send. */
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { FakeClock } from './clock.ts'
import { type Gateway, KEY, startGateway } from './gateway.ts'

export const SCIM_TOKEN = 'scim-token-of-the-tests-0123456789'
export const BOSS = 'sk-router-v1-boss0000000000000000000000'
export const USER_URN = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP_URN = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const ENTERPRISE_URN = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const PATCH_URN = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Empty where there is no body. */
  readonly body: JsonObject
}

export class ScimClient {
  private readonly address: () => string
  private readonly token: string

  constructor(address: () => string, token = SCIM_TOKEN) {
    this.address = address
    this.token = token
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${this.address()}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? {} : (JSON.parse(text) as JsonObject) }
  }

  get(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.call('GET', path, undefined, headers)
  }

  addUser(userName: string, more: JsonObject = {}): Promise<Answer> {
    return this.call('POST', '/Users', { schemas: [USER_URN], userName, ...more })
  }

  /** @param members ids. */
  addGroup(displayName: string, members: readonly string[] = [], more: JsonObject = {}): Promise<Answer> {
    return this.call('POST', '/Groups', { schemas: [GROUP_URN], displayName, members: members.map((value) => ({ value })), ...more })
  }

  patch(path: string, operations: readonly JsonObject[], headers?: Record<string, string>): Promise<Answer> {
    return this.call('PATCH', path, { schemas: [PATCH_URN], Operations: [...operations] }, headers)
  }

  /** Ids of the members of a group. */
  async members(group: string): Promise<string[]> {
    const { body } = await this.get(`/Groups/${group}`)
    return ((body.members ?? []) as JsonObject[]).map(({ value }) => String(value))
  }

  async list(path: string): Promise<{ total: number; resources: JsonObject[] }> {
    const { status, body } = await this.get(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    return { total: Number(body.totalResults), resources: body.Resources as JsonObject[] }
  }
}

export interface ScimScene<SomeClock = FakeClock> {
  readonly gateway: Gateway
  readonly clock: SomeClock
  readonly scim: ScimClient
  /** The API with a management key. */
  manage(path: string, method?: string, body?: JsonObject): Promise<{ status: number; body: JsonObject }>
}

/** @param settings of `scim` beside the token, as YAML. @param more of the file. */
export async function startScim<SomeClock extends Clock = FakeClock>(
  t: Test,
  {
    settings = '',
    more = '',
    auth = '',
    clock = new FakeClock() as unknown as SomeClock,
  }: { settings?: string; more?: string; auth?: string; clock?: SomeClock } = {},
): Promise<ScimScene<SomeClock>> {
  const yaml = `
auth:
  keys:
    - { name: test, key: "${KEY}" }
    - { name: boss, key: "${BOSS}", management: true }
${auth}
scim: { tokens: [ { name: entra, token: "${SCIM_TOKEN}" } ]${settings && `, ${settings}`} }
providers: { sim: { dialect: sim } }
models: { a/b: { endpoints: [ { provider: sim, model: echo } ] } }
${more}`
  const gateway = await startGateway(yaml, { clock })
  t.teardown(() => gateway.close())
  const manage: ScimScene['manage'] = async (path, method = 'GET', body) => {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, body: (await response.json()) as JsonObject }
  }
  return { gateway, clock, scim: new ScimClient(() => gateway.url), manage }
}
