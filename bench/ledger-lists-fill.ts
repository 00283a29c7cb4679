/** Fills a store with generations of 30 days, 200 keys and 8 models, by statements of the database: 10 million take minutes. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { systemClock } from '../src/core/clock.ts'
import { DAY_MS } from '../src/ledger/use.ts'
import { SqliteJournal } from '../src/store/journal.ts'
import { openDatabase } from '../src/store/sqlite.ts'

export const KEYS = 200
export const MODELS = 8
export const PROVIDERS = 4
const DAYS = 30
const TICKS = 4096
/** Rows of one transaction, and of one step of the sums. */
const PART = 500_000
/** Milliseconds between the last generation and now. */
const LEAD = 900_000
/** Generations of which each key uses one session. */
const SESSION = 5_000

/** Columns of generations; `source` has their numbers as `i`. Both databases read it. */
function generations(source: string, rows: number, now: number): string {
  const begun = Math.floor(now - LEAD - DAYS * DAY_MS)
  return `WITH g AS (SELECT i, (${begun} + i * ${DAYS * DAY_MS} / ${rows}) * ${TICKS} + i % ${TICKS} AS seq, (i * 2654435761) % 4294967296 AS h FROM ${source}),
    n AS (SELECT seq, i, h, 'key-' || (h % ${KEYS}) AS key, 'acme/model-' || (h / 256 % ${MODELS}) AS model,
      'provider-' || (h / 4096 % ${PROVIDERS}) AS provider, h / 65536 % 100 AS luck FROM g),
    d AS (SELECT seq, key, model, model || '@' || provider AS endpoint, 1000 + h % 2000000 + CASE WHEN i % 100003 = 0 THEN 1000000000 ELSE 0 END AS cost,
      CASE WHEN luck < 3 THEN 'failed' WHEN luck < 4 THEN 'aborted' ELSE 'completed' END AS status,
      '{"model":"' || model || '","provider":"' || provider || '","endpoint":"' || model || '@' || provider || '"'
        || CASE WHEN luck >= 40 THEN ',"session_id":"session-' || (10000 + i / ${SESSION}) || '-' || (h % ${KEYS}) || '"' ELSE '' END
        || CASE WHEN luck < 3 THEN ',"fault":"' || CASE luck WHEN 0 THEN 'upstream_overloaded' WHEN 1 THEN 'upstream_timeout' ELSE 'upstream_error' END || '"' ELSE '' END
        || ',"finish_reason":"stop","native_finish_reason":"end_turn","latency":250,"generation_time":900,"streamed":' || CASE WHEN luck % 2 = 0 THEN 'true' ELSE 'false' END
        || ',"cancelled":false,"provider_responses":[{"provider_name":"There","status":200,"latency":30}],"operation":"chat","upstream_id":"chatcmpl-0123456789abcdef"}' AS facts
    FROM n)`
}

const HOLD = `seq, 'abcdefghijkl', key, '', model, endpoint, 9000, 3000`
const NANO = 1_000_000_000

export async function fillSqlite(file: string, rows: number): Promise<void> {
  openDatabase(file, 'process').close()
  const db = new DatabaseSync(file)
  const now = Date.now()
  db.exec(
    'PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY',
  )
  for (let first = 0; first < rows; first += PART) {
    const source = `(WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${Math.min(rows, first + PART) - 1}) SELECT i FROM n)`
    const from = generations(source, rows, now)
    db.exec(`BEGIN;
      INSERT INTO hold (seq, tag, key, payer, model, endpoint, hold, floor) ${from} SELECT ${HOLD} FROM d;
      INSERT INTO settlement (seq, status, cost, input, output, cached, cache_write, reasoning, estimated, facts, at)
        ${from} SELECT seq, status, cost, 120, 34, 20, 3, 4, 0, facts, seq / ${TICKS} + 1150 FROM d;
      COMMIT`)
    console.error(`${first + PART} rows`)
  }
  db.exec(`INSERT INTO key_minute SELECT DISTINCT key, seq / ${TICKS} / 60000 AS minute FROM hold ORDER BY 1, 2;
    INSERT INTO charged SELECT key, payer, at / ${DAY_MS}, count(*), sum(cost) / ${NANO}, sum(cost) % ${NANO} FROM hold JOIN settlement USING (seq) GROUP BY 1, 2, 3;
    UPDATE charged_below SET seq = (SELECT max(seq) + 1 FROM hold);
    UPDATE settled_below SET seq = (SELECT max(seq) + 1 FROM hold)`)
  db.close()
  console.error('sums of use')
  const journal = new SqliteJournal(openDatabase(file, 'process'), { clock: systemClock })
  while (journal.roll(now, PART) >= PART) {}
  await journal.committed()
  journal.close()
}

/** Removes what a gateway has written for its first requests. @param url of a database that it has made its tables in. */
export async function emptyPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`TRUNCATE generation, ${await balanceTable(client)}`)
  } finally {
    await client.end()
  }
}

/** Spending of each key, in all and in the windows that are open. */
const BALANCES = `WITH present AS (SELECT headgate_window('daily', m) AS day, headgate_window('weekly', m) AS week, headgate_window('monthly', m) AS month
    FROM (SELECT headgate_now() AS m) AS p)
  INSERT INTO balance_shard (key, spent, day, daily, week, weekly, month, monthly)
  SELECT key, sum(cost), day, coalesce(sum(cost) FILTER (WHERE at >= day), 0), week, coalesce(sum(cost) FILTER (WHERE at >= week), 0),
    month, coalesce(sum(cost) FILTER (WHERE at >= month), 0) FROM generation, present GROUP BY key, day, week, month`

/** Before schema 22 the balances were one table, now they are shards with a view over them. */
async function balanceTable(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ found: boolean }>(`SELECT to_regclass('balance_shard') IS NOT NULL AS found`)
  return rows[0]?.found ? 'balance_shard' : 'balance'
}

/** @param url of a database that a gateway has made its tables in. */
export async function fillPostgres(url: string, rows: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const now = Date.now()
  try {
    const indexes = await client.query<{ indexname: string; indexdef: string }>(
      `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'generation' AND indexname <> 'generation_pkey'`,
    )
    for (const { indexname } of indexes.rows) await client.query(`DROP INDEX ${indexname}`)
    for (let first = 0; first < rows; first += PART) {
      const source = `generate_series(${first}::bigint, ${Math.min(rows, first + PART) - 1}::bigint) AS s (i)`
      await client.query(`INSERT INTO generation (seq, tag, key, payer, model, endpoint, hold, floor, status, cost, input, output, cached, cache_write,
        reasoning, estimated, facts, at) ${generations(source, rows, now)}
        SELECT ${HOLD}, status, cost, 120, 34, 20, 3, 4, false, facts, seq / ${TICKS} + 1150 FROM d`)
      console.error(`${first + PART} rows`)
    }
    await client.query(`SET maintenance_work_mem = '1GB'`)
    for (const { indexdef } of indexes.rows) await client.query(indexdef)
    await client.query('VACUUM ANALYZE generation')
    const table = await balanceTable(client)
    if (table === 'balance_shard') await client.query(BALANCES)
    else {
      await client.query('INSERT INTO balance (key, spent) SELECT key, sum(cost) FROM generation GROUP BY key')
      await client.query('SELECT headgate_rebuild_windows(true)')
    }
    for (const roll of ['headgate_roll', 'headgate_roll_sessions'])
      for (let rolled = 1; rolled > 0; ) {
        const { rows: found } = await client.query<{ rolled: string }>(`SELECT ${roll}($1::bigint, ${PART}) AS rolled`, [now * TICKS])
        rolled = Number(found[0]?.rolled)
      }
    for (let closed = 1; closed > 0; ) {
      const { rows: found } = await client.query<{ closed: string }>(`SELECT headgate_close_days(${PART}) AS closed`)
      closed = Number(found[0]?.closed)
    }
  } finally {
    await client.end()
  }
}
