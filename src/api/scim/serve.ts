/** SCIM 2.0 (RFC 7643, RFC 7644) by path and method. */
import type { JsonObject } from '../../core/json.ts'
import type { Level } from '../../core/levels.ts'
import { checkVersion, type ScimSource } from './directory.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import type { FoundGroup } from './group-records.ts'
import { createGroup, groupBody, listGroups, oneGroup, patchGroup, removeGroup, replaceGroup, wholeGroup } from './groups.ts'
import { listBody, type Query, readQuery, readSearch } from './listing.ts'
import { leavesOut, type Projection, projector, readProjection } from './projection.ts'
import { GROUP, type ResourceKind, USER } from './schemas.ts'
import { errorBody, ScimError } from './scim-error.ts'
import { createUser, listUsers, oneUser, patchUser, removeUser, replaceUser, userBody } from './users.ts'

export interface ScimCall {
  readonly method: string
  /** Below the base address, beginning with a slash; as it was sent. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: { readonly 'if-match'?: string | undefined; readonly 'if-none-match'?: string | undefined }
  /** @throws Fault 400, 413, 415. */
  body(): Promise<JsonObject>
}

export interface ScimReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Absent: none. */
  readonly body?: JsonObject
}

const reply = (status: number, body: JsonObject, headers: Readonly<Record<string, string>> = {}): ScimReply => ({ status, body, headers })

export const errorReply = ({ status, message, scimType, headers }: ScimError): ScimReply =>
  reply(status, errorBody(status, message, scimType), headers)

/** The operations of a kind of resources. */
interface Resources {
  readonly kind: ResourceKind
  one(source: ScimSource, id: string, isWhole: boolean): JsonObject
  list(source: ScimSource, query: Query): JsonObject
  create(source: ScimSource, body: JsonObject): Promise<JsonObject>
  replace(source: ScimSource, written: Written): Promise<JsonObject>
  /** @returns undefined where the reply has no body. */
  patch(source: ScimSource, written: Written, isNamed: boolean): Promise<JsonObject | undefined>
  remove(source: ScimSource, id: string, version: string | undefined): Promise<void>
}

interface Written {
  readonly id: string
  readonly body: JsonObject
  readonly version: string | undefined
}

const USERS: Resources = {
  kind: USER,
  one: (source, id) => userBody(source, oneUser(source, id)),
  list: listUsers,
  create: async (source, body) => shownUser(source, await createUser(source, body)),
  replace: async (source, written) => shownUser(source, await replaceUser(source, written)),
  patch: async (source, written) => shownUser(source, await patchUser(source, written)),
  remove: removeUser,
}

const shownUser = (source: ScimSource, level: Level): JsonObject => userBody(source, level)

const GROUPS: Resources = {
  kind: GROUP,
  one: (source, id, isWhole) => {
    const group = oneGroup(source, id)
    return isWhole ? wholeGroup(source, group) : groupBody(source, group, undefined)
  },
  list: listGroups,
  create: async (source, body) => shownGroup(source, await createGroup(source, body)),
  replace: async (source, written) => shownGroup(source, await replaceGroup(source, written)),
  // A change of one member is not answered with thousands (RFC 7644, 3.5.2; learn.microsoft.com, "Update Group", has 204 as well).
  patch: async (source, written, isNamed) => {
    const group = await patchGroup(source, written)
    return isNamed ? shownGroup(source, group) : undefined
  },
  remove: removeGroup,
}

const shownGroup = (source: ScimSource, group: FoundGroup): JsonObject => wholeGroup(source, group)

/** @throws ScimError, Fault. */
export async function answerScim(call: ScimCall, source: ScimSource): Promise<ScimReply> {
  const [first = '', second, ...more] = call.path.slice(1).split('/').map(decoded)
  const name = first.toLowerCase()
  if (more.length > 0 || first === '') throw nowhere(call)
  if (name === 'users') return resource(USERS, second, call, source)
  if (name === 'groups') return resource(GROUPS, second, call, source)
  if (name === '.search' && second === undefined) return searchAll(call, source)
  if (name === 'serviceproviderconfig' && second === undefined) return discover(call, serviceProviderConfig(source.base))
  if (name === 'resourcetypes') return discover(call, found(resourceTypes(source.base), second, call))
  if (name === 'schemas') return discover(call, found(schemas(source.base), second, call))
  if (name === 'bulk') throw new ScimError(501, 'Bulk operations are not served: send each by itself')
  if (name === 'me') throw new ScimError(501, 'A token of SCIM stands for no user: there is no /Me')
  throw nowhere(call)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const nowhere = ({ path }: ScimCall): ScimError => new ScimError(404, `No such path: ${path.slice(0, 200)}`)
const notAllowed = (allowed: string): ScimError =>
  new ScimError(405, `Method not allowed, expected ${allowed}`, undefined, { Allow: allowed })

function discover({ method, query }: ScimCall, body: JsonObject): ScimReply {
  if (method !== 'GET') throw notAllowed('GET')
  // RFC 7644, 4.
  if (query.has('filter')) throw new ScimError(403, 'filter: not served here')
  return reply(200, body)
}

function found(all: readonly JsonObject[], id: string | undefined, call: ScimCall): JsonObject {
  if (id === undefined || id === '') return listBody(all, { total: all.length, startIndex: 1 })
  const one = all.find((each) => String(each.id).toLowerCase() === id.toLowerCase())
  if (!one) throw nowhere(call)
  return one
}

async function resource(resources: Resources, id: string | undefined, call: ScimCall, source: ScimSource): Promise<ScimReply> {
  const { method, query } = call
  const { kind } = resources
  if (id === undefined || id === '') {
    if (method === 'GET') return reply(200, resources.list(source, readQuery(query)))
    if (method !== 'POST') throw notAllowed('GET, POST')
    const projection = named(query)
    const made = await resources.create(source, await call.body())
    return shown(201, made, { kind, projection })
  }
  if (id === '.search') {
    if (method !== 'POST') throw notAllowed('POST')
    return reply(200, resources.list(source, readSearch(await call.body())))
  }
  return one(resources, id, call, source)
}

const named = (query: URLSearchParams): Projection =>
  readProjection(query.get('attributes') ?? undefined, query.get('excludedAttributes') ?? undefined)

async function one(resources: Resources, id: string, call: ScimCall, source: ScimSource): Promise<ScimReply> {
  const { method, query, headers } = call
  const { kind } = resources
  const projection = named(query)
  const version = headers['if-match']
  if (method === 'GET') return read(resources.one(source, id, isWhole(kind, projection)), { kind, projection, call })
  if (method === 'PUT') return shown(200, await resources.replace(source, { id, version, body: await call.body() }), { kind, projection })
  if (method === 'PATCH') {
    const isNamed = projection.attributes.length > 0
    const body = await resources.patch(source, { id, version, body: await call.body() }, isNamed)
    return body ? shown(200, body, { kind, projection }) : { status: 204, headers: {} }
  }
  if (method !== 'DELETE') throw notAllowed('GET, PUT, PATCH, DELETE')
  await resources.remove(source, id, version)
  return { status: 204, headers: {} }
}

const isWhole = (kind: ResourceKind, projection: Projection): boolean => !leavesOut(kind, projection, kind.attributes.get('members'))

interface Showing {
  readonly kind: ResourceKind
  readonly projection: Projection
}

function shown(status: number, body: JsonObject, { kind, projection }: Showing): ScimReply {
  const { location, version } = (body.meta ?? {}) as JsonObject
  const headers = {
    ...(typeof version === 'string' ? { ETag: version } : {}),
    ...(typeof location === 'string' ? { [status === 201 ? 'Location' : 'Content-Location']: location } : {}),
  }
  return reply(status, projector(kind, projection)(body), headers)
}

function read(body: JsonObject, { call, ...showing }: Showing & { readonly call: ScimCall }): ScimReply {
  const answer = shown(200, body, showing)
  const { ETag: version } = answer.headers
  const known = call.headers['if-none-match']
  if (version === undefined || known === undefined || !isSame(known, version)) return answer
  return { status: 304, headers: { ETag: version } }
}

function isSame(known: string, version: string): boolean {
  try {
    checkVersion(known, version)
    return true
  } catch {
    return false
  }
}

/** Users and groups together (RFC 7644, 3.4.2.1), users first. */
async function searchAll(call: ScimCall, source: ScimSource): Promise<ScimReply> {
  if (call.method !== 'POST') throw notAllowed('POST')
  const query = readSearch(await call.body())
  if (query.sortBy !== undefined)
    throw new ScimError(400, 'sortBy: expected one of the paths /Users/.search and /Groups/.search', 'invalidValue')
  const { startIndex, count } = query
  const users = matching(() => listUsers(source, query))
  const before = users?.total ?? 0
  const left = count - (users?.resources.length ?? 0)
  // The groups begin behind the users.
  const groups = matching(() => listGroups(source, { ...query, startIndex: Math.max(1, startIndex - before), count: left }))
  if (!users && !groups) throw new ScimError(400, 'filter: neither users nor groups have all of its attributes', 'invalidFilter')
  const resources = [...(users?.resources ?? []), ...(groups?.resources ?? [])]
  return reply(200, listBody(resources, { total: before + (groups?.total ?? 0), startIndex }))
}

/** @returns undefined where the filter names attributes that the kind of resources has not. */
function matching(list: () => JsonObject): { readonly total: number; readonly resources: readonly JsonObject[] } | undefined {
  try {
    const { totalResults, Resources } = list()
    return { total: Number(totalResults), resources: Resources as JsonObject[] }
  } catch (thrown) {
    if (thrown instanceof ScimError && thrown.scimType === 'invalidFilter') return undefined
    throw thrown
  }
}
