/** Generations that a process forwards, as a function of the database: see `functions.ts` for the order of its locks. */
import { COUNT_VERSIONS, columnsUpTo } from '../../core/ledger-counts.ts'
import { payersColumn } from '../../core/payers.ts'
import { MAY_HAVE_LOST, NOTE_LOSSES } from './entry-function.ts'
import { NOTE_LATE } from './reader-functions.ts'
import { addUse, HOLD_WATERMARK } from './rollup-functions.ts'
import { addSessions } from './session-functions.ts'
import { takeName } from './tables.ts'

/**
 * Shards of a balance for forwarded rows; each is locked until its batch is on the disk, and a key has only those that its processes use. With
 * 16, of which 64 processes share each in fours, 1,550 batches a second waited for each other most of the time (decision 36).
 */
const SHARDS = 64

const LATE = '(seq, tag) IN (SELECT r.seq, r.tag FROM unnest(late_seqs, late_tags) AS r (seq, tag))'

/** Beginning and sum of a window once the cost of one day is added, which falls into the window that begins with `the_…`. */
const windowAfter = (window: string, sum: string): string =>
  `${window} = greatest(b.${window}, the_${window}), ${sum} = CASE WHEN the_${window} > b.${window} THEN fresh_costs[i]
          WHEN the_${window} = b.${window} OR the_${window} >= this_${window} THEN b.${sum} + fresh_costs[i] ELSE b.${sum} END`

/** Never after now, and never before the lease that it was paid from was last granted. */
const CHARGED_AT = 'CASE WHEN said > moment THEN moment WHEN said < granted_at THEN least(granted_at, moment) ELSE at END'

/** Folded as the first ones were written: a database that was upgraded has the text of a new one. */
function folded(statement: string): string {
  const lines = ['   ']
  for (const word of statement.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length > LINE) lines.push(`      ${word}`)
    else lines[lines.length - 1] = line
  }
  return lines.join('\n').trimStart()
}
const LINE = 134

/**
 * Writes what is new of a batch, adds its cost to the balances of key and payer and takes it out of the process's leases. Rows come
 * first and the balances last, so that a balance is locked for no longer than its change and the commit take. Each lease and each balance is
 * changed by its primary key in a statement of its own: most batches have few keys, and one statement over all takes longer to prepare than
 * these to run.
 * The moment of a charge is clamped: it is never after now, and never before the lease that it was paid from was last
 * granted. So a process whose clock is wrong can neither open a window early nor charge one that has ended.
 * Where now is before the open windows, the database's own clock went back: charges count in the windows that are open.
 */
function take(name: string, counts: readonly string[]): string {
  const columns = `seq, tag, key, payer, model, endpoint, hold, floor, status, cost, ${counts.join(', ')}, estimated, facts, at`
  const arrays = counts.map((count) => `${count}s`).join(', ')
  return `
CREATE OR REPLACE FUNCTION ${name}(the_node text, seqs bigint[], tags text[], keys text[], payers text[], models text[],
  endpoints text[], holds bigint[], floors bigint[], states text[], costs bigint[], ${counts.map((count) => `${count}s bigint[]`).join(', ')},
  estimates boolean[], facts_texts text[], ats bigint[])
  RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  moment bigint;
  below bigint;
  sessions_below bigint;
  passed bigint;
  late_seqs bigint[];
  late_tags text[];
  lost_seqs bigint[];
  lost_tags text[];
  the_shard bigint := 1 + (hashtext(the_node)::bigint & ${SHARDS - 1});
  fresh_keys text[];
  fresh_payers text[];
  fresh_days bigint[];
  fresh_costs numeric[];
  total numeric;
  alike boolean;
  paid numeric[] := '{}';
  accounts text[];
  issued_of numeric[];
  moved numeric;
  done text;
  the_day bigint;
  the_week bigint;
  the_month bigint;
  this_day bigint;
  this_week bigint;
  this_month bigint;
BEGIN
  -- What is done survives a crash of the server; a setting of the session may be another's behind a pooler.
  done := set_config('synchronous_commit', 'on', true);
  PERFORM ${HOLD_WATERMARK};
  SELECT u.seq, s.seq, (SELECT max(r.reaching) FROM ledger_reader r), headgate_now() INTO below, sessions_below, passed, moment
    FROM use_below u, session_below s;
  passed := greatest(passed, below, sessions_below);
  WITH given AS (
    SELECT r.*, CASE WHEN r.at > 0 THEN r.at ELSE r.seq / 4096 END AS said, coalesce(l.granted_at, 0) AS granted_at
    ${folded(`FROM unnest(seqs, tags, keys, payers, models, endpoints, holds, floors, states, costs, ${arrays}, estimates, facts_texts, ats) AS r (${columns})`)}
    LEFT JOIN (lease l JOIN lease_used u USING (key, payer, node))
      ON l.key = r.key AND l.payer = r.payer AND l.node = the_node AND l.granted > u.used
  ), fresh AS (
    ${folded(`INSERT INTO generation (${columns})`)}
    ${folded(`SELECT ${columns.slice(0, -', at'.length)}, ${CHARGED_AT}`)}
    FROM given
    ORDER BY seq, tag
    ON CONFLICT DO NOTHING
    RETURNING seq, tag, key, payer, facts, cost, CASE WHEN at > 0 THEN at ELSE seq / 4096 END AS moment
  ), dated AS (
    SELECT f.*, headgate_window('daily', f.moment) AS day FROM fresh f
  )
  SELECT array_agg(key), array_agg(payer), array_agg(day), array_agg(cost), sum(cost),
    min(key) = max(key) AND min(payer) = max(payer) AND min(day) = max(day),
    array_agg(seq) FILTER (WHERE seq < passed), array_agg(tag) FILTER (WHERE seq < passed),
    array_agg(seq) FILTER (WHERE facts ${MAY_HAVE_LOST}), array_agg(tag) FILTER (WHERE facts ${MAY_HAVE_LOST})
    INTO fresh_keys, fresh_payers, fresh_days, fresh_costs, total, alike, late_seqs, late_tags, lost_seqs, lost_tags FROM dated;
  IF lost_seqs IS NOT NULL THEN
    ${NOTE_LOSSES};
  END IF;
  IF late_seqs IS NOT NULL THEN
    ${NOTE_LATE};
    ${addUse(`seq < below AND ${LATE}`)};
    ${addSessions(`seq < sessions_below AND ${LATE}`)};
  END IF;
  IF fresh_keys IS NULL THEN RETURN; END IF;
  IF alike THEN
    fresh_keys := fresh_keys[1:1];
    fresh_payers := fresh_payers[1:1];
    fresh_days := fresh_days[1:1];
    fresh_costs := ARRAY[total];
  ELSE
    SELECT array_agg(g.key), array_agg(g.payer), array_agg(g.day), array_agg(g.cost) INTO fresh_keys, fresh_payers, fresh_days, fresh_costs
      FROM (SELECT f.key, f.payer, f.day, sum(f.cost) AS cost FROM unnest(fresh_keys, fresh_payers, fresh_days, fresh_costs) AS f (key, payer, day, cost)
        GROUP BY f.key, f.payer, f.day ORDER BY f.key, f.payer, f.day) AS g;
  END IF;
  FOR i IN 1 .. cardinality(fresh_keys) LOOP
    SELECT least(l.granted - u.used, fresh_costs[i]) INTO moved FROM lease_used u JOIN lease l USING (key, payer, node)
      WHERE u.key = fresh_keys[i] AND u.payer = fresh_payers[i] AND u.node = the_node FOR UPDATE OF u;
    IF moved > 0 THEN
      UPDATE lease_used u SET used = u.used + moved WHERE u.key = fresh_keys[i] AND u.payer = fresh_payers[i] AND u.node = the_node;
      paid := paid || moved;
    ELSE
      paid := paid || 0::numeric;
    END IF;
  END LOOP;
  accounts := fresh_keys;
  issued_of := array_fill(0::numeric, ARRAY[cardinality(fresh_keys)]);
  -- In the order of the accounts, whether they are keys or payers.
  IF '' <> ANY (fresh_payers) THEN
    SELECT array_agg(g.account), array_agg(g.day), array_agg(g.cost), array_agg(g.issued), array_agg(g.paid)
      INTO accounts, fresh_days, fresh_costs, issued_of, paid
      FROM (SELECT a.account, f.day, sum(f.cost) AS cost, coalesce(sum(f.cost) FILTER (WHERE a.is_payer), 0) AS issued, sum(f.paid) AS paid
        FROM unnest(fresh_keys, fresh_payers, fresh_days, fresh_costs, paid) AS f (key, payer, day, cost, paid),
          LATERAL (SELECT f.key, false UNION ALL SELECT p.account, true FROM unnest(${payersColumn('f.payer')}) AS p (account)) AS a (account, is_payer)
        GROUP BY a.account, f.day ORDER BY a.account, f.day) AS g;
  END IF;
  moment := headgate_now();
  this_day := headgate_window('daily', moment);
  this_week := headgate_window('weekly', moment);
  this_month := headgate_window('monthly', moment);
  FOR i IN 1 .. cardinality(accounts) LOOP
    the_day := fresh_days[i];
    the_week := headgate_window('weekly', the_day);
    the_month := headgate_window('monthly', the_day);
    LOOP
      UPDATE balance_shard b SET spent = b.spent + fresh_costs[i], issued = b.issued + issued_of[i], leased = b.leased - paid[i],
        ${windowAfter('day', 'daily')},
        ${windowAfter('week', 'weekly')},
        ${windowAfter('month', 'monthly')}
      WHERE b.key = accounts[i] AND b.shard = the_shard;
      EXIT WHEN FOUND;
      INSERT INTO balance_shard (key, shard) VALUES (accounts[i], the_shard) ON CONFLICT DO NOTHING;
    END LOOP;
  END LOOP;
END
$body$`
}

/** A function for each version of the schema that has added counts: programs of versions before call their own. */
export const TAKE_TEXTS = [0, ...COUNT_VERSIONS].map((version) => take(`headgate_${takeName(version)}`, columnsUpTo(version)))
