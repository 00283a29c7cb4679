/** Sums that retention has carried over: of a day as long as a window may count it, then of its month. */
import { LOCKS } from './locks.ts'

const DAY = 86_400_000

/** The first day that a window of this moment counts; days since the epoch. */
export const OPEN_SINCE = `(SELECT least(headgate_window('weekly', p.moment), headgate_window('monthly', p.moment)) / ${DAY}
  FROM (SELECT headgate_now() AS moment OFFSET 0) AS p)`

/** The first day of the month of \`day\`. */
export const MONTH_OF_DAY = `headgate_window('monthly', day * ${DAY}) / ${DAY}`

/**
 * Makes one row of each key's days of a month that no window counts any more: of about \`most\` rows at once, in the order of the keys;
 * from the beginning again when windows have passed since. All rows of a key change in one step. @returns \`most\`, or 0 where nothing is
 * left to do, also while another process does the same or removes generations.
 */
export const FOLD_CARRIED = `
CREATE OR REPLACE FUNCTION headgate_fold_carried(most bigint) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  open_day bigint := ${OPEN_SINCE};
  the_day bigint;
  the_key text;
  last_key text;
  ends boolean;
BEGIN
  SELECT f.day, f.key INTO the_day, the_key FROM carried_folded f;
  IF the_day >= open_day OR NOT pg_try_advisory_xact_lock(${LOCKS.program}, ${LOCKS.retention}) THEN RETURN 0; END IF;
  SELECT f.key INTO the_key FROM carried_folded f;
  SELECT c.key INTO last_key FROM carried c WHERE c.key > the_key ORDER BY c.key, c.payer, c.day OFFSET most - 1 LIMIT 1;
  ends := last_key IS NULL;
  IF ends THEN SELECT max(c.key) INTO last_key FROM carried c; END IF;
  WITH gone AS (
    DELETE FROM carried WHERE key > the_key AND key <= last_key AND day < open_day AND day <> ${MONTH_OF_DAY}
      RETURNING key, payer, ${MONTH_OF_DAY} AS day, count, cost
  )
  INSERT INTO carried (key, payer, day, count, cost)
    SELECT key, payer, day, sum(count)::bigint, sum(cost) FROM gone GROUP BY key, payer, day ORDER BY key, payer, day
    ON CONFLICT (key, payer, day) DO UPDATE SET count = carried.count + excluded.count, cost = carried.cost + excluded.cost;
  IF ends THEN UPDATE carried_folded SET day = open_day, key = ''; ELSE UPDATE carried_folded SET key = last_key; END IF;
  RETURN CASE WHEN ends THEN 0 ELSE most END;
END
$body$`
