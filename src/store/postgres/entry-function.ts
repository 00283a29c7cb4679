/** Entries of the ledger, as functions of the database: see `functions.ts` for the order of its locks. */

import { GATEWAY_ACTOR, LOSS_REASONS, LOSSES } from '../../core/ledger-entries.ts'
import { payersColumn } from '../../core/payers.ts'

const DAY = 86_400_000

const COLUMNS = 'id, at, key, payer, seq, tag, model, provider, kind, amount, counted_at, settles, actor, reason, once'

/** The amount that facts state; quotes within texts of them are escaped. */
const lost = (loss: string): string => `substring(f.facts FROM '"${loss}_nano":([0-9]{1,15})')::bigint`

/** Facts that may state a loss. */
export const MAY_HAVE_LOST = `LIKE '%ed_nano":%'`

/** Makes the entries of the generations that \`lost_seqs\` and \`lost_tags\` name, which are new. As a statement of a function. */
export const NOTE_LOSSES = `
    INSERT INTO ledger_entry (${COLUMNS})
    SELECT 'ent_' || left(k.kind, 1) || f.seq || '_' || f.tag, CASE WHEN f.at > 0 THEN f.at ELSE f.seq / 4096 END, f.key, f.payer, f.seq, f.tag,
      f.model, '', k.kind, k.amount, 0, NULL, '${GATEWAY_ACTOR}', k.reason, NULL
    FROM unnest(lost_seqs, lost_tags) AS r (seq, tag) JOIN generation f ON f.seq = r.seq AND f.tag = r.tag,
      LATERAL (VALUES ${LOSSES.map((loss) => `('${loss}', ${lost(loss)}, '${LOSS_REASONS[loss]}')`).join(', ')}) AS k (kind, amount, reason)
    WHERE k.amount > 0
    ON CONFLICT DO NOTHING`

/**
 * Adds an entry, and what it moves to the balances of its key and its payers, and to what was carried over, under the lock of all.
 * \`counted\` is the moment in whose windows it counts, 0 for the present one. @returns \`added\`, \`known\`, or why not.
 */
export const ENTER = `
CREATE OR REPLACE FUNCTION headgate_enter(the_id text, the_key text, the_payer text, the_seq bigint, the_tag text, the_model text,
  the_provider text, the_kind text, the_amount bigint, moved bigint, counted bigint, the_settles text, the_actor text, the_reason text,
  the_once text) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  payers text[] := ${payersColumn('the_payer')};
  moment bigint;
  at_moment bigint;
  the_day bigint;
  the_week bigint;
  the_month bigint;
  open_amount numeric;
  added integer;
BEGIN
  PERFORM headgate_lock(array_prepend(the_key, payers), 0);
  IF the_once IS NOT NULL AND EXISTS (SELECT 1 FROM ledger_entry e WHERE e.once = the_once) THEN RETURN 'known'; END IF;
  IF the_settles IS NOT NULL THEN
    PERFORM 1 FROM ledger_entry e WHERE e.id = the_settles FOR UPDATE;
    SELECT o.amount - coalesce((SELECT sum(e.amount) FROM ledger_entry e WHERE e.settles = o.id), 0) INTO open_amount
      FROM ledger_entry o WHERE o.id = the_settles;
    IF open_amount IS NULL THEN RETURN 'no_such_entry'; END IF;
    IF abs(the_amount) > open_amount THEN RETURN 'more_than_open'; END IF;
  END IF;
  IF moved < 0 AND EXISTS (SELECT 1 FROM balance b WHERE b.key = ANY (array_prepend(the_key, payers)) AND b.spent + moved < 0) THEN RETURN 'more_than_spent'; END IF;
  moment := headgate_now();
  at_moment := CASE WHEN moved = 0 THEN 0 WHEN counted > 0 THEN least(counted, moment) ELSE moment END;
  INSERT INTO ledger_entry (${COLUMNS})
    VALUES (the_id, moment, the_key, the_payer, the_seq, the_tag, the_model, the_provider, the_kind, the_amount, at_moment, the_settles,
      the_actor, the_reason, the_once)
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS added = ROW_COUNT;
  IF added = 0 THEN RETURN 'known'; END IF;
  IF moved <> 0 THEN
    the_day := headgate_window('daily', at_moment);
    the_week := headgate_window('weekly', at_moment);
    the_month := headgate_window('monthly', at_moment);
    UPDATE balance_shard b SET
      spent = b.spent + moved,
      issued = b.issued + CASE WHEN b.key = ANY (payers) THEN moved ELSE 0 END,
      day = greatest(b.day, the_day), daily = CASE WHEN the_day > b.day THEN moved WHEN the_day = b.day THEN b.daily + moved ELSE b.daily END,
      week = greatest(b.week, the_week),
      weekly = CASE WHEN the_week > b.week THEN moved WHEN the_week = b.week THEN b.weekly + moved ELSE b.weekly END,
      month = greatest(b.month, the_month),
      monthly = CASE WHEN the_month > b.month THEN moved WHEN the_month = b.month THEN b.monthly + moved ELSE b.monthly END
    WHERE b.shard = 0 AND (b.key = the_key OR b.key = ANY (payers));
    INSERT INTO carried (key, payer, day, count, cost) VALUES (the_key, the_payer, at_moment / ${DAY}, 0, moved)
      ON CONFLICT (key, payer, day) DO UPDATE SET cost = carried.cost + excluded.cost;
  END IF;
  RETURN 'added';
END
$body$`
