/** The steps of the schema up to version 25, for which all programs have to stop. They are shipped, so they never change, but for the functions: these are made as they are now. */
import { sql } from 'kysely'
import {
  ASSIGNMENT,
  AUDIT,
  BALANCE,
  CARRIED,
  CARRIED_BY_PAYER,
  CARRIED_UNREAD,
  CLOSED,
  COMPACTION_KEY,
  EVENT,
  EVENT_DELIVERY,
  EVENT_RECEIVER,
  GUARDRAIL,
  HOLD,
  KEY,
  KEY_CHANGE,
  KEY_MINUTE,
  LEASE,
  LEASE_USED,
  LEDGER_ENTRY,
  NODE,
  READER,
  READER_LATE,
  READER_SUM,
  REFUSAL,
  SECRET,
  SESSION_USE,
  SETTLEMENT,
  USE,
  USE_NAMES,
  USE_OF_KEY,
} from './columns.ts'
import { BALANCE_VIEW } from './postgres/balance-view.ts'
import { POSTGRES_FUNCTIONS } from './postgres/functions.ts'
import { columnJson } from './postgres/json-text.ts'
import type { Script } from './schema-script.ts'
import { HAS_SESSION, SESSION_OF } from './search-index.ts'

/** Rows that change all the time find room on their own page. */
const ROOMY = sql`with (fillfactor = 50)`

/** `FIRST_STEPS[n]` brings a database of version n to version n + 1; an empty one has version 0. */
export const FIRST_STEPS: readonly ((script: Script) => void)[] = [
  (script) => {
    if (script.database === 'sqlite') {
      // The journal appends a hold and its settlement at different times.
      script.table('hold', HOLD, ['seq'])
      script.table('settlement', { seq: 'count', ...SETTLEMENT }, ['seq'])
    } else {
      // Journals of several processes forward whole generations; two of them may have drawn the same sequence.
      script.table('generation', { ...HOLD, ...SETTLEMENT }, ['seq', 'tag'])
    }
    script.table('api_key', KEY, ['hash'])
  },
  // Settlements learn their time, keys an identity of their own (their hash so far), the reset of their limit, who made them.
  (script) => {
    script.column(script.database === 'sqlite' ? 'settlement' : 'generation', 'at', 'count', 0)
    script.column('api_key', 'identity', 'text', '')
    script.column('api_key', 'limit_reset', 'optional text')
    script.column('api_key', 'include_byok', 'flag', 0)
    script.column('api_key', 'creator', 'optional text')
    script.raw(sql`update api_key set identity = hash`)
  },
  // Old generations leave their sums; and what several processes need of a store that they share.
  (script) => {
    script.table('carried', CARRIED, ['key', 'day'])
    if (script.database === 'sqlite') return
    script.table('balance', BALANCE, ['key'], ROOMY)
    script.table('lease', LEASE, ['key', 'node'], ROOMY)
    script.raw(sql`create index lease_wanted on lease (node) where wanted`)
    script.table('node', NODE, ['node'], ROOMY)
    script.table('key_change', KEY_CHANGE, ['number'])
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Guardrails beside those of the file, whom they hold for, and what all of them found.
  (script) => {
    script.table('guardrail', GUARDRAIL, ['id'])
    script.table('guardrail_assignment', ASSIGNMENT, ['kind', 'subject'])
    script.table('guardrail_audit', AUDIT, ['at', 'id'])
    script.table('secret', SECRET, ['name'])
  },
  // Leases learn the turn of their last grant. Functions of other arguments would stand beside the new ones.
  (script) => {
    if (script.database === 'sqlite') return
    script.column('lease', 'turn', 'count', 0)
    script.raw(sql`drop function if exists headgate_lease(text, text, bigint, bigint, bigint, text, bigint, bigint)`)
    script.raw(sql`drop function if exists headgate_give_back(text, text, bigint, bigint)`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Rows name the key that issued theirs and pays with it, sums are exact beyond 2^63 nano-dollars, and the database's own
  // clock decides on windows and on the end of leases.
  (script) => {
    script.column(script.database === 'sqlite' ? 'hold' : 'generation', 'payer', 'text', '')
    if (script.database === 'sqlite') {
      script.table('carried_by_payer', CARRIED_BY_PAYER, ['key', 'payer', 'day'])
      script.raw(sql`insert into "carried_by_payer" select key, '', day, count, cost / 1000000000, cost % 1000000000 from carried`)
      script.raw(sql`drop table carried`)
      script.raw(sql`alter table carried_by_payer rename to carried`)
      return
    }
    script.column('carried', 'payer', 'text', '')
    script.raw(sql`alter table carried alter column cost type numeric,
      drop constraint carried_pkey, add constraint carried_pkey primary key (key, payer, day)`)
    script.raw(sql`alter table balance alter column spent type numeric, alter column leased type numeric,
      alter column daily type numeric, alter column weekly type numeric, alter column monthly type numeric,
      add column issued numeric not null default 0`)
    script.column('lease', 'payer', 'text', '')
    script.column('lease', 'granted_at', 'count', 0)
    script.raw(sql`alter table lease drop constraint lease_pkey, add constraint lease_pkey primary key (key, payer, node)`)
    script.raw(sql`create index lease_payer on lease (payer) where payer <> ''`)
    script.raw(sql`drop function if exists headgate_lease(text, text, bigint, bigint, bigint, text, bigint, bigint, bigint)`)
    script.raw(sql`drop function if exists headgate_give_back(text, text, bigint, bigint, bigint)`)
    script.raw(sql`drop function if exists headgate_take(text, bigint[], text[], text[], text[], text[], bigint[], bigint[],
      text[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], boolean[], text[], bigint[], bigint)`)
    script.raw(sql`drop function if exists headgate_forget_lost(bigint)`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // The embedded store keeps the sums of the generations that it has, as PostgreSQL has kept balances: nothing reads all rows.
  (script) => {
    if (script.database !== 'sqlite') return
    script.table('charged', CARRIED_BY_PAYER, ['key', 'payer', 'day'])
    const day = 'iif(at > 0, at, seq / 4096) / 86400000 as day'
    const sums = 'sum(cost / 1000000000) + sum(cost % 1000000000) / 1000000000, sum(cost % 1000000000) % 1000000000'
    const rows = 'hold join settlement using (seq) group by key, payer, day'
    script.raw(sql.raw(`insert into "charged" select key, payer, ${day}, count(*), ${sums} from ${rows}`))
  },
  // Keys issued through sign-in are found by the key that consented: nothing reads all keys for one of them.
  (script) => {
    script.column('api_key', 'issuer', 'optional text')
    const by = script.database === 'sqlite' ? "json_extract(policy, '$.consent.by')" : `${columnJson('policy')} -> 'consent' ->> 'by'`
    script.raw(sql.raw(`update "api_key" set "issuer" = ${by} where policy like '%consent%'`))
    script.raw(sql`create index api_key_issuer on api_key (issuer, expires_at) where issuer is not null`)
  },
  // A process that was suspended notices that its leases were set free: its row then has another number, at random.
  (script) => {
    if (script.database === 'sqlite') return
    script.column('node', 'life', 'count', 0)
    script.raw(sql`alter table node alter column life set default floor(random() * 9007199254740991)::bigint`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // The embedded store writes its sums seldom: they have the settlements below this watermark.
  (script) => {
    if (script.database !== 'sqlite') return
    script.table('charged_below', { seq: 'count' }, ['seq'])
    script.raw(sql`insert into charged_below select ifnull(max(seq), 0) + 1 from hold`)
  },
  // Compaction items are encrypted with keys that every process of a gateway knows; the first one is made on first use.
  (script) => {
    script.table('compaction_key', COMPACTION_KEY, ['number'])
  },
  // Sums of use by hour (since the epoch), and by day and key: they have the generations below a watermark, 0 at first.
  (script) => {
    script.table('use_by_hour', { hour: 'count', ...USE }, ['hour', ...USE_NAMES])
    script.table('use_by_key', { day: 'count', key: 'text', ...USE }, ['day', 'key', ...USE_NAMES])
    script.table('use_below', { seq: 'count' }, ['seq'])
    script.raw(sql`insert into use_below values (0)`)
    if (script.database === 'postgres') for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Events, and how far their receivers have them.
  (script) => {
    script.table('event', EVENT, ['number'])
    script.raw(sql`create unique index event_id on event (id)`)
    script.raw(sql`create unique index event_once on event (once) where once is not null`)
    script.table('event_delivery', EVENT_DELIVERY, ['receiver', 'event'])
    script.raw(sql`create index event_delivery_due on event_delivery (receiver, state, due_at)`)
    script.raw(sql`create index event_delivery_event on event_delivery (event)`)
    script.table('event_receiver', EVENT_RECEIVER, ['name'])
  },
  // Generations are searched by key, by session and by an ending that is not the usual one. In the embedded store an index of keys would
  // cost each request 6 microseconds: there the minutes in which a key was used are kept, and a search reads these.
  (script) => {
    if (script.database === 'sqlite') {
      script.table('key_minute', KEY_MINUTE, ['key', 'minute'])
      script.raw(sql`insert into key_minute select distinct key, seq / 4096 / 60000 from hold`)
      script.raw(sql`create index settlement_ending on settlement (status) where status <> 'completed'`)
      script.raw(sql.raw(`create index settlement_session on settlement (${SESSION_OF.sqlite}) where ${HAS_SESSION.sqlite}`))
      return
    }
    script.raw(sql`create index generation_key on generation (key, seq, tag)`)
    script.raw(sql`create index generation_ending on generation (status, seq, tag) where status <> 'completed'`)
    script.raw(sql.raw(`create index generation_session on generation ((${SESSION_OF.postgres}), seq, tag) where ${HAS_SESSION.postgres}`))
  },
  // Exports keep how far they have read, and miss nothing that is settled later.
  (script) => {
    script.table('ledger_reader', READER, ['name'], ROOMY)
    script.table('ledger_reader_late', READER_LATE, ['reader', 'seq', 'tag'])
    if (script.database === 'postgres') for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Sums by session and hour, filled in the background: the embedded store has the hours below one, PostgreSQL the generations below one.
  (script) => {
    script.table('session_use', SESSION_USE, ['hour', 'key', 'session'])
    script.table('session_below', script.database === 'sqlite' ? { hour: 'count' } : { seq: 'count' }, [
      script.database === 'sqlite' ? 'hour' : 'seq',
    ])
    script.raw(sql`insert into session_below values (0)`)
    if (script.database === 'sqlite') return
    // Retention steps over what it has deleted until a vacuum comes (docs/decisions/0024).
    script.raw(sql`alter table generation set (autovacuum_vacuum_scale_factor = 0.02)`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Coarser sums of the days that are over, filled in the background. On PostgreSQL a reader of the whole ledger finds its end at once.
  (script) => {
    script.table('use_by_day', { day: 'count', ...USE }, ['day', ...USE_NAMES])
    script.table('use_by_key_model', { day: 'count', key: 'text', model: 'text', ...USE_OF_KEY }, ['day', 'key', 'model'])
    script.table('use_by_key_provider', { day: 'count', key: 'text', provider: 'text', ...USE_OF_KEY }, ['day', 'key', 'provider'])
    script.table('use_closed', CLOSED, ['day'])
    script.raw(sql`insert into use_closed values (0, '')`)
    if (script.database === 'postgres') for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Of closed days sums by key, model and provider, and running sums by the same: all days are closed anew, in the background.
  (script) => {
    const names = { day: 'count', key: 'text', model: 'text', provider: 'text' } as const
    for (const table of ['use_by_key_both', 'use_by_key_running'])
      script.table(table, { ...names, ...USE_OF_KEY }, ['day', 'key', 'model', 'provider'])
    for (const table of ['use_by_day', 'use_by_key_model', 'use_by_key_provider']) script.raw(sql.raw(`delete from ${table}`))
    script.raw(sql`update use_closed set day = 0, key = ''`)
    if (script.database === 'postgres') for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // The embedded store knows below which sequence nothing is open: the first start after this step still looks through all holds.
  (script) => {
    if (script.database !== 'sqlite') return
    script.table('settled_below', { seq: 'count' }, ['seq'])
    script.raw(sql`insert into settled_below values (0)`)
  },
  // A check of the ledger keeps its sums account by account. Sums that were carried over become one per month, in the background: days before `day` are, and in the pass that goes on the keys up to `key`.
  (script) => {
    script.table('reader_sum', READER_SUM, ['reader', 'batch', 'account'])
    script.table('carried_unread', CARRIED_UNREAD, ['key', 'payer'])
    script.table('carried_folded', CLOSED, ['day'])
    script.raw(sql`insert into carried_folded values (0, '')`)
    if (script.database === 'sqlite') return
    // Windows that are ahead of now, and what was carried over of those that are open, are found without a look at all keys.
    script.raw(sql`create index balance_day on balance (day)`)
    script.raw(sql`create index carried_day on carried (day, key, payer)`)
    script.raw(sql`drop function if exists headgate_rebuild_windows(boolean)`)
    script.raw(sql`drop function if exists headgate_claim(text, text, bigint, bigint, bigint, bigint)`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Entries of the ledger beside its generations: what no key was charged for, and what an operator corrects.
  (script) => {
    script.table('ledger_entry', LEDGER_ENTRY, ['number'])
    script.raw(sql`create unique index ledger_entry_id on ledger_entry (id)`)
    script.raw(sql`create unique index ledger_entry_once on ledger_entry (once) where once is not null`)
    script.raw(sql`create index ledger_entry_settles on ledger_entry (settles) where settles is not null`)
    script.raw(sql`create index ledger_entry_counted on ledger_entry (counted_at) where counted_at > 0`)
    script.raw(sql`create index ledger_entry_key on ledger_entry (key, number)`)
    if (script.database === 'sqlite') return
    script.raw(sql`create sequence ledger_entry_number`)
    script.raw(sql`alter table ledger_entry alter column number set default nextval('ledger_entry_number')`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Balances are kept in shards, so that many processes forward what one key has spent without waiting for each other's commits.
  (script) => {
    if (script.database === 'sqlite') return
    script.raw(sql`alter table balance rename to balance_shard`)
    script.column('balance_shard', 'shard', 'count', 0)
    script.raw(sql`alter table balance_shard drop constraint balance_pkey, add primary key (key, shard)`)
    script.raw(sql.raw(BALANCE_VIEW))
    script.raw(sql`drop function if exists headgate_lock(text[])`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // What was used of a lease stands apart from what was granted, so that a grant does not wait for a batch of its own process.
  (script) => {
    if (script.database === 'sqlite') return
    script.table('lease_used', LEASE_USED, ['key', 'payer', 'node'], ROOMY)
    script.raw(sql`alter table lease_used alter column used type numeric`)
    script.raw(sql`alter table lease rename column amount to granted`)
    script.raw(sql`alter table lease alter column granted type numeric`)
    script.raw(sql`insert into lease_used (key, payer, node) select key, payer, node from lease`)
    script.raw(sql`create index lease_node on lease (node, key, payer)`)
    script.raw(sql`drop function if exists headgate_end_leases(text[])`)
    script.raw(sql`drop function if exists headgate_end_leases(text[], bigint)`)
    script.raw(sql`drop function if exists headgate_forget_lost(bigint)`)
    for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
  // Requests that the gateway has refused.
  (script) => {
    script.table('refusal', REFUSAL, ['at', 'id'])
    script.raw(sql`create index refusal_key on refusal (key, at, id)`)
    script.raw(sql`create index refusal_reason on refusal (reason, at, id)`)
  },
  // Balances have more shards: those that exist count on.
  (script) => {
    if (script.database === 'postgres') for (const text of POSTGRES_FUNCTIONS) script.raw(sql.raw(text))
  },
]
