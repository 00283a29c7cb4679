/** A file of the embedded store that is too large for the start to check all of it, and damage in it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { openDatabase } from '../../src/store/sqlite.ts'

const ROWS = 9_000
/** The day before the tests' clock begins. */
const BEGUN = Date.UTC(2026, 0, 4, 12) * 4096

/** Settled generations of one key; each has facts of a thousand letters, and every fourth an ending that is no usual one. */
export function fillLargeStore(file: string): void {
  const db = openDatabase(file, 'process')
  db.exec(`BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1}) SELECT i FROM n;
    INSERT INTO hold (seq, tag, key, payer, model, endpoint, hold, floor)
      SELECT ${BEGUN} + i, 'abcdefghijkl', 'dev', '', 'acme/one', 'acme/one@first', 900, 300 FROM n;
    INSERT INTO settlement (seq, status, cost, input, output, cached, cache_write, reasoning, estimated, facts, at)
      SELECT ${BEGUN} + i, iif(i % 4, 'completed', 'failed'), 100, 1, 1, 0, 0, 0, 0,
        '{"provider":"first","session_id":"session ' || i || '","mark":"row ' || i || ' of all ' || hex(zeroblob(500)) || '"}',
        (${BEGUN} + i) / 4096 FROM n;
    INSERT INTO charged (key, payer, day, count, dollars, nano) VALUES ('dev', '', ${Math.floor(BEGUN / 4096 / 86_400_000)}, ${ROWS}, 0, ${ROWS * 100});
    COMMIT`)
  // Sums have all of them, as in a store that has run for a while.
  for (const table of ['charged_below', 'settled_below', 'use_below']) db.exec(`UPDATE ${table} SET seq = ${BEGUN + ROWS}`)
  db.exec(`UPDATE session_below SET hour = ${Math.floor(BEGUN / 4096 / 3_600_000) + 24}`)
  db.close()
}

/** Overwrites the page that has the facts of a row. @param row from 0 to 8,999. @returns the bytes of the file. */
export function damageRow(file: string, row: number): Buffer {
  const bytes = readFileSync(file)
  const size = bytes.readUInt16BE(16)
  const found = bytes.indexOf(`"mark":"row ${row} of all `)
  if (found < 0) throw new Error(`no page has row ${row}`)
  const page = Math.floor(found / size) * size
  bytes.fill(0xa5, page, page + size)
  writeFileSync(file, bytes)
  return bytes
}
