/**
 * Sums of use beside the generations, by hour and by day and key, as `sqlite-rollups.ts` has them in the embedded store. The tables have
 * the generations below a watermark. One process at a time raises it; those that hand in generations meanwhile wait, so that each row is
 * added either by the page that passes it or by the call that brings it late.
 */
import { COUNT_COLUMNS } from '../../core/ledger-counts.ts'
import { KEY_PARTS, KEY_SUMS, RUN_DAYS } from '../use-facts.ts'
import { factColumn, SAVED } from './json-text.ts'
import { LOCKS } from './locks.ts'

const HOUR = 3_600_000
const DAY = 86_400_000
const NANO = 1_000_000_000
/** As in `sqlite-rollups.ts`. */
export const MAX_TOKENS = '100000000000'

const NAMES = ['model', 'endpoint', 'provider', 'status']
const TOKENS = COUNT_COLUMNS
const PLAIN = ['count', ...TOKENS, 'saved']

const TOKEN_SUMS = [...TOKENS.map((name) => `sum(${name})::bigint`), 'sum(saved)::float8'].join(', ')

function add(table: string, key: readonly string[], values: readonly string[], from = 'sums'): string {
  const named = [...key, ...NAMES]
  return `INSERT INTO ${table} AS t (${[...named, 'count', 'dollars', 'nano', ...TOKENS, 'saved'].join(', ')})
    SELECT ${[...values, ...NAMES].join(', ')}, sum(count)::bigint, trunc(sum(cost) / ${NANO})::bigint, (sum(cost) % ${NANO})::bigint, ${TOKEN_SUMS}
    FROM ${from} GROUP BY ${numbers(named.length)} ORDER BY ${numbers(named.length)}
    ${onConflict(named, PLAIN)}`
}

const numbers = (count: number): string => Array.from({ length: count }, (_, i) => i + 1).join(', ')

function onConflict(named: readonly string[], plain: readonly string[]): string {
  return `ON CONFLICT (${named.join(', ')}) DO UPDATE SET ${plain.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')},
      dollars = t.dollars + excluded.dollars + (t.nano + excluded.nano) / ${NANO}, nano = (t.nano + excluded.nano) % ${NANO}`
}

/** Coarser sums by key of closed days; of running sums a day has what was used from the first day of its run on. */
const RUNNING = 'use_by_key_running'
const KEY_TABLES = [...KEY_PARTS.map(([part]) => `use_by_key_${part}`), RUNNING]

/** Of closed days: what each key has used by some names. */
const insertInto = (table: string, names: readonly string[]): string =>
  `INSERT INTO ${table} AS t (day, key, ${names.join(', ')}, count, failed, dollars, nano, ${TOKENS.join(', ')}, saved)`
const FAILED = `coalesce(sum(count) FILTER (WHERE status IN ('failed', 'unknown')), 0)::bigint`

/** Adds what belongs to days that are closed already. @param last the last day of which the sums have it. */
function addLate(table: string, names: readonly string[], last: string): string {
  const order = numbers(2 + names.length)
  return `${insertInto(table, names)}
    SELECT d.day, sums.key, ${names.join(', ')}, sum(count)::bigint, ${FAILED}, trunc(sum(cost) / ${NANO})::bigint, (sum(cost) % ${NANO})::bigint, ${TOKEN_SUMS}
    FROM sums, use_closed c, generate_series(hour / 24, least(c.day, ${last})) AS d (day)
    WHERE d.day < c.day OR sums.key <= c.key GROUP BY ${order} ORDER BY ${order}
    ${onConflict(['day', 'key', ...names], ['failed', ...PLAIN])} RETURNING 1`
}

const LAST_OF_RUN = `hour / 24 / ${RUN_DAYS} * ${RUN_DAYS} + ${RUN_DAYS - 1}`

/** Adds generations. All tables are written in the order of their keys, so that two calls never wait for each other in a circle. @param where which. */
export function addUse(where: string): string {
  return `WITH sums AS MATERIALIZED (
    SELECT seq / 4096 / ${HOUR} AS hour, key, ${factColumn('model', 'model')} AS model, ${factColumn('endpoint', 'endpoint')} AS endpoint,
      ${factColumn('provider', "''")} AS provider, status, count(*) AS count, sum(cost)::numeric AS cost,
      ${TOKENS.map((name) => `sum(least(${name}, ${MAX_TOKENS})) AS ${name}`).join(', ')}, sum(${SAVED}) AS saved
    FROM generation WHERE ${where} GROUP BY 1, 2, 3, 4, 5, 6
  ), hours AS (
    ${add('use_by_hour', ['hour'], ['hour'])} RETURNING 1
  ), days AS (
    ${add('use_by_day', ['day'], ['hour / 24'], 'sums, use_closed c WHERE hour / 24 < c.day')} RETURNING 1
  ), ${KEY_PARTS.map(([part, names]) => `by_${part} AS (${addLate(`use_by_key_${part}`, names, 'hour / 24')})`).join(', ')},
  running AS (${addLate(RUNNING, KEY_SUMS.both, LAST_OF_RUN)})
  ${add('use_by_key', ['day', 'key'], ['hour / 24', 'key'])}`
}

/** Waits for a page that is being added; then those above the watermark are left to the next ones until this transaction ends. */
export const HOLD_WATERMARK = `pg_advisory_xact_lock_shared(${LOCKS.program}, ${LOCKS.watermark})`

/** The last day with sums: what stands behind it is left of a rebuild, counts nowhere, and is about to be removed. */
export const LAST_DAY = `(SELECT (max(b.seq) - 1) / ${DAY * 4096} FROM use_below b)`

/** Each table of sums, and in which units of `ticks` its rows are dated. */
const DATED: readonly (readonly [table: string, unit: string, ticks: number])[] = [
  ['use_by_hour', 'hour', HOUR * 4096],
  ['use_by_key', 'day', DAY * 4096],
  ...['use_by_day', ...KEY_TABLES].map((table): [string, string, number] => [table, 'day', DAY * 4096]),
]

/**
 * Removes sums that a rebuild has left above the watermark, at most \`most\` rows of each table; read from the end of the index, which
 * has nothing there at any other time. @returns how many of them there were.
 */
export const CLEAR_USE = `
CREATE OR REPLACE FUNCTION headgate_clear_use(most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  below bigint;
  cleared bigint := 0;
  one bigint;
BEGIN
  SELECT max(b.seq) INTO below FROM use_below b;
  ${DATED.map(
    ([table, unit, ticks]) => `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT u.ctid FROM ${table} u WHERE u.${unit} > (below - 1) / ${ticks} ORDER BY u.${unit} DESC LIMIT most));
  GET DIAGNOSTICS one = ROW_COUNT;
  cleared := cleared + one;`,
  ).join('\n  ')}
  RETURN cleared;
END
$body$`

/** Adds the next generations below `bound`. @returns how many; 0 also while another process does the same. */
export const ROLL = `
CREATE OR REPLACE FUNCTION headgate_roll(bound bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  first_seq bigint;
  last_seq bigint;
  rolled bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(${LOCKS.program}, ${LOCKS.rolling}) THEN RETURN 0; END IF;
  -- What a rebuild has left goes first, beside those that hand generations in: it counts nowhere.
  IF headgate_clear_use(most) > 0 THEN RETURN most; END IF;
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

/** Both are bounds of the index: with an OR for the last page each page would read the rest of the day. */
const OF_KEYS = 'u.key > the_key AND u.key <= last_key'
const OF_DAY = `u.day = the_day AND ${OF_KEYS}`
/** The running sums of the day before, where that is in the same run. */
const DAY_BEFORE = `${RUNNING} u WHERE the_day % ${RUN_DAYS} > 0 AND u.day = the_day - 1`
const NTH_KEY = 'AND u.key > the_key ORDER BY u.key OFFSET most - 1 LIMIT 1'
const LAST_KEY = 'AND u.key > the_key ORDER BY u.key DESC LIMIT 1'
const SUMMED = `u.key, model, provider, count, dollars, nano, ${TOKENS.join(', ')}, saved`
const COST = `(sum(dollars) + div(sum(nano), ${NANO}))::bigint, (sum(nano) % ${NANO})::bigint`

/**
 * Makes coarser sums of a day that is over: of about `most` sums by key at once, and those of all keys at the end of the day. The day is
 * over when the watermark has passed it; what comes later is added by `addUse`. A day without use is closed too where its run has sums. @returns `most`, or 0 where nothing is left to do.
 */
export const CLOSE_DAYS = `
CREATE OR REPLACE FUNCTION headgate_close_days(most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  the_day bigint;
  the_key text;
  last_key text;
  ends boolean;
BEGIN
  IF NOT pg_try_advisory_xact_lock(${LOCKS.program}, ${LOCKS.rolling}) THEN RETURN 0; END IF;
  PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.watermark});
  SELECT c.day, c.key INTO the_day, the_key FROM use_closed c;
  IF the_key = '' AND NOT EXISTS (SELECT 1 FROM ${DAY_BEFORE}) THEN SELECT min(u.day) INTO the_day FROM use_by_key u WHERE u.day >= the_day; END IF;
  IF the_day IS NULL OR (the_day + 1) * ${DAY} * 4096 > (SELECT seq FROM use_below) THEN RETURN 0; END IF;
  SELECT min(key) INTO last_key FROM ((SELECT u.key FROM use_by_key u WHERE u.day = the_day ${NTH_KEY}) UNION ALL (SELECT u.key FROM ${DAY_BEFORE} ${NTH_KEY})) AS named;
  ends := last_key IS NULL;
  IF ends THEN
    SELECT max(key) INTO last_key FROM ((SELECT u.key FROM use_by_key u WHERE u.day = the_day ${LAST_KEY}) UNION ALL (SELECT u.key FROM ${DAY_BEFORE} ${LAST_KEY})) AS named;
  END IF;
  ${KEY_PARTS.map(
    ([
      part,
      names,
    ]) => `${insertInto(`use_by_key_${part}`, names)} SELECT day, key, ${names.join(', ')}, sum(count)::bigint, ${FAILED}, ${COST}, ${TOKEN_SUMS}
    FROM use_by_key u WHERE ${OF_DAY} GROUP BY ${numbers(2 + names.length)};`,
  ).join('\n  ')}
  ${insertInto(RUNNING, KEY_SUMS.both)} SELECT the_day, key, model, provider, sum(count)::bigint, sum(failed)::bigint, ${COST}, ${TOKEN_SUMS}
    FROM (SELECT ${SUMMED}, CASE WHEN status IN ('failed', 'unknown') THEN count ELSE 0 END AS failed FROM use_by_key u WHERE ${OF_DAY}
      UNION ALL SELECT ${SUMMED}, failed FROM ${DAY_BEFORE} AND ${OF_KEYS}) AS u GROUP BY 1, 2, 3, 4;
  IF ends THEN
    INSERT INTO use_by_day (day, ${NAMES.join(', ')}, count, dollars, nano, ${TOKENS.join(', ')}, saved)
      SELECT the_day, ${NAMES.join(', ')}, sum(count)::bigint, ${COST}, ${TOKEN_SUMS}
      FROM use_by_hour u WHERE u.hour >= the_day * 24 AND u.hour < (the_day + 1) * 24 GROUP BY ${numbers(1 + NAMES.length)};
    UPDATE use_closed SET day = the_day + 1, key = '';
  ELSE
    UPDATE use_closed SET day = the_day, key = last_key;
  END IF;
  RETURN most;
END
$body$`

const DAY_BEGINS = `moment / ${DAY}`
const HOUR_BEGINS = `moment / ${HOUR}`
const RUN_BEGINS = `moment / ${DAY} / ${RUN_DAYS} * ${RUN_DAYS}`

/**
 * Removes sums of days and hours that began before `moment` (milliseconds since the epoch), at most `most` rows of each table, the oldest
 * first; of a run that goes on beyond it none. @returns rows.
 */
export const FORGET_USE = `
CREATE OR REPLACE FUNCTION headgate_forget_use(moment bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  forgotten bigint := 0;
  one bigint;
BEGIN
  ${DATED.map(
    ([table, unit]) => `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT u.ctid FROM ${table} u WHERE u.${unit} < ${table === RUNNING ? RUN_BEGINS : unit === 'hour' ? HOUR_BEGINS : DAY_BEGINS} ORDER BY u.${unit} LIMIT most));
  GET DIAGNOSTICS one = ROW_COUNT;
  forgotten := forgotten + one;`,
  ).join('\n  ')}
  RETURN forgotten;
END
$body$`

/** As gateways of schema version 18 call it: they may still run beside newer ones. */
export const FORGET_USE_BEFORE = `
CREATE OR REPLACE FUNCTION headgate_forget_use(moment bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
BEGIN
  RETURN headgate_forget_use(moment, 2000);
END
$body$`

/**
 * Has the sums of the days whose generations are all there made anew: the watermark goes back, and what stands above it counts nowhere
 * from then on, and is removed in pages before the next generations are added.
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
    + CASE WHEN min(g.seq) IS NULL OR EXISTS (SELECT 1 FROM carried WHERE count > 0) THEN 1 ELSE 0 END INTO the_day FROM generation g;
  UPDATE use_closed SET day = least(day, the_day), key = CASE WHEN day < the_day THEN key ELSE '' END;
  UPDATE use_below SET seq = least(seq, the_day * ${DAY} * 4096);
  UPDATE session_below SET seq = least(seq, the_day * ${DAY} * 4096);
  RETURN the_day;
END
$body$`
