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

import { FOLD_CARRIED } from './carried-functions.ts'
import { ENTER, NOTE_LOSSES } from './entry-function.ts'
import { END_LEASES, END_LISTED, FORGET_LOST } from './lease-ends.ts'
import { LEASE } from './lease-function.ts'
import { LOCKS } from './locks.ts'
import { NOTE_LATE, READER_ACCEPT, READER_CLAIM } from './reader-functions.ts'
import { addUse, CLEAR_USE, CLOSE_DAYS, FORGET_USE, FORGET_USE_BEFORE, HOLD_WATERMARK, REBUILD_USE, ROLL } from './rollup-functions.ts'
import { addSessions, ROLL_SESSIONS } from './session-functions.ts'

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

/** Shards of a balance for forwarded rows: of 64 processes some four share one. */
const SHARDS = 16

/** Makes this shard of the balances of accounts that have none, and locks all of them, in the order of their names. */
const LOCK = `
CREATE OR REPLACE FUNCTION headgate_lock(accounts text[], the_shard bigint) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  wanted integer;
  found_rows integer;
BEGIN
  -- Whatever is done under these locks survives a crash of the server; a setting of the session may be another's behind a pooler.
  PERFORM set_config('synchronous_commit', 'on', true);
  SELECT count(DISTINCT a) INTO wanted FROM unnest(accounts) AS a;
  LOOP
    PERFORM 1 FROM balance_shard WHERE key = ANY (accounts) AND shard = the_shard ORDER BY key FOR UPDATE;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    EXIT WHEN found_rows = wanted;
    INSERT INTO balance_shard (key, shard) SELECT DISTINCT a, the_shard FROM unnest(accounts) AS a ORDER BY a ON CONFLICT DO NOTHING;
  END LOOP;
END
$body$`

const LATE = '(seq, tag) IN (SELECT r.seq, r.tag FROM unnest(late_seqs, late_tags) AS r (seq, tag))'

/**
 * Writes what is new of a batch, adds its cost to the balances of key and payer and takes it out of the process's leases. Rows come
 * first and the balances last, so that a balance is locked for no longer than its change and the commit take.
 * The moment of a charge is clamped: it is never after now, and never before the lease that it was paid from was last
 * granted. So a process whose clock is wrong can neither open a window early nor charge one that has ended.
 * Where now is before the open windows, the database's own clock went back: charges count in the windows that are open.
 */
const TAKE = `
CREATE OR REPLACE FUNCTION headgate_take(the_node text, seqs bigint[], tags text[], keys text[], payers text[], models text[],
  endpoints text[], holds bigint[], floors bigint[], states text[], costs bigint[], inputs bigint[], outputs bigint[], cacheds bigint[],
  cache_writes bigint[], reasonings bigint[], estimates boolean[], facts_texts text[], ats bigint[])
  RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  moment bigint;
  below bigint;
  sessions_below bigint;
  passed bigint;
  late_seqs bigint[];
  late_tags text[];
  the_shard bigint := 1 + (hashtext(the_node)::bigint & ${SHARDS - 1});
  fresh_keys text[];
  fresh_payers text[];
  fresh_days bigint[];
  fresh_costs numeric[];
BEGIN
  PERFORM ${HOLD_WATERMARK};
  SELECT u.seq INTO below FROM use_below u;
  SELECT s.seq INTO sessions_below FROM session_below s;
  SELECT max(r.reaching) INTO passed FROM ledger_reader r;
  passed := greatest(passed, below, sessions_below);
  moment := headgate_now();
  WITH given AS (
    SELECT r.*, CASE WHEN r.at > 0 THEN r.at ELSE r.seq / 4096 END AS said, coalesce(l.granted_at, 0) AS granted_at
    FROM unnest(seqs, tags, keys, payers, models, endpoints, holds, floors, states, costs, inputs, outputs, cacheds, cache_writes,
      reasonings, estimates, facts_texts, ats) AS r (seq, tag, key, payer, model, endpoint, hold, floor, status, cost, input, output,
      cached, cache_write, reasoning, estimated, facts, at)
    LEFT JOIN (lease l JOIN lease_used u USING (key, payer, node))
      ON l.key = r.key AND l.payer = r.payer AND l.node = the_node AND l.granted > u.used
  ), fresh AS (
    INSERT INTO generation (seq, tag, key, payer, model, endpoint, hold, floor, status, cost, input, output, cached, cache_write,
      reasoning, estimated, facts, at)
    SELECT seq, tag, key, payer, model, endpoint, hold, floor, status, cost, input, output, cached, cache_write, reasoning, estimated,
      facts, CASE WHEN said > moment THEN moment WHEN said < granted_at THEN least(granted_at, moment) ELSE at END
    FROM given
    ORDER BY seq, tag
    ON CONFLICT DO NOTHING
    RETURNING seq, tag, key, payer, model, facts, cost, CASE WHEN at > 0 THEN at ELSE seq / 4096 END AS moment
  ), ${NOTE_LOSSES}, summed AS (
    SELECT key, payer, headgate_window('daily', f.moment) AS day, sum(cost) AS cost FROM fresh f GROUP BY key, payer, headgate_window('daily', f.moment)
  ), late AS (
    SELECT seq, tag FROM fresh WHERE seq < passed
  )
  SELECT array_agg(key), array_agg(payer), array_agg(day), array_agg(cost),
    (SELECT array_agg(l.seq ORDER BY l.seq, l.tag) FROM late l), (SELECT array_agg(l.tag ORDER BY l.seq, l.tag) FROM late l)
    INTO fresh_keys, fresh_payers, fresh_days, fresh_costs, late_seqs, late_tags FROM summed;
  IF late_seqs IS NOT NULL THEN
    ${NOTE_LATE};
    ${addUse(`seq < below AND ${LATE}`)};
    ${addSessions(`seq < sessions_below AND ${LATE}`)};
  END IF;
  IF fresh_keys IS NULL THEN RETURN; END IF;
  PERFORM 1 FROM lease_used u WHERE u.node = the_node
    AND (u.key, u.payer) IN (SELECT f.key, f.payer FROM unnest(fresh_keys, fresh_payers) AS f (key, payer))
    ORDER BY u.key, u.payer FOR UPDATE;
  PERFORM headgate_lock(fresh_keys || array_remove(fresh_payers, ''), the_shard);
  moment := headgate_now();
  WITH fresh AS (
    SELECT * FROM unnest(fresh_keys, fresh_payers, fresh_days, fresh_costs) AS f (key, payer, day, cost)
  ), dated AS (
    SELECT key AS account, cost, 0::numeric AS issued, day, headgate_window('weekly', day) AS week, headgate_window('monthly', day) AS month
    FROM fresh
    UNION ALL
    SELECT payer, cost, cost, day, headgate_window('weekly', day), headgate_window('monthly', day) FROM fresh WHERE payer <> ''
  ), latest AS (
    SELECT d.account, greatest(b.day, max(d.day)) AS day, greatest(b.week, max(d.week)) AS week, greatest(b.month, max(d.month)) AS month
    FROM dated d JOIN balance_shard b ON b.key = d.account AND b.shard = the_shard GROUP BY d.account, b.day, b.week, b.month
  ), sums AS (
    SELECT d.account, l.day, l.week, l.month, sum(cost) AS cost, sum(issued) AS issued,
      coalesce(sum(cost) FILTER (WHERE d.day = l.day OR d.day >= headgate_window('daily', moment)), 0) AS daily,
      coalesce(sum(cost) FILTER (WHERE d.week = l.week OR d.week >= headgate_window('weekly', moment)), 0) AS weekly,
      coalesce(sum(cost) FILTER (WHERE d.month = l.month OR d.month >= headgate_window('monthly', moment)), 0) AS monthly
    FROM dated d JOIN latest l USING (account) GROUP BY d.account, l.day, l.week, l.month
  ), paid AS (
    SELECT key, payer, sum(cost) AS cost FROM fresh GROUP BY key, payer
  ), moved AS (
    SELECT l.key, l.payer, least(l.granted - u.used, p.cost) AS amount
    FROM paid p JOIN lease_used u ON u.key = p.key AND u.payer = p.payer AND u.node = the_node
      JOIN lease l ON l.key = u.key AND l.payer = u.payer AND l.node = u.node
  ), used AS (
    UPDATE lease_used u SET used = u.used + m.amount FROM moved m WHERE u.key = m.key AND u.payer = m.payer AND u.node = the_node AND m.amount > 0
  ), released AS (
    SELECT account, sum(amount) AS amount
    FROM (SELECT key AS account, amount FROM moved UNION ALL SELECT payer, amount FROM moved WHERE payer <> '') AS m GROUP BY account
  )
  UPDATE balance_shard b SET
    spent = b.spent + s.cost,
    issued = b.issued + s.issued,
    leased = b.leased - coalesce(r.amount, 0),
    day = s.day, daily = CASE WHEN s.day > b.day THEN 0 ELSE b.daily END + s.daily,
    week = s.week, weekly = CASE WHEN s.week > b.week THEN 0 ELSE b.weekly END + s.weekly,
    month = s.month, monthly = CASE WHEN s.month > b.month THEN 0 ELSE b.monthly END + s.monthly
  FROM sums s LEFT JOIN released r USING (account) WHERE b.key = s.account AND b.shard = the_shard;
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
  held numeric;
  latest bigint;
  moved numeric;
BEGIN
  PERFORM 1 FROM lease_used WHERE key = the_key AND payer = the_payer AND node = the_node FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM headgate_lock(array_remove(ARRAY[the_key, the_payer], ''), 0);
  SELECT l.granted - u.used, l.turn INTO held, latest FROM lease l JOIN lease_used u USING (key, payer, node)
    WHERE key = the_key AND payer = the_payer AND node = the_node;
  IF NOT FOUND OR latest > the_turn THEN RETURN; END IF;
  moved := least(held, coalesce(part, held));
  IF moved > 0 THEN
    UPDATE balance_shard SET leased = leased - moved WHERE shard = 0 AND (key = the_key OR (the_payer <> '' AND key = the_payer));
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

/**
 * Sets windows that are ahead of now to sums that were read beside those that hand generations in (\`window-rebuild.ts\`), and to what
 * the reader of that has not read: what came last. Under the watermark nothing is forwarded, so that only leases are kept out by a lock of the balances.
 * @returns how many there were; -1 where another day has begun by now.
 */
const SET_WINDOWS = `
CREATE OR REPLACE FUNCTION headgate_set_windows(accounts text[], dailies numeric[], weeklies numeric[], monthlies numeric[],
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
    UNION ALL SELECT payer, cost, u.moment FROM unread u WHERE payer = ANY (accounts)
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

/** As they are now: they may be made before the tables that they name have all their columns. */
const FUNCTIONS: readonly string[] = [
  NOW,
  WINDOW,
  LOCK,
  LEASE,
  TAKE,
  ENTER,
  GIVE_BACK,
  END_LISTED,
  END_LEASES,
  FORGET_LOST,
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

/**
 * With settings of their own: those of the session are lost behind a pooler of transactions. A compilation takes longer than our statements;
 * and a call that waits for a lock gives up when its caller has. (A limit of time for the statement itself cannot be set here: it has begun.)
 */
export const POSTGRES_FUNCTIONS: readonly string[] = FUNCTIONS.map((text) =>
  text.replace(
    / LANGUAGE plpgsql AS \$body\$/,
    text.includes('FUNCTION headgate_lock') ? '$&' : " LANGUAGE plpgsql SET jit = off SET lock_timeout = '5s' AS $$body$$",
  ),
)
