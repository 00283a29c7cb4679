/**
 * Use of keys that teams have brought, summed as generations are settled: by key, day of the admission, model, endpoint and provider. A trigger
 * of each database adds to the sums in the transaction that writes the row, so each generation counts once, and rows without such a key
 * are only looked at.
 */
import { columnJson } from './postgres/json-text.ts'
import { DAY_MS, TICKS } from './rows.ts'

/** `shard` keeps connections of PostgreSQL out of each other's way: each adds to rows of its own. Amounts are nano-dollars. */
export const BYOK_USE = {
  day: 'count',
  key: 'text',
  payer: 'text',
  model: 'text',
  endpoint: 'text',
  provider: 'text',
  shard: 'count',
  requests: 'count',
  upstream: 'count',
  counted: 'count',
} as const
const NAMES = ['day', 'key', 'payer', 'model', 'endpoint', 'provider', 'shard'] as const
export const BYOK_USE_KEY: readonly string[] = NAMES

/** In the facts of a settlement. In a text of the caller's its quotes would be escaped. */
const MARK = '"is_byok":true'
const COLUMNS = Object.keys(BYOK_USE).join(', ')
const ADDED = `on conflict (${NAMES.join(', ')}) do update set requests = byok_use.requests + 1,
    upstream = byok_use.upstream + excluded.upstream, counted = byok_use.counted + excluded.counted`

/** The statements that make the triggers. */
export const BYOK_TRIGGERS: Readonly<Record<'sqlite' | 'postgres', readonly string[]>> = {
  // In one line, as all statements of SQLite stand in their file.
  sqlite: [
    `create trigger byok_use_added after insert on settlement when instr(new.facts, '${MARK}') > 0 begin
  insert into byok_use (${COLUMNS})
    select hold.seq / ${TICKS} / ${DAY_MS}, key, payer, ifnull(json_extract(new.facts, '$.model'), model),
      ifnull(json_extract(new.facts, '$.endpoint'), endpoint), ifnull(json_extract(new.facts, '$.provider'), ''), 0, 1,
      ifnull(json_extract(new.facts, '$.byok_nano'), 0), ifnull(json_extract(new.facts, '$.byok_counted_nano'), 0)
    from hold where hold.seq = new.seq
    ${ADDED}; end`.replaceAll(/\s+/g, ' '),
  ],
  postgres: [
    `create or replace function headgate_byok_use() returns trigger language plpgsql as $body$
declare
  the_facts json := ${columnJson('new.facts')};
begin
  insert into byok_use (${COLUMNS}) values (new.seq / ${TICKS} / ${DAY_MS}, new.key, new.payer, coalesce(the_facts ->> 'model', new.model),
    coalesce(the_facts ->> 'endpoint', new.endpoint), coalesce(the_facts ->> 'provider', ''), pg_backend_pid(), 1,
    coalesce((the_facts ->> 'byok_nano')::bigint, 0), coalesce((the_facts ->> 'byok_counted_nano')::bigint, 0))
    ${ADDED};
  return null;
end $body$`,
    `create trigger byok_use_added after insert on generation for each row when (strpos(new.facts, '${MARK}') > 0)
  execute function headgate_byok_use()`,
  ],
}
