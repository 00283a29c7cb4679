/** The grant of a lease, as a function of the database: see `functions.ts` for the order of its locks. */

/** The most that a number of JavaScript holds exactly. */
const CAP = Number.MAX_SAFE_INTEGER

/**
 * Reads what is left under all allowances at once, and in the same step how much the request may hold of it, by the rule of
 * \`holdWithin\`; then grants what its hold needs beyond \`idle\`, the part of the process's lease that no request uses.
 * Up to an eighth of what is free is granted on top where \`more\` requests it, so that many processes share what is left.
 * Where the hold does not fit, or would be shortened and the process is \`patient\`, other leases on the same accounts are
 * called back, if that could help at all: those of processes that are alive, and that have not answered within the last
 * \`quiet\` milliseconds. Of allowance number i, \`limits[i]\` and \`resets[i]\` are the bound and its window, and \`issuers[i]\` says
 * that the spending of the payer counts, not that of the key. \`lefts[i]\` is what it leaves after the grant, below 0 where it
 * is overspent.
 */
export const LEASE = `
CREATE OR REPLACE FUNCTION headgate_lease(the_node text, the_key text, the_payer text, whole bigint, least_part bigint, idle bigint,
  more bigint, limits bigint[], resets text[], issuers boolean[], patient boolean, quiet bigint, the_turn bigint,
  OUT granted bigint, OUT hold bigint, OUT lefts bigint[], OUT waiting bigint) LANGUAGE plpgsql AS $body$
DECLARE
  accounts text[] := array_remove(ARRAY[the_key, the_payer], '');
  named text[] := '{}';
  frees numeric[] := '{}';
  free numeric := NULL;
  reachable numeric := NULL;
  moment bigint;
  counted numeric;
  b balance%ROWTYPE;
BEGIN
  PERFORM headgate_lock(accounts);
  moment := headgate_now();
  FOR i IN 1 .. cardinality(limits) LOOP
    SELECT * INTO b FROM balance WHERE key = CASE WHEN issuers[i] THEN the_payer ELSE the_key END;
    counted := CASE
      WHEN resets[i] IS NULL THEN b.spent
      WHEN resets[i] = 'daily' THEN CASE WHEN b.day >= headgate_window('daily', moment) THEN b.daily ELSE 0 END
      WHEN resets[i] = 'weekly' THEN CASE WHEN b.week >= headgate_window('weekly', moment) THEN b.weekly ELSE 0 END
      ELSE CASE WHEN b.month >= headgate_window('monthly', moment) THEN b.monthly ELSE 0 END
    END;
    frees := frees || (limits[i] - counted - b.leased);
    free := least(free, limits[i] - counted - b.leased);
    reachable := least(reachable, limits[i] - counted);
    named := named || b.key;
  END LOOP;
  granted := 0;
  waiting := 0;
  hold := CASE
    WHEN 2 * whole <= free + idle THEN whole
    WHEN least_part <= free + idle THEN least(free + idle, greatest(div(free + idle, 2), least_part))
  END;
  IF hold IS NULL AND reachable >= least_part OR hold < whole AND patient THEN
    UPDATE lease SET wanted = true
      WHERE (key = ANY (named) OR payer = ANY (named)) AND NOT (key = the_key AND payer = the_payer AND node = the_node)
        AND amount > 0 AND NOT wanted AND answered_at <= moment - quiet;
    SELECT count(*) INTO waiting FROM lease JOIN node USING (node)
      WHERE (key = ANY (named) OR payer = ANY (named)) AND NOT (key = the_key AND payer = the_payer AND node = the_node)
        AND wanted AND amount > 0 AND expires_at > moment;
    IF waiting > 0 THEN hold := NULL; END IF;
  END IF;
  IF hold IS NOT NULL THEN
    granted := greatest(0, hold - idle, least(greatest(hold - idle, 0) + more, div(free, 8)));
    IF granted > 0 THEN
      UPDATE balance SET leased = leased + granted WHERE key = ANY (accounts);
      INSERT INTO lease (key, payer, node, amount, wanted, answered_at, turn, granted_at)
        VALUES (the_key, the_payer, the_node, granted, false, 0, the_turn, moment)
        ON CONFLICT (key, payer, node) DO UPDATE SET amount = lease.amount + excluded.amount, answered_at = 0,
          turn = greatest(lease.turn, excluded.turn), granted_at = excluded.granted_at;
      -- A process that leases before its first pulse counts as lost until then.
      INSERT INTO node (node, label, expires_at) VALUES (the_node, '', moment) ON CONFLICT DO NOTHING;
    END IF;
  END IF;
  SELECT array_agg(greatest(f - granted, -${CAP})::bigint ORDER BY i) INTO lefts FROM unnest(frees) WITH ORDINALITY AS u (f, i);
END
$body$`
