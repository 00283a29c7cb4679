/**
 * Sums of use beside the generations, by hour and by day and key, as `sqlite-rollups.ts` has them in the embedded store. The tables have
 * the generations below a watermark. One process at a time raises it; those that hand in generations meanwhile wait, so that each row is
 * added either by the page that passes it or by the call that brings it late.
 */
import { factOf, SAVED } from './json-text.ts'
import { LOCKS } from './locks.ts'

const HOUR = 3_600_000
const DAY = 86_400_000
const NANO = 1_000_000_000
/** As in `sqlite-rollups.ts`. */
const MOST_TOKENS = '100000000000'

const NAMES = ['model', 'endpoint', 'provider', 'status']
const TOKENS = ['input', 'output', 'cached', 'cache_write', 'reasoning']
const PLAIN = ['count', ...TOKENS, 'saved']

function add(table: string, key: readonly string[], values: readonly string[]): string {
  const sums = [...TOKENS.map((name) => `sum(${name})::bigint`), 'sum(saved)::float8']
  const named = [...key, ...NAMES]
  return `INSERT INTO ${table} AS t (${[...named, 'count', 'dollars', 'nano', ...TOKENS, 'saved'].join(', ')})
    SELECT ${[...values, ...NAMES].join(', ')}, sum(count)::bigint, trunc(sum(cost) / ${NANO})::bigint, (sum(cost) % ${NANO})::bigint, ${sums.join(', ')}
    FROM sums GROUP BY ${named.map((_, i) => i + 1).join(', ')} ORDER BY ${named.map((_, i) => i + 1).join(', ')}
    ON CONFLICT (${named.join(', ')}) DO UPDATE SET ${PLAIN.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')},
      dollars = t.dollars + excluded.dollars + (t.nano + excluded.nano) / ${NANO}, nano = (t.nano + excluded.nano) % ${NANO}`
}

/** Adds generations. Both tables are written in the order of their keys, so that two calls never wait for each other in a circle. @param where which. */
export function addUse(where: string): string {
  return `WITH sums AS MATERIALIZED (
    SELECT seq / 4096 / ${HOUR} AS hour, key, ${factOf('model', 'model')} AS model, ${factOf('endpoint', 'endpoint')} AS endpoint,
      ${factOf('provider', "''")} AS provider, status, count(*) AS count, sum(cost)::numeric AS cost,
      ${TOKENS.map((name) => `sum(least(${name}, ${MOST_TOKENS})) AS ${name}`).join(', ')}, sum(${SAVED}) AS saved
    FROM generation WHERE ${where} GROUP BY 1, 2, 3, 4, 5, 6
  ), hours AS (
    ${add('use_by_hour', ['hour'], ['hour'])} RETURNING 1
  )
  ${add('use_by_key', ['day', 'key'], ['hour / 24', 'key'])}`
}

/** Waits for a page that is being added; then those above the watermark are left to the next ones until this transaction ends. */
export const HOLD_WATERMARK = `pg_advisory_xact_lock_shared(${LOCKS.program}, ${LOCKS.watermark})`

/** Adds the next generations below \`bound\`. @returns how many; 0 also while another process does the same. */
export const ROLL = `
CREATE OR REPLACE FUNCTION headgate_roll(bound bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  first_seq bigint;
  last_seq bigint;
  rolled bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(${LOCKS.program}, ${LOCKS.rolling}) THEN RETURN 0; END IF;
  PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.watermark});
  SELECT seq INTO first_seq FROM use_below;
  SELECT count(*), max(seq) INTO rolled, last_seq
    FROM (SELECT seq FROM generation WHERE seq >= first_seq AND seq < bound ORDER BY seq LIMIT most) AS page;
  IF rolled = 0 THEN RETURN 0; END IF;
  ${addUse('seq >= first_seq AND seq <= last_seq')};
  UPDATE use_below SET seq = last_seq + 1;
  RETURN rolled;
END
$body$`

/** Removes the oldest day and hour that began before \`moment\` (milliseconds since the epoch). @returns rows. */
export const FORGET_USE = `
CREATE OR REPLACE FUNCTION headgate_forget_use(moment bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  days bigint;
  hours bigint;
BEGIN
  DELETE FROM use_by_key WHERE day < moment / ${DAY} AND day = (SELECT min(day) FROM use_by_key);
  GET DIAGNOSTICS days = ROW_COUNT;
  DELETE FROM use_by_hour WHERE hour < moment / ${HOUR} AND hour = (SELECT min(hour) FROM use_by_hour);
  GET DIAGNOSTICS hours = ROW_COUNT;
  RETURN days + hours;
END
$body$`

/**
 * Forgets the sums of the days whose generations are all there: they are made anew below the watermark, which goes back.
 * @returns the first of these days, since the epoch.
 */
export const REBUILD_USE = `
CREATE OR REPLACE FUNCTION headgate_rebuild_use() RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  the_day bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.rolling});
  PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.watermark});
  -- Retention may have removed a part of the oldest day; where nothing is left, nothing can be made anew.
  SELECT coalesce(min(g.seq), (SELECT seq FROM use_below)) / 4096 / ${DAY}
    + CASE WHEN min(g.seq) IS NULL OR EXISTS (SELECT 1 FROM carried) THEN 1 ELSE 0 END INTO the_day FROM generation g;
  DELETE FROM use_by_key WHERE day >= the_day;
  DELETE FROM use_by_hour WHERE hour >= the_day * 24;
  UPDATE use_below SET seq = least(seq, the_day * ${DAY} * 4096);
  DELETE FROM session_use WHERE hour >= the_day * 24;
  UPDATE session_below SET seq = least(seq, the_day * ${DAY} * 4096);
  RETURN the_day;
END
$body$`
