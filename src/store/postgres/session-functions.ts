/**
 * Sums by session and hour beside the generations, as `rollup-functions.ts` has sums of use: the table has the generations below a
 * watermark of its own, under the same locks.
 */
import { COUNT_COLUMNS } from '../../core/ledger-counts.ts'
import { HAS_SESSION } from '../search-index.ts'
import { factColumn, SAVED } from './json-text.ts'
import { LOCKS } from './locks.ts'

export const HOUR_TICKS = 3_600_000 * 4096
const NANO = 1_000_000_000
const MAX_TOKENS = '100000000000'
const TOKENS = COUNT_COLUMNS
const NAMES = ['hour', 'key', 'session']
const PLAIN = ['count', 'failed', ...TOKENS, 'saved']
const COLUMNS = [...NAMES, 'models', 'count', 'failed', 'dollars', 'nano', ...TOKENS, 'saved', 'first', 'last']

/** Adds generations, in the order of the table's key: so two calls never wait for each other in a circle. @param where which. */
export function addSessions(where: string): string {
  return `INSERT INTO session_use AS t (${COLUMNS.join(', ')})
    SELECT seq / ${HOUR_TICKS}, key, session, json_agg(DISTINCT served ORDER BY served)::text, count(*),
      count(*) FILTER (WHERE status IN ('failed', 'unknown')), trunc(sum(cost) / ${NANO})::bigint, (sum(cost) % ${NANO})::bigint,
      ${TOKENS.map((name) => `sum(least(${name}, ${MAX_TOKENS}))::bigint`).join(', ')}, sum(saved)::float8, min(seq), max(seq)
    FROM (SELECT *, ${factColumn('session_id', "''")} AS session, ${factColumn('model', 'model')} AS served, ${SAVED} AS saved
      FROM generation WHERE ${HAS_SESSION.postgres} AND ${where}) AS g
    WHERE session <> '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (${NAMES.join(', ')}) DO UPDATE SET ${PLAIN.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')},
      models = (SELECT json_agg(m ORDER BY m)::text FROM (SELECT json_array_elements_text(t.models::json) AS m
        UNION SELECT json_array_elements_text(excluded.models::json)) AS both_lists),
      dollars = t.dollars + excluded.dollars + (t.nano + excluded.nano) / ${NANO}, nano = (t.nano + excluded.nano) % ${NANO},
      first = least(t.first, excluded.first), last = greatest(t.last, excluded.last)`
}

/** The last hour with sums, as `LAST_DAY` of `rollup-functions.ts`. @param below the watermark. */
export const lastHour = (below: string): string => `(${below} - 1) / ${HOUR_TICKS}`

/** Adds the next generations below \`bound\`, and forgets hours whose generations have all been removed. @returns how many, 0 also while another process does the same. */
export const ROLL_SESSIONS = `
CREATE OR REPLACE FUNCTION headgate_roll_sessions(bound bigint, most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  first_seq bigint;
  last_seq bigint;
  rolled bigint;
  forgotten bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(${LOCKS.program}, ${LOCKS.rolling}) THEN RETURN 0; END IF;
  SELECT s.seq INTO first_seq FROM session_below s;
  -- What a rebuild has left above the watermark.
  DELETE FROM session_use WHERE ctid = ANY (ARRAY(
    SELECT u.ctid FROM session_use u WHERE u.hour > ${lastHour('first_seq')} ORDER BY u.hour DESC LIMIT most));
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  IF forgotten > 0 THEN RETURN most; END IF;
  PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.watermark});
  SELECT s.seq INTO first_seq FROM session_below s;
  SELECT count(*), max(seq) INTO rolled, last_seq
    FROM (SELECT seq FROM generation WHERE seq >= first_seq AND seq < bound ORDER BY seq LIMIT most) AS page;
  IF rolled > 0 THEN
    ${addSessions('seq >= first_seq AND seq <= last_seq')};
    UPDATE session_below SET seq = last_seq + 1;
    RETURN rolled;
  END IF;
  DELETE FROM session_use WHERE (hour, key, session) IN (SELECT u.hour, u.key, u.session FROM session_use u
    WHERE u.hour < coalesce((SELECT min(seq) FROM generation), first_seq) / ${HOUR_TICKS} ORDER BY u.hour LIMIT most);
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END
$body$`
