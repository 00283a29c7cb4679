/** A pool of connections to PostgreSQL; every failure leaves it as one fault that says nothing of rows or passwords. */
import type { CompiledQuery } from 'kysely'
import pg from 'pg'
import { badField, Fault } from '../../core/faults.ts'
import { postgresTransport } from '../../core/transport.ts'

/** A statement that each connection prepares once. */
export interface Prepared {
  readonly name: string
  readonly text: string
}

/** Milliseconds. */
export interface TimeLimits {
  /** Until a connection is there, whether new or from the pool. */
  readonly connect: number
  /** Until a statement is done. */
  readonly statement: number
}

export type ConnectionReport = { kind: 'connection-lost'; reason: string }

/** Connections for one purpose, beside those of the size that the URL names. */
export interface PoolOptions {
  /** As `pg_stat_activity` shows it. */
  readonly name: string
  readonly size: number
  /** Statements and transactions that wait for a connection at once; those beyond fail at once. Default: no bound. */
  readonly waiting?: number
}

/** Runs statements one after the other on one connection. */
export interface Session {
  run<Row>(query: CompiledQuery<Row>): Promise<Row[]>
}

export const TIME_LIMITS: TimeLimits = { connect: 2000, statement: 5000 }
/** By how much the server's own limit comes before ours, which is for a server that says nothing at all. */
const GRACE = 500
const POOL = { least: 1, most: 64, usual: 4 }
const IDLE = 60_000
const BIGINT = 20
const NUMERIC = 1700
/** `Retry-After` of the fault. */
const RETRY_SECONDS = 1

export class Connection implements Session {
  private readonly pool: pg.Pool
  private readonly mostWaiting: number
  private closing: Promise<void> | undefined
  /** A pooler gives each transaction another connection of the server: what one has prepared the next one does not know. */
  private isPooled = false

  /**
   * Connects at the first statement only.
   * @param pool for one purpose, in place of the size that the URL names.
   * @throws Fault `bad_request` for a URL that is none.
   */
  constructor(url: string, report: (report: ConnectionReport) => void, limits: TimeLimits, pool?: PoolOptions) {
    const { connectionString, size } = parseUrl(url)
    this.mostWaiting = pool?.waiting ?? Number.POSITIVE_INFINITY
    this.pool = new pg.Pool({
      connectionString,
      max: pool?.size ?? size,
      idleTimeoutMillis: IDLE,
      connectionTimeoutMillis: limits.connect,
      query_timeout: limits.statement + GRACE,
      keepAlive: true,
      application_name: pool?.name ?? 'headgate',
      types: { getTypeParser },
      // Awaited before the connection runs anything else (pg-pool 3.14.0, index.js).
      onConnect: async (client: pg.ClientBase) => {
        await client.query(pinned(limits))
      },
    })
    this.pool.on('error', (thrown) => report({ kind: 'connection-lost', reason: errorReason(thrown) }))
  }

  /** @throws Fault `unavailable`. */
  async run<Row>({ sql, parameters }: CompiledQuery<Row>): Promise<Row[]> {
    try {
      this.admit()
      return (await this.pool.query<Row & pg.QueryResultRow>(sql, [...parameters])).rows
    } catch (thrown) {
      throw unavailable(thrown)
    }
  }

  /** One round trip. @throws Fault `unavailable`. */
  async call<Row>({ name, text }: Prepared, values: unknown[]): Promise<Row[]> {
    try {
      this.admit()
      if (this.isPooled) return (await this.pool.query<Row & pg.QueryResultRow>(text, values)).rows
      try {
        return (await this.pool.query<Row & pg.QueryResultRow>({ name, text, values })).rows
      } catch (thrown) {
        if (!isUnprepared(thrown)) throw thrown
        this.isPooled = true
        return (await this.pool.query<Row & pg.QueryResultRow>(text, values)).rows
      }
    } catch (thrown) {
      throw unavailable(thrown)
    }
  }

  /** All or nothing. @throws Fault `unavailable`, and whatever `work` throws; then nothing was done. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    this.admit()
    const client = await this.pool.connect().catch((thrown: unknown) => {
      throw unavailable(thrown)
    })
    // One that dies between two statements fails the next one; without a listener it would end the process.
    client.on('error', ignore)
    let broken = false
    const run = async <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
      try {
        return (await client.query<Row & pg.QueryResultRow>(sql, [...parameters])).rows
      } catch (thrown) {
        broken = true
        throw unavailable(thrown)
      }
    }
    try {
      await run('BEGIN')
      const result = await work({ run: ({ sql, parameters }) => run(sql, parameters) })
      await run('COMMIT')
      return result
    } catch (thrown) {
      if (!broken) await run('ROLLBACK').catch(ignore)
      throw thrown
    } finally {
      client.removeListener('error', ignore)
      // A connection that failed is closed, and the server rolls back.
      client.release(broken)
    }
  }

  /** @throws Fault `unavailable`. */
  private admit(): void {
    if (this.pool.waitingCount >= this.mostWaiting) throw tooManyWait()
  }

  /** Waits for what is under way; calling it again does nothing. */
  close(): Promise<void> {
    this.closing ??= this.pool.end()
    return this.closing
  }
}

/**
 * Whatever the server, the database or the role has as its default: leases count on rows that another transaction has just
 * committed, and a commit that was reported survives a crash of the server. Our statements take milliseconds, of which a compilation
 * (PostgreSQL 15, section 32.2) may make a second: the planner's costs of a large table call for one. Set when a connection begins, and no
 * parameters of it: PgBouncer refuses those that it does not know. Where it pools transactions the functions set what they need themselves.
 */
function pinned({ statement }: TimeLimits): string {
  return `SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; SET synchronous_commit = on; SET jit = off;
    SET statement_timeout = ${Math.ceil(statement)}; SET idle_in_transaction_session_timeout = ${Math.ceil(2 * statement)}`
}

/**
 * True for an error of PgBouncer in transaction mode before 1.21, which knows no prepared statements: the statement does not exist on this
 * connection, or another client has prepared it there (PostgreSQL 15, appendix A). Both are found before anything is run.
 */
function isUnprepared(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && (thrown.code === '26000' || thrown.code === '42P05')
}

const ignore = () => {}

/** Takes what is ours out of the URL. */
function parseUrl(url: string): { connectionString: string; size: number } {
  const [address = '', search] = url.split('?', 2)
  const settings = new URLSearchParams(search)
  const size = Number(settings.get('pool') ?? POOL.usual)
  if (!Number.isInteger(size) || size < POOL.least || size > POOL.most) throw badField('store.url', 'expected pool=1 to pool=64')
  settings.delete('pool')
  if (!/^postgres(ql)?:\/\//.test(address) || !URL.canParse(address))
    throw badField('store.url', 'expected postgres://user:password@host:port/database')
  const transport = postgresTransport(url)
  if (typeof transport === 'string') throw badField('store.url', transport)
  // Always stated: without it the driver reads PGSSLMODE.
  settings.set('sslmode', transport.mode)
  return { connectionString: `${address}?${settings}`, size }
}

/** Integers of 64 bits arrive as text; beyond 2^53 they would not be exact. Sums of money are numeric, and whole. */
const getTypeParser: typeof pg.types.getTypeParser = (type: number, format?: 'text' | 'binary') => {
  if (type === NUMERIC) return BigInt
  return type === BIGINT ? safeInteger : pg.types.getTypeParser(type, format)
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('an integer beyond 2^53')
  return value
}

/** Errors that operators meet most often, by SQLSTATE or by Node's code of a TLS error. */
const STATES: Readonly<Record<string, string>> = {
  '28000': 'access refused',
  '28P01': 'access refused',
  '3D000': 'no such database',
  '40P01': 'deadlock',
  '42501': 'not allowed',
  '53100': 'disk full',
  '53300': 'too many connections',
  '55P03': 'waited too long for a lock',
  '57014': 'statement timed out',
  '57P01': 'shut down',
  '57P03': 'not ready',
  CERT_HAS_EXPIRED: 'its certificate is not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another host',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
}

/** Never the driver's own words: they may quote rows and addresses. */
function errorReason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  if ('code' in thrown && typeof thrown.code === 'string' && /^[A-Z0-9_]{3,40}$/.test(thrown.code)) {
    const known = STATES[thrown.code]
    return known === undefined ? thrown.code : `${known}, ${thrown.code}`
  }
  if (/time-?out/i.test(thrown.message)) return 'timed out'
  if (/SSL/.test(thrown.message)) return 'no TLS; sslmode=disable in store.url switches it off'
  if (/terminated|ended|closed|calling end/i.test(thrown.message)) return 'connection ended'
  return thrown instanceof RangeError ? thrown.message : thrown.name
}

/** The fault of a statement that would wait behind too many others. */
export function tooManyWait(): Fault {
  return new Fault('unavailable', { message: 'Too many requests wait for the store of record', retryAfter: RETRY_SECONDS })
}

/** A statement that has failed. */
export class StatementFault extends Fault {
  /** SQLSTATE, where the server has stated one. */
  readonly state: string | undefined

  constructor(thrown: unknown) {
    super('unavailable', { message: `The store of record does not answer (${errorReason(thrown)})`, retryAfter: RETRY_SECONDS })
    this.state = thrown instanceof pg.DatabaseError ? thrown.code : undefined
  }
}

function unavailable(thrown: unknown): Fault {
  return thrown instanceof Fault ? thrown : new StatementFault(thrown)
}
