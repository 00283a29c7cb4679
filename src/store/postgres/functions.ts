/**
 * The steps that must be atomic, as functions of the database: one round trip each. The balance of an account is the sum of its
 * shards (\`balance\` is a view of \`balance_shard\`): shard 0 has what is leased, and is locked by every step that grants or ends a
 * lease; the others have what processes forward, each process always to the same shard, so that forwarded rows of one key by many
 * processes do not wait for one row through each other's commits. What is moved from leased to spent changes no sum, so a lease that
 * is granted meanwhile finds the same credit before and after it.
 * What a lease was granted (\`lease\`) changes under shard 0 of its accounts, what has been used of it (\`lease_used\`) under the lock of
 * that row alone; both only rise, and the difference is the lease. So a grant waits for no batch of its own process.
 * Locks are taken in this order, so that no two steps wait for each other in a circle: the watermark, generations, what has been used of
 * leases by key, payer and process, shard 0 of balances by account, leases in the same order, the other shards by account. No step takes
 * generations and shard 0.
 */

import { payersColumn } from '../../core/payers.ts'
import { FOLD_CARRIED } from './carried-functions.ts'
import { ENTER } from './entry-function.ts'
import { END_LEASES, END_LISTED, FORGET_LOST } from './lease-ends.ts'
import { ACCOUNTS, FREE_LOCKS_THEN_FLUSH, GRANT, GRANT_ONE_PAYER, LEASE, LEASE_ONE_PAYER } from './lease-function.ts'
import { LOCKS } from './locks.ts'
import { READER_ACCEPT, READER_CLAIM } from './reader-functions.ts'
import { CLEAR_USE, CLOSE_DAYS, FORGET_USE, FORGET_USE_BEFORE, REBUILD_USE, ROLL } from './rollup-functions.ts'
import { ROLL_SESSIONS } from './session-functions.ts'
import { TAKE_TEXTS } from './take-function.ts'

const DAY = 86_400_000

/** Milliseconds since the epoch. The database's clock is the only one that decides on windows and on the end of leases. */
const NOW = `
CREATE OR REPLACE FUNCTION headgate_now() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$body$`

/** Start of the UTC day, week (Monday) or month of a moment; milliseconds since the epoch, which was a Thursday. */
const WINDOW = `
CREATE OR REPLACE FUNCTION headgate_window(kind text, at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE kind
    WHEN 'daily' THEN at - at % ${DAY}
    WHEN 'weekly' THEN (at / ${DAY} - (at / ${DAY} + 3) % 7) * ${DAY}
    ELSE (extract(epoch FROM date_trunc('month', timestamp 'epoch' + at / 1000 * interval '1 second')) * 1000)::bigint
  END
$body$`

/** Makes this shard of the balances of accounts that have none, and locks all of them, in the order of their names. */
const LOCK = `
CREATE OR REPLACE FUNCTION headgate_lock(accounts text[], the_shard bigint) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  found_rows integer;
  done text;
BEGIN
  -- Whatever is done under these locks survives a crash of the server; a setting of the session may be another's behind a pooler.
  done := set_config('synchronous_commit', 'on', true);
  LOOP
    PERFORM 1 FROM balance_shard WHERE key = ANY (accounts) AND shard = the_shard ORDER BY key FOR UPDATE;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    EXIT WHEN found_rows = cardinality(accounts) OR found_rows = (SELECT count(DISTINCT a) FROM unnest(accounts) AS a);
    INSERT INTO balance_shard (key, shard) SELECT DISTINCT a, the_shard FROM unnest(accounts) AS a ORDER BY a ON CONFLICT DO NOTHING;
  END LOOP;
END
$body$`

/**
 * Gives back part of a lease, or all of it where \`part\` is null; either answers a call for it. One that comes after a
 * grant of a later turn was given up long ago: what it names may have been leased anew.
 */
const GIVE_BACK = `
CREATE OR REPLACE FUNCTION headgate_give_back(the_node text, the_key text, the_payer text, part bigint, the_turn bigint)
  RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  accounts text[] := ${ACCOUNTS};
  held numeric;
  latest bigint;
  moved numeric;
BEGIN
  PERFORM 1 FROM lease_used WHERE key = the_key AND payer = the_payer AND node = the_node FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM headgate_lock(accounts, 0);
  SELECT l.granted - u.used, l.turn INTO held, latest FROM lease l JOIN lease_used u USING (key, payer, node)
    WHERE key = the_key AND payer = the_payer AND node = the_node;
  IF NOT FOUND OR latest > the_turn THEN RETURN; END IF;
  moved := least(held, coalesce(part, held));
  IF moved > 0 THEN
    UPDATE balance_shard SET leased = leased - moved WHERE shard = 0 AND key = ANY (accounts);
  END IF;
  IF moved = held THEN
    DELETE FROM lease WHERE key = the_key AND payer = the_payer AND node = the_node;
    DELETE FROM lease_used WHERE key = the_key AND payer = the_payer AND node = the_node;
  ELSE
    UPDATE lease SET wanted = false, answered_at = headgate_now() WHERE key = the_key AND payer = the_payer AND node = the_node;
    UPDATE lease_used SET used = used + moved WHERE key = the_key AND payer = the_payer AND node = the_node AND moved > 0;
  END IF;
END
$body$`

/** Gives back as `headgate_give_back`, and waits for the disk once its locks are free, as `headgate_grant` does. */
const RETURN_LEASE = `
CREATE OR REPLACE PROCEDURE headgate_return(the_node text, the_key text, the_payer text, part bigint, the_turn bigint) LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM headgate_give_back(the_node, the_key, the_payer, part, the_turn);
  ${FREE_LOCKS_THEN_FLUSH}
END
$body$`

/**
 * Sets windows that are ahead of now to sums that were read beside those that hand generations in (\`window-rebuild.ts\`), and to what
 * the reader of that has not read: what came last. Under the watermark nothing is forwarded, so that only leases are kept out by a lock of the balances.
 * @returns how many there were; -1 where another day has begun by now.
 */
const RENEW_WINDOWS = `
CREATE OR REPLACE FUNCTION headgate_renew_windows(accounts text[], dailies numeric[], weeklies numeric[], monthlies numeric[],
  the_day bigint, the_week bigint, the_month bigint, the_reader text) RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
  first_seq bigint;
  changed bigint;
BEGIN
  -- First the watermark: a batch that holds it may wait for what a return of its lease has locked, and that for shard 0.
  PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.watermark});
  PERFORM headgate_lock(accounts, 0);
  SELECT p.below INTO first_seq FROM ledger_reader p WHERE p.name = the_reader;
  IF first_seq IS NULL OR headgate_window('daily', headgate_now()) <> the_day THEN RETURN -1; END IF;
  WITH unread AS (
    SELECT g.key, g.payer, g.cost::numeric AS cost, CASE WHEN g.at > 0 THEN g.at ELSE g.seq / 4096 END AS moment FROM generation g
      WHERE g.seq >= first_seq
    UNION ALL SELECT g.key, g.payer, g.cost::numeric, CASE WHEN g.at > 0 THEN g.at ELSE g.seq / 4096 END
      FROM ledger_reader_late l JOIN generation g ON g.seq = l.seq AND g.tag = l.tag WHERE l.reader = the_reader AND l.seq < first_seq
  ), charge AS (
    SELECT key AS account, cost, u.moment FROM unread u WHERE key = ANY (accounts)
    UNION ALL SELECT p.account, cost, u.moment FROM unread u, unnest(${payersColumn('u.payer')}) AS p (account) WHERE p.account = ANY (accounts)
  ), sums AS (
    SELECT r.account, r.daily + coalesce(sum(cost) FILTER (WHERE c.moment >= the_day), 0) AS daily,
      r.weekly + coalesce(sum(cost) FILTER (WHERE c.moment >= the_week), 0) AS weekly,
      r.monthly + coalesce(sum(cost) FILTER (WHERE c.moment >= the_month), 0) AS monthly
    FROM unnest(accounts, dailies, weeklies, monthlies) AS r (account, daily, weekly, monthly) LEFT JOIN charge c USING (account)
    GROUP BY r.account, r.daily, r.weekly, r.monthly
  ), written AS (
    UPDATE balance_shard b SET day = the_day, daily = CASE shard WHEN 0 THEN s.daily ELSE 0 END, week = the_week,
    weekly = CASE shard WHEN 0 THEN s.weekly ELSE 0 END, month = the_month, monthly = CASE shard WHEN 0 THEN s.monthly ELSE 0 END
    FROM sums s WHERE b.key = s.account AND EXISTS (SELECT 1 FROM balance_shard o WHERE o.key = b.key AND o.day > the_day)
    RETURNING b.key
  )
  SELECT count(DISTINCT key) INTO changed FROM written;
  RETURN changed;
END
$body$`

/**
 * Called by programs of schema versions before 30, whose sums take several payers for one account, and would set windows too low. So it does
 * nothing, and a program of this version sets them at its start.
 */
const SET_WINDOWS = `
CREATE OR REPLACE FUNCTION headgate_set_windows(accounts text[], dailies numeric[], weeklies numeric[], monthlies numeric[],
  the_day bigint, the_week bigint, the_month bigint, the_reader text) RETURNS bigint LANGUAGE plpgsql AS $body$
BEGIN
  RETURN -1;
END
$body$`

/** As they are now: they may be made before the tables that they name have all their columns. */
const FUNCTIONS: readonly string[] = [
  NOW,
  WINDOW,
  LOCK,
  LEASE,
  GRANT,
  LEASE_ONE_PAYER,
  GRANT_ONE_PAYER,
  ...TAKE_TEXTS,
  ENTER,
  GIVE_BACK,
  RETURN_LEASE,
  END_LISTED,
  END_LEASES,
  FORGET_LOST,
  RENEW_WINDOWS,
  SET_WINDOWS,
  ROLL,
  ROLL_SESSIONS,
  CLEAR_USE,
  CLOSE_DAYS,
  FOLD_CARRIED,
  FORGET_USE,
  FORGET_USE_BEFORE,
  REBUILD_USE,
  READER_CLAIM,
  READER_ACCEPT,
]

/** Each call of these sees few rows, and planning anew for it would take longer than the call. */
const ONE_PLAN: ReadonlySet<string> = new Set([...TAKE_TEXTS, LEASE, GIVE_BACK])

/**
 * With settings of their own: those of the session are lost behind a pooler of transactions. A compilation takes longer than our statements;
 * and a call that waits for a lock gives up when its caller has. (A limit of time for the statement itself cannot be set here: it has begun.)
 * Procedures with settings could not commit, so those leave all but that to the functions that they call.
 */
export const POSTGRES_FUNCTIONS: readonly string[] = FUNCTIONS.map((text) => {
  if (/FUNCTION headgate_lock|PROCEDURE/.test(text)) return text
  const settings = ["SET jit = off SET lock_timeout = '5s'", ...(ONE_PLAN.has(text) ? ['SET plan_cache_mode = force_generic_plan'] : [])]
  return text.replace(/ LANGUAGE plpgsql AS \$body\$/, () => ` LANGUAGE plpgsql ${settings.join(' ')} AS $body$`)
})
