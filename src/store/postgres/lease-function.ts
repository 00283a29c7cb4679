/**
 * The grant of a lease, as a function of the database: see `functions.ts` for the order of its locks. It reads what has been used of leases
 * without a lock: an older value only makes a lease look larger, and what is free comes from the balances, which change in one step with it.
 */

import { payersColumn } from '../../core/payers.ts'

/** The accounts of a lease as functions have it in `the_key` and `the_payer`: the place of one in it, from 1 on, is its level and 1. */
export const ACCOUNTS = `array_prepend(the_key, ${payersColumn('the_payer')})`

/** The most that a number of JavaScript holds exactly. */
const CAP = Number.MAX_SAFE_INTEGER

/**
 * Reads what is left under all allowances at once, and in the same step how much the request may hold of it, by the rule of
 * \`holdWithin\`; then grants what its hold needs beyond \`idle\`, the part of the process's lease that no request uses.
 * Up to an eighth of what is free is granted on top where \`more\` requests it, so that many processes share what is left.
 * Where the hold does not fit, or would be shortened and the process is \`patient\`, other leases on the same accounts are
 * called back, if that could help at all: those of processes that are alive, and that have not answered within the last
 * \`quiet\` milliseconds. Of allowance number i, \`limits[i]\` and \`resets[i]\` are the bound and its window, and \`levels[i]\` says
 * whose spending counts: 0 that of the key, 1 that of its nearest payer, and so on. \`lefts[i]\` is what it leaves after the grant,
 * below 0 where it is overspent.
 */
export const LEASE = `
CREATE OR REPLACE FUNCTION headgate_lease_levels(the_node text, the_key text, the_payer text, whole bigint, least_part bigint, idle bigint,
  more bigint, limits bigint[], resets text[], levels bigint[], patient boolean, quiet bigint, the_turn bigint,
  OUT granted bigint, OUT hold bigint, OUT lefts bigint[], OUT waiting bigint) LANGUAGE plpgsql AS $body$
DECLARE
  accounts text[] := ${ACCOUNTS};
  named text[] := '{}';
  frees numeric[] := '{}';
  free numeric := NULL;
  reachable numeric := NULL;
  moment bigint;
  counted numeric;
  account text;
  lent numeric;
BEGIN
  PERFORM headgate_lock(accounts, 0);
  moment := headgate_now();
  FOR i IN 1 .. cardinality(limits) LOOP
    account := accounts[levels[i] + 1];
    IF account IS NULL THEN RAISE EXCEPTION 'headgate: an allowance of a payer, but the lease has none'; END IF;
    SELECT sum(b.leased), CASE
      WHEN resets[i] IS NULL THEN sum(b.spent)
      WHEN resets[i] = 'daily' THEN coalesce(sum(b.daily) FILTER (WHERE b.day >= headgate_window('daily', moment)), 0)
      WHEN resets[i] = 'weekly' THEN coalesce(sum(b.weekly) FILTER (WHERE b.week >= headgate_window('weekly', moment)), 0)
      ELSE coalesce(sum(b.monthly) FILTER (WHERE b.month >= headgate_window('monthly', moment)), 0)
    END INTO lent, counted FROM balance_shard b WHERE b.key = account;
    frees := frees || (limits[i] - counted - lent);
    free := least(free, limits[i] - counted - lent);
    reachable := least(reachable, limits[i] - counted);
    named := named || account;
  END LOOP;
  granted := 0;
  waiting := 0;
  hold := CASE
    WHEN 2 * whole <= free + idle THEN whole
    WHEN least_part <= free + idle THEN least(free + idle, greatest(div(free + idle, 2), least_part))
  END;
  IF hold IS NULL AND reachable >= least_part OR hold < whole AND patient THEN
    WITH others AS MATERIALIZED (
      SELECT l.key, l.payer, l.node FROM lease l JOIN lease_used u USING (key, payer, node)
        WHERE (key = ANY (named) OR payer <> '' AND ${payersColumn('payer')} && named) AND NOT (key = the_key AND payer = the_payer AND node = the_node)
          AND l.granted > u.used AND NOT l.wanted AND l.answered_at <= moment - quiet
        ORDER BY key, payer, node FOR UPDATE OF l
    )
    UPDATE lease l SET wanted = true FROM others o WHERE l.key = o.key AND l.payer = o.payer AND l.node = o.node;
    SELECT count(*) INTO waiting FROM lease l JOIN lease_used u USING (key, payer, node) JOIN node n USING (node)
      WHERE (key = ANY (named) OR payer <> '' AND ${payersColumn('payer')} && named) AND NOT (key = the_key AND payer = the_payer AND node = the_node)
        AND l.wanted AND l.granted > u.used AND n.expires_at > moment;
    IF waiting > 0 THEN hold := NULL; END IF;
  END IF;
  IF hold IS NOT NULL THEN
    granted := greatest(0, hold - idle, least(greatest(hold - idle, 0) + more, div(free, 8)));
    IF granted > 0 THEN
      UPDATE balance_shard SET leased = leased + granted WHERE key = ANY (accounts) AND shard = 0;
      UPDATE lease l SET granted = l.granted + headgate_lease_levels.granted, answered_at = 0, turn = greatest(l.turn, the_turn), granted_at = moment
        WHERE l.key = the_key AND l.payer = the_payer AND l.node = the_node;
      IF NOT FOUND THEN
        INSERT INTO lease (key, payer, node, granted, wanted, answered_at, turn, granted_at)
          VALUES (the_key, the_payer, the_node, granted, false, 0, the_turn, moment);
        INSERT INTO lease_used (key, payer, node) VALUES (the_key, the_payer, the_node);
        -- A process that leases before its first pulse counts as lost until then.
        INSERT INTO node (node, label, expires_at) VALUES (the_node, '', moment) ON CONFLICT DO NOTHING;
      END IF;
    END IF;
  END IF;
  SELECT array_agg(greatest(f - granted, -${CAP})::bigint ORDER BY i) INTO lefts FROM unnest(frees) WITH ORDINALITY AS u (f, i);
END
$body$`

/**
 * Commits without a wait for the disk, which frees the locks, then waits for it with a record of the log behind the commit (PostgreSQL 15,
 * sections 9.27.6 and 30.4): whatever was written before that is on the disk, too. A crash in between takes back what its process has not
 * learned yet, and with it all that was built on it. As the last statements of a procedure, which has no settings of its own then.
 */
export const FREE_LOCKS_THEN_FLUSH = `
  PERFORM set_config('synchronous_commit', 'off', true);
  COMMIT;
  PERFORM set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'headgate', '');`

const GRANT_ARGUMENTS = `the_node text, the_key text, the_payer text, whole bigint, least_part bigint, idle bigint,
  more bigint, limits bigint[], resets text[]`
const GRANT_RESULTS = 'INOUT granted bigint, INOUT hold bigint, INOUT lefts bigint[], INOUT waiting bigint'

/** Grants as `headgate_lease_levels`, and holds no lock of the key while it waits for the disk: all processes of a key wait for it together. */
export const GRANT = `
CREATE OR REPLACE PROCEDURE headgate_grant_levels(${GRANT_ARGUMENTS}, levels bigint[], patient boolean, quiet bigint, the_turn bigint,
  ${GRANT_RESULTS}) LANGUAGE plpgsql AS $body$
BEGIN
  SELECT l.granted, l.hold, l.lefts, l.waiting INTO granted, hold, lefts, waiting
    FROM headgate_lease_levels(the_node, the_key, the_payer, whole, least_part, idle, more, limits, resets, levels, patient, quiet, the_turn) AS l;
  ${FREE_LOCKS_THEN_FLUSH}
END
$body$`

/** Called by programs of schema versions before 30, which know one payer: `issuers[i]` says that its spending counts. */
export const LEASE_ONE_PAYER = `
CREATE OR REPLACE FUNCTION headgate_lease(the_node text, the_key text, the_payer text, whole bigint, least_part bigint, idle bigint,
  more bigint, limits bigint[], resets text[], issuers boolean[], patient boolean, quiet bigint, the_turn bigint,
  OUT granted bigint, OUT hold bigint, OUT lefts bigint[], OUT waiting bigint) LANGUAGE plpgsql AS $body$
BEGIN
  SELECT l.granted, l.hold, l.lefts, l.waiting INTO granted, hold, lefts, waiting
    FROM headgate_lease_levels(the_node, the_key, the_payer, whole, least_part, idle, more, limits, resets,
      ARRAY(SELECT i.is_payer::int::bigint FROM unnest(issuers) WITH ORDINALITY AS i (is_payer, place) ORDER BY i.place), patient, quiet, the_turn) AS l;
END
$body$`

export const GRANT_ONE_PAYER = `
CREATE OR REPLACE PROCEDURE headgate_grant(${GRANT_ARGUMENTS}, issuers boolean[], patient boolean, quiet bigint, the_turn bigint,
  ${GRANT_RESULTS}) LANGUAGE plpgsql AS $body$
BEGIN
  SELECT l.granted, l.hold, l.lefts, l.waiting INTO granted, hold, lefts, waiting
    FROM headgate_lease(the_node, the_key, the_payer, whole, least_part, idle, more, limits, resets, issuers, patient, quiet, the_turn) AS l;
  ${FREE_LOCKS_THEN_FLUSH}
END
$body$`
