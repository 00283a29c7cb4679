/**
 * The steps that must be atomic, as functions of the database: one round trip each. Every one locks the key's balance
 * row first, in the order of the keys, and looks at leases only then: so it sees what was committed before it, two of
 * them never wait for each other in a circle, and the leases of a key change under its lock alone.
 */

const CAP = Number.MAX_SAFE_INTEGER
const DAY = 86_400_000

/** Start of the UTC day, week (Monday) or month of a moment; milliseconds since the epoch, which was a Thursday. */
const WINDOW = `
CREATE OR REPLACE FUNCTION headgate_window(kind text, at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE kind
    WHEN 'daily' THEN at - at % ${DAY}
    WHEN 'weekly' THEN (at / ${DAY} - (at / ${DAY} + 3) % 7) * ${DAY}
    ELSE (extract(epoch FROM date_trunc('month', timestamp 'epoch' + at / 1000 * interval '1 second')) * 1000)::bigint
  END
$body$`

/**
 * Grants up to an eighth of what is free, so that many processes share what is left, but never less than is needed.
 * Where that does not fit, the others are asked for what lies idle, if that could help at all: those that are alive,
 * and that have not answered within the last \`quiet\` milliseconds.
 */
const LEASE = `
CREATE OR REPLACE FUNCTION headgate_lease(the_node text, the_key text, need bigint, want bigint, allowance bigint, reset text,
  moment bigint, quiet bigint, the_turn bigint, OUT granted bigint, OUT remaining bigint, OUT waiting bigint) LANGUAGE plpgsql AS $body$
DECLARE
  b balance%ROWTYPE;
  free bigint;
  own bigint;
BEGIN
  SELECT * INTO b FROM balance WHERE key = the_key FOR UPDATE;
  WHILE NOT FOUND LOOP
    INSERT INTO balance (key) VALUES (the_key) ON CONFLICT DO NOTHING;
    SELECT * INTO b FROM balance WHERE key = the_key FOR UPDATE;
  END LOOP;
  free := allowance - b.leased - CASE
    WHEN reset IS NULL THEN b.spent
    WHEN reset = 'daily' THEN CASE WHEN b.day >= headgate_window(reset, moment) THEN b.daily ELSE 0 END
    WHEN reset = 'weekly' THEN CASE WHEN b.week >= headgate_window(reset, moment) THEN b.weekly ELSE 0 END
    ELSE CASE WHEN b.month >= headgate_window(reset, moment) THEN b.monthly ELSE 0 END
  END;
  waiting := 0;
  IF free >= need THEN
    granted := greatest(need, least(want, free / 8));
    remaining := free - granted;
    IF granted = 0 THEN RETURN; END IF;
    UPDATE balance SET leased = leased + granted WHERE key = the_key;
    INSERT INTO lease (key, node, amount, wanted, answered_at, turn) VALUES (the_key, the_node, granted, false, 0, the_turn)
      ON CONFLICT (key, node) DO UPDATE SET amount = lease.amount + excluded.amount, answered_at = 0,
        turn = greatest(lease.turn, excluded.turn);
    -- A process that leases before its first pulse counts as lost until then.
    INSERT INTO node (node, label, expires_at) VALUES (the_node, '', moment) ON CONFLICT DO NOTHING;
    RETURN;
  END IF;
  granted := 0;
  remaining := greatest(free, 0);
  SELECT coalesce(sum(amount), 0) INTO own FROM lease WHERE key = the_key AND node = the_node;
  IF free + b.leased - own < need THEN RETURN; END IF;
  UPDATE lease SET wanted = true
    WHERE key = the_key AND node <> the_node AND amount > 0 AND NOT wanted AND answered_at <= moment - quiet;
  SELECT count(*) INTO waiting FROM lease JOIN node USING (node)
    WHERE key = the_key AND node <> the_node AND wanted AND amount > 0 AND expires_at > moment;
END
$body$`

/**
 * Writes what is new of a batch, adds its cost to the balances and takes it out of the process's leases. Where `the_moment` is
 * before the open windows, a clock that was ahead has opened them: what falls into the windows of `the_moment` counts in them.
 */
const TAKE = `
CREATE OR REPLACE FUNCTION headgate_take(the_node text, seqs bigint[], tags text[], keys text[], models text[], endpoints text[],
  holds bigint[], floors bigint[], states text[], costs bigint[], inputs bigint[], outputs bigint[], cacheds bigint[],
  cache_writes bigint[], reasonings bigint[], estimates boolean[], facts_texts text[], ats bigint[], the_moment bigint)
  RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO balance (key) SELECT DISTINCT k FROM unnest(keys) AS k ORDER BY k ON CONFLICT DO NOTHING;
  PERFORM 1 FROM balance WHERE key = ANY (keys) ORDER BY key FOR UPDATE;
  WITH fresh AS (
    INSERT INTO generation (seq, tag, key, model, endpoint, hold, floor, status, cost, input, output, cached, cache_write,
      reasoning, estimated, facts, at)
    SELECT * FROM unnest(seqs, tags, keys, models, endpoints, holds, floors, states, costs, inputs, outputs, cacheds,
      cache_writes, reasonings, estimates, facts_texts, ats)
    ON CONFLICT DO NOTHING
    RETURNING key, cost, CASE WHEN at > 0 THEN at ELSE seq / 4096 END AS moment
  ), dated AS (
    SELECT key, cost, headgate_window('daily', moment) AS day, headgate_window('weekly', moment) AS week,
      headgate_window('monthly', moment) AS month
    FROM fresh
  ), latest AS (
    SELECT d.key, greatest(b.day, max(d.day)) AS day, greatest(b.week, max(d.week)) AS week, greatest(b.month, max(d.month)) AS month
    FROM dated d JOIN balance b ON b.key = d.key GROUP BY d.key, b.day, b.week, b.month
  ), sums AS (
    SELECT key, l.day, l.week, l.month, least(sum(cost), ${CAP})::bigint AS cost,
      least(coalesce(sum(cost) FILTER (WHERE d.day = l.day OR d.day >= headgate_window('daily', the_moment)), 0), ${CAP})::bigint AS daily,
      least(coalesce(sum(cost) FILTER (WHERE d.week = l.week OR d.week >= headgate_window('weekly', the_moment)), 0), ${CAP})::bigint AS weekly,
      least(coalesce(sum(cost) FILTER (WHERE d.month = l.month OR d.month >= headgate_window('monthly', the_moment)), 0), ${CAP})::bigint AS monthly
    FROM dated d JOIN latest l USING (key) GROUP BY key, l.day, l.week, l.month
  ), moved AS (
    SELECT s.key, least(l.amount, s.cost) AS amount FROM sums s JOIN lease l ON l.key = s.key AND l.node = the_node
  ), lowered AS (
    UPDATE lease l SET amount = l.amount - m.amount FROM moved m WHERE l.key = m.key AND l.node = the_node
  )
  UPDATE balance b SET
    spent = least(b.spent + s.cost, ${CAP}),
    leased = b.leased - coalesce(m.amount, 0),
    day = s.day, daily = least(CASE WHEN s.day > b.day THEN 0 ELSE b.daily END + s.daily, ${CAP}),
    week = s.week, weekly = least(CASE WHEN s.week > b.week THEN 0 ELSE b.weekly END + s.weekly, ${CAP}),
    month = s.month, monthly = least(CASE WHEN s.month > b.month THEN 0 ELSE b.monthly END + s.monthly, ${CAP})
  FROM sums s LEFT JOIN moved m ON m.key = s.key WHERE b.key = s.key;
END
$body$`

/**
 * Gives back part of a lease, or all of it where \`part\` is null; either is an answer to whoever asked. One that comes
 * after a grant of a later turn was given up long ago: what it names may have been leased anew.
 */
const GIVE_BACK = `
CREATE OR REPLACE FUNCTION headgate_give_back(the_node text, the_key text, part bigint, moment bigint, the_turn bigint)
  RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  held bigint;
  latest bigint;
  moved bigint;
BEGIN
  PERFORM 1 FROM balance WHERE key = the_key FOR UPDATE;
  SELECT amount, turn INTO held, latest FROM lease WHERE key = the_key AND node = the_node;
  IF NOT FOUND OR latest > the_turn THEN RETURN; END IF;
  moved := least(held, coalesce(part, held));
  IF moved > 0 THEN UPDATE balance SET leased = leased - moved WHERE key = the_key; END IF;
  IF moved = held THEN DELETE FROM lease WHERE key = the_key AND node = the_node;
  ELSE UPDATE lease SET amount = amount - moved, wanted = false, answered_at = moment WHERE key = the_key AND node = the_node;
  END IF;
END
$body$`

/** Ends the leases of processes whose time ended at \`latest\` or before, and forgets those processes. */
const FORGET_LOST = `
CREATE OR REPLACE FUNCTION headgate_forget_lost(latest bigint) RETURNS TABLE (lost text, freed bigint) LANGUAGE plpgsql AS $body$
DECLARE
  the_key text;
  ended record;
BEGIN
  FOR the_key IN
    SELECT DISTINCT l.key FROM lease l WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.node = l.node AND n.expires_at > latest) ORDER BY 1
  LOOP
    PERFORM 1 FROM balance b WHERE b.key = the_key FOR UPDATE;
    FOR ended IN
      DELETE FROM lease l WHERE l.key = the_key
        AND NOT EXISTS (SELECT 1 FROM node n WHERE n.node = l.node AND n.expires_at > latest) RETURNING l.node, l.amount
    LOOP
      UPDATE balance b SET leased = b.leased - ended.amount WHERE b.key = the_key;
      lost := ended.node;
      freed := ended.amount;
      RETURN NEXT;
    END LOOP;
  END LOOP;
  DELETE FROM node n WHERE n.expires_at <= latest AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.node = n.node);
END
$body$`

/** As they are now: they may be made before the tables that they name have all their columns. */
export const POSTGRES_FUNCTIONS: readonly string[] = [WINDOW, LEASE, TAKE, GIVE_BACK, FORGET_LOST]
