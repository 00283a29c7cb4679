/**
 * A service that speaks as much of S3 and of ClickHouse's HTTP interface as exports need. Written from the Amazon S3 API reference
 * ("PutObject", "Authenticating Requests (AWS Signature Version 4)") and the ClickHouse documentation ("HTTP Interface"), and from
 * nothing of the gateway's.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { verifySigv4 } from './sigv4-verifier.ts'

export const S3_KEY = { id: 'AKIASTOREEXAMPLE', secret: 'store-secret-0123456789abcdef' }
export const CLICKHOUSE_USER = { user: 'writer', password: 'ch-secret-0123456789' }

/** One object or one insert that came, whether it was taken or not. */
export interface Delivered {
  /** Path of the object, or the statement. */
  readonly name: string
  readonly token: string | null
  /** Settings of the insert beside its token. */
  readonly settings: readonly (readonly [string, string])[]
  readonly body: Buffer
  readonly status: number
}

export interface ObjectStore {
  readonly url: string
  readonly delivered: readonly Delivered[]
  /** `stall`: what comes is kept and gets no reply. A number: that status instead of success. */
  mode: 'take' | 'stall' | number
  close(): Promise<void>
}

/** Lines of a body, however it is compressed. */
export function storedLines(body: Buffer): { id: string }[] {
  const plain = body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body
  return plain
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id: string })
}

function s3Problem(
  seen: { method: string; path: string; headers: readonly string[]; body: Buffer },
  { sum, now }: { sum: string; now: number },
): string | undefined {
  if (seen.method !== 'PUT') return 'MethodNotAllowed'
  if (sum !== createHash('sha256').update(seen.body).digest('hex')) return 'XAmzContentSHA256Mismatch'
  const rules = { findSecret: (id: string) => (id === S3_KEY.id ? S3_KEY.secret : undefined), now, region: 'us-east-1', service: 's3' }
  return typeof verifySigv4(seen, rules) === 'string' ? 'SignatureDoesNotMatch' : undefined
}

/** Starts it on a free port of the loopback. */
export async function startObjectStore(kind: 's3' | 'clickhouse', now = Date.now): Promise<ObjectStore> {
  const delivered: Delivered[] = []
  const server = createServer(async (request, response) => {
    response.on('error', () => undefined)
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces)
    const path = request.url ?? ''
    const query = new URL(path, 'http://store.invalid').searchParams
    const { headers } = request
    let problem: string | undefined
    if (kind === 's3') {
      const seen = { method: request.method ?? '', path, headers: request.rawHeaders, body }
      // A gateway on a clock of the test's signs with that one.
      problem = s3Problem(seen, { sum: `${headers['x-amz-content-sha256']}`, now: now() })
    } else if (headers['x-clickhouse-user'] !== CLICKHOUSE_USER.user || headers['x-clickhouse-key'] !== CLICKHOUSE_USER.password)
      problem = '516'
    const status = typeof store.mode === 'number' ? store.mode : problem === undefined ? 200 : 403
    const name = kind === 's3' ? decodeURIComponent(path) : `${query.get('query')}`
    const settings = [...query].filter(([name]) => !['query', 'insert_deduplication_token', 'wait_end_of_query'].includes(name))
    delivered.push({ name, token: query.get('insert_deduplication_token'), settings, body, status })
    if (store.mode === 'stall') return
    const exception = kind === 'clickhouse' && status !== 200 ? { 'x-clickhouse-exception-code': problem ?? '241' } : {}
    response.writeHead(status, exception)
    response.end(status === 200 ? '' : `<Error><Code>${problem ?? 'SlowDown'}</Code><Message>${S3_KEY.id}</Message></Error>`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const store: ObjectStore = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    delivered,
    mode: 'take',
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return store
}
