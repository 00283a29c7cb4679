/**
 * An embedded store as a large gateway has it after a month: many keys, and generations with users, applications, providers, errors and times.
 * SQLite makes the rows itself, from their numbers alone: a test finds out what a page has to show by a statement over the same file.
 */
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/core/clock.ts'
import { SqliteJournal } from '../../../src/store/journal.ts'
import { openDatabase } from '../../../src/store/sqlite.ts'

const DAY_MS = 86_400_000
export const ROOM_DAYS = 30
const TICKS = 4_096
/** Rows of one transaction. */
const PART = 250_000
export const ROOM_MODELS = 8
export const ROOM_PROVIDERS = 4

export const roomSecret = (key: number): string => `sk-router-v1-room-${String(key).padStart(24, '0')}`
export const roomHash = (key: number): string => createHash('sha256').update(roomSecret(key)).digest('hex')
export const roomName = (key: number): string => `caller ${String(key).padStart(5, '0')}`
const roomIdentity = (key: number): string => `k${String(key).padStart(7, '0')}`

/** Columns of generations; `source` has their numbers as `i`. */
function generations(source: string, { rows, keys }: RoomSize, until: number): string {
  const begun = until - ROOM_DAYS * DAY_MS
  return `WITH g AS (SELECT i, (${begun} + i * ${ROOM_DAYS * DAY_MS} / ${rows}) * ${TICKS} + i % ${TICKS} AS seq, (i * 2654435761) % 4294967296 AS h FROM ${source}),
    n AS (SELECT seq, i, h, printf('k%07d', h % ${keys}) AS key, 'acme/model-' || (h / 256 % ${ROOM_MODELS}) AS model,
      'Provider ' || (h / 4096 % ${ROOM_PROVIDERS}) AS provider, h / 65536 % 100 AS luck, 100 + h / 16 % 1900 AS first FROM g),
    d AS (SELECT seq, key, model, 1000 + h % 2000000 + CASE WHEN i % 100003 = 0 THEN 1000000000 ELSE 0 END AS cost, 100 + h % 400 AS input, h % 90 AS output, h % 100 AS cached,
      CASE WHEN luck < 3 THEN 'failed' WHEN luck < 4 THEN 'aborted' ELSE 'completed' END AS status,
      '{"model":"' || model || '","provider":"' || provider || '","user":"user ' || (h % 1000) || '"'
        || CASE WHEN luck < 3 THEN ',"fault":"' || CASE luck WHEN 0 THEN 'upstream_overloaded' WHEN 1 THEN 'upstream_timeout' ELSE 'upstream_error' END || '"' ELSE '' END
        || ',"finish_reason":"stop","latency":' || first || ',"generation_time":' || (first + h % 3000 + CASE WHEN i % 100003 = 7 THEN 500000 ELSE 0 END) || ',"streamed":true,"cancelled":false'
        || ',"app_title":"app ' || (h % 20) || '","operation":"chat","upstream_id":"chatcmpl-0123456789abcdef"}' AS facts
    FROM n)`
}

export interface RoomSize {
  readonly rows: number
  readonly keys: number
}

/** @param until milliseconds since the epoch: just behind the last generation. */
export async function fillRoom(file: string, size: RoomSize, until: number): Promise<void> {
  openDatabase(file, 'process').close()
  const db = new DatabaseSync(file)
  db.exec(
    'PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; PRAGMA temp_store = MEMORY',
  )
  addKeys(db, size.keys, until)
  for (let first = 0; first < size.rows; first += PART) {
    const source = `(WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${Math.min(size.rows, first + PART) - 1}) SELECT i FROM n)`
    const from = generations(source, size, until)
    db.exec(`BEGIN;
      CREATE TEMP TABLE made AS ${from} SELECT * FROM d;
      INSERT INTO hold (seq, tag, key, payer, model, endpoint, hold, floor) SELECT seq, 'abcdefghijkl', key, '', model, model || '@one', 9000, 3000 FROM made;
      INSERT INTO settlement (seq, status, cost, input, output, cached, cache_write, reasoning, estimated, facts, at)
        SELECT seq, status, cost, input, output, cached, 0, 0, 0, facts, seq / ${TICKS} + 1150 FROM made;
      DROP TABLE made;
      COMMIT`)
  }
  db.exec(`INSERT INTO key_minute SELECT DISTINCT key, seq / ${TICKS} / 60000 AS minute FROM hold ORDER BY 1, 2;
    INSERT INTO charged SELECT key, payer, at / ${DAY_MS}, count(*), sum(cost) / 1000000000, sum(cost) % 1000000000 FROM hold JOIN settlement USING (seq) GROUP BY 1, 2, 3;
    UPDATE charged_below SET seq = (SELECT max(seq) + 1 FROM hold);
    UPDATE settled_below SET seq = (SELECT max(seq) + 1 FROM hold)`)
  db.close()
  const journal = new SqliteJournal(openDatabase(file, 'process'), { clock: systemClock })
  while (journal.roll(until, PART) >= PART) {}
  await journal.committed()
  journal.close()
}

function addKeys(db: DatabaseSync, keys: number, now: number): void {
  const insert = db.prepare(
    `INSERT INTO api_key (hash, name, label, management, disabled, created_at, updated_at, policy, identity, include_byok, creator, credit_limit)
     VALUES (?, ?, 'sk-router-v1-roo...', 0, 0, ?, ?, '{"limits":{},"passage":false}', ?, 0, ?, ?)`,
  )
  db.exec('BEGIN')
  for (let key = 0; key < keys; key++) {
    const limit = key % 10 === 0 ? 50_000_000_000 : null
    insert.run(
      roomHash(key),
      roomName(key),
      now - 40 * DAY_MS + key,
      now - 40 * DAY_MS + key,
      roomIdentity(key),
      `member ${key % 50}`,
      limit,
    )
  }
  db.exec('COMMIT')
}
