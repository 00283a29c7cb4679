/**
 * An operation of the API, declared once: its path and method, the roles that it is open to, what it takes and answers, and what it does. The router,
 * refusals of other methods, authentication, CSV, OpenAPI and the documents iterate over the list of them (`operations/index.ts`).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { AuditAction } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { RequiredRoles } from '../core/roles.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { DescribedOperation } from './described-operation.ts'
import type { ApiReply, BytesReply } from './reply.ts'
import type { OperationSource } from './source.ts'

export type Answer = ApiReply | BytesReply

/** One request for an operation. */
export interface Call {
  /** `HEAD` is served as `GET`. */
  readonly method: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Bucket of failed authentications of the caller. */
  address(): string
  /** The body as JSON, read when it is called, so that refused callers cannot make the gateway hold one. @throws Fault 400, 413, 415. */
  body(): Promise<JsonObject>
  /** The body as it comes. */
  pieces(): AsyncIterable<Buffer>
}

/** Names in braces of a path. */
type Parts<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Parts<Rest> : never

/** A call of an operation: with the key of its caller wherever one is needed, and the parts of its path as they stand there, not decoded. */
type PathCall<Path extends string, Roles extends RequiredRoles> = Call & {
  readonly path: Readonly<Record<Parts<Path>, string>>
} & (Roles extends 'none' ? unknown : { readonly key: ApiKey })

/** Action that the audit log has of an operation, or the reason why it has none. */
export type Audited = AuditAction | { readonly none: string }

interface Routing {
  /** Pattern that it matches, where that is more than `path`; with a group for each part. */
  readonly match?: RegExp
  /** Bytes of its body, where fewer are taken than of others. */
  readonly maxBody?: number
  /** Called before anything else. @throws Fault where the configuration has no such operation. */
  requires?(source: OperationSource): void
}

type Handler<C> = (call: C, source: OperationSource) => Promise<Answer> | Answer

export interface Operation extends DescribedOperation, Routing {
  /** All that it matches, with a group for each part. */
  readonly match: RegExp
  /** Undefined of one that reads. */
  readonly audit?: Audited
  readonly handle: Handler<PathCall<string, RequiredRoles>>
}

type Declared<Path extends string, Roles extends RequiredRoles> = Omit<DescribedOperation, 'method' | 'path' | 'roles'> &
  Routing & { readonly roles: Roles; readonly handle: Handler<PathCall<Path, Roles>> }

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const
type Method = keyof typeof METHODS

/** @param route method and path, such as `GET /keys/{hash}`: under `/v1`, with parameters in braces. */
export function operation<const Path extends `/${string}`, const Roles extends RequiredRoles>(
  route: `GET ${Path}`,
  declared: Declared<Path, Roles>,
): Operation
/** One that may change something states its entry in the audit log. */
export function operation<const Path extends `/${string}`, const Roles extends RequiredRoles>(
  route: `${Exclude<Method, 'GET'>} ${Path}`,
  declared: Declared<Path, Roles> & { readonly audit: Audited },
): Operation
export function operation(
  route: `${Method} ${string}`,
  declared: Declared<string, RequiredRoles> & { readonly audit?: Audited },
): Operation {
  const [method, path = ''] = route.split(' ') as [Method, string]
  return { ...declared, method: METHODS[method], path, match: declared.match ?? pathPattern(path, declared.parameters) }
}

function pathPattern(path: string, parameters: DescribedOperation['parameters'] = []): RegExp {
  const patterns = new Map(parameters.map(({ name, pattern }) => [name, pattern]))
  const text = path.replace(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>${patterns.get(name) ?? '[^/]+'})`)
  return new RegExp(`^/v1${text}$`)
}

/** Author of a change: the creator of the management key, or the key's name. */
export function keyMaker(key: ApiKey): string {
  return ('creator' in key && typeof key.creator === 'string' ? key.creator : undefined) ?? key.name
}

/** The body of a call that may have none. @throws Fault as `body`. */
export async function bodyOrNone({ headers, body }: Pick<Call, 'headers' | 'body'>): Promise<JsonObject> {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return encoding === undefined && Number(length) === 0 ? {} : body()
}

/** A part of a path. @throws Fault 404. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Fault('not_found')
  }
}
