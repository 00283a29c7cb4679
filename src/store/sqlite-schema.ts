/**
 * The statements that lead SQLite from each version to the next, written by `npm run generate` from `migrations.ts`:
 * so the embedded store migrates at once and without the builder of these statements.
 */
export const SQLITE_MIGRATIONS: readonly (readonly string[])[] = [
  [
    'create table "hold" ("seq" integer not null, "tag" text not null, "key" text not null, "model" text not null, "endpoint" text not null, "hold" integer not null, "floor" integer not null, constraint "hold_pkey" primary key ("seq")) strict',
    'create table "settlement" ("seq" integer not null, "status" text not null, "cost" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "estimated" integer not null, "facts" text not null, constraint "settlement_pkey" primary key ("seq")) strict',
    'create table "api_key" ("hash" text not null, "name" text not null, "label" text not null, "credit_limit" integer, "management" integer not null, "disabled" integer not null, "expires_at" integer, "created_at" integer not null, "updated_at" integer not null, "policy" text not null, constraint "api_key_pkey" primary key ("hash")) strict, without rowid',
  ],
  [
    'alter table "settlement" add column "at" integer default 0 not null',
    'alter table "api_key" add column "identity" text default \'\' not null',
    'alter table "api_key" add column "limit_reset" text',
    'alter table "api_key" add column "include_byok" integer default 0 not null',
    'alter table "api_key" add column "creator" text',
    'update api_key set identity = hash',
  ],
  [
    'create table "carried" ("key" text not null, "day" integer not null, "count" integer not null, "cost" integer not null, constraint "carried_pkey" primary key ("key", "day")) strict, without rowid',
  ],
  [
    'create table "guardrail" ("id" text not null, "version" integer not null, "name" text not null, "fields" text not null, "created_at" integer not null, "updated_at" integer, constraint "guardrail_pkey" primary key ("id")) strict, without rowid',
    'create table "guardrail_assignment" ("kind" text not null, "subject" text not null, "guardrail" text not null, "id" text not null, "assigned_by" text, "created_at" integer not null, constraint "guardrail_assignment_pkey" primary key ("kind", "subject")) strict, without rowid',
    'create table "guardrail_audit" ("at" integer not null, "id" text not null, "generation" text not null, "key" text not null, "guardrail" text not null, "name" text not null, "direction" text not null, "stage" text not null, "action" text not null, "detail" text not null, constraint "guardrail_audit_pkey" primary key ("at", "id")) strict, without rowid',
    'create table "secret" ("name" text not null, "value" text not null, constraint "secret_pkey" primary key ("name")) strict, without rowid',
  ],
  [],
  [
    'alter table "hold" add column "payer" text default \'\' not null',
    'create table "carried_by_payer" ("key" text not null, "payer" text not null, "day" integer not null, "count" integer not null, "dollars" integer not null, "nano" integer not null, constraint "carried_by_payer_pkey" primary key ("key", "payer", "day")) strict, without rowid',
    'insert into "carried_by_payer" select key, \'\', day, count, cost / 1000000000, cost % 1000000000 from carried',
    'drop table carried',
    'alter table carried_by_payer rename to carried',
  ],
  [
    'create table "charged" ("key" text not null, "payer" text not null, "day" integer not null, "count" integer not null, "dollars" integer not null, "nano" integer not null, constraint "charged_pkey" primary key ("key", "payer", "day")) strict, without rowid',
    'insert into "charged" select key, payer, iif(at > 0, at, seq / 4096) / 86400000 as day, count(*), sum(cost / 1000000000) + sum(cost % 1000000000) / 1000000000, sum(cost % 1000000000) % 1000000000 from hold join settlement using (seq) group by key, payer, day',
  ],
  [
    'alter table "api_key" add column "issuer" text',
    'update "api_key" set "issuer" = json_extract(policy, \'$.consent.by\') where policy like \'%consent%\'',
    'create index api_key_issuer on api_key (issuer, expires_at) where issuer is not null',
  ],
  [],
  [
    'create table "charged_below" ("seq" integer not null, constraint "charged_below_pkey" primary key ("seq")) strict',
    'insert into charged_below select ifnull(max(seq), 0) + 1 from hold',
  ],
  [
    'create table "compaction_key" ("number" integer not null, "value" text not null, "created_at" integer not null, constraint "compaction_key_pkey" primary key ("number")) strict',
  ],
  [
    'create table "use_by_hour" ("hour" integer not null, "model" text not null, "endpoint" text not null, "provider" text not null, "status" text not null, "count" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_hour_pkey" primary key ("hour", "model", "endpoint", "provider", "status")) strict, without rowid',
    'create table "use_by_key" ("day" integer not null, "key" text not null, "model" text not null, "endpoint" text not null, "provider" text not null, "status" text not null, "count" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_key_pkey" primary key ("day", "key", "model", "endpoint", "provider", "status")) strict, without rowid',
    'create table "use_below" ("seq" integer not null, constraint "use_below_pkey" primary key ("seq")) strict',
    'insert into use_below values (0)',
  ],
  [
    'create table "event" ("number" integer not null, "id" text not null, "type" text not null, "at" integer not null, "once" text, "subject" text not null, "fields" text not null, constraint "event_pkey" primary key ("number")) strict',
    'create unique index event_id on event (id)',
    'create unique index event_once on event (once) where once is not null',
    'create table "event_delivery" ("receiver" text not null, "event" integer not null, "state" text not null, "attempts" integer not null, "first_at" integer not null, "due_at" integer not null, "claimed_until" integer not null, "status" integer, "problem" text, "updated_at" integer not null, constraint "event_delivery_pkey" primary key ("receiver", "event")) strict, without rowid',
    'create index event_delivery_due on event_delivery (receiver, state, due_at)',
    'create index event_delivery_event on event_delivery (event)',
    'create table "event_receiver" ("name" text not null, "next" integer not null, "disabled_at" integer, constraint "event_receiver_pkey" primary key ("name")) strict, without rowid',
  ],
  [
    'create table "key_minute" ("key" text not null, "minute" integer not null, constraint "key_minute_pkey" primary key ("key", "minute")) strict, without rowid',
    'insert into key_minute select distinct key, seq / 4096 / 60000 from hold',
    "create index settlement_ending on settlement (status) where status <> 'completed'",
    "create index settlement_session on settlement (facts ->> '$.session_id') where instr(facts, '\"session_id\":\"') > 0 and json_valid(facts)",
  ],
  [
    'create table "ledger_reader" ("name" text not null, "below" integer not null, "reaching" integer not null, "batch" integer not null, "begun_at" integer not null, "holder" text not null, "held_until" integer not null, "seen_at" integer not null, "note" text not null, constraint "ledger_reader_pkey" primary key ("name")) strict, without rowid',
    'create table "ledger_reader_late" ("reader" text not null, "seq" integer not null, "tag" text not null, "batch" integer not null, constraint "ledger_reader_late_pkey" primary key ("reader", "seq", "tag")) strict, without rowid',
  ],
  [
    'create table "session_use" ("hour" integer not null, "key" text not null, "session" text not null, "models" text not null, "count" integer not null, "failed" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, "first" integer not null, "last" integer not null, constraint "session_use_pkey" primary key ("hour", "key", "session")) strict, without rowid',
    'create table "session_below" ("hour" integer not null, constraint "session_below_pkey" primary key ("hour")) strict',
    'insert into session_below values (0)',
  ],
  [
    'create table "use_by_day" ("day" integer not null, "model" text not null, "endpoint" text not null, "provider" text not null, "status" text not null, "count" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_day_pkey" primary key ("day", "model", "endpoint", "provider", "status")) strict, without rowid',
    'create table "use_by_key_model" ("day" integer not null, "key" text not null, "model" text not null, "count" integer not null, "failed" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_key_model_pkey" primary key ("day", "key", "model")) strict, without rowid',
    'create table "use_by_key_provider" ("day" integer not null, "key" text not null, "provider" text not null, "count" integer not null, "failed" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_key_provider_pkey" primary key ("day", "key", "provider")) strict, without rowid',
    'create table "use_closed" ("day" integer not null, "key" text not null, constraint "use_closed_pkey" primary key ("day")) strict',
    "insert into use_closed values (0, '')",
  ],
  [
    'create table "use_by_key_both" ("day" integer not null, "key" text not null, "model" text not null, "provider" text not null, "count" integer not null, "failed" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_key_both_pkey" primary key ("day", "key", "model", "provider")) strict, without rowid',
    'create table "use_by_key_running" ("day" integer not null, "key" text not null, "model" text not null, "provider" text not null, "count" integer not null, "failed" integer not null, "dollars" integer not null, "nano" integer not null, "input" integer not null, "output" integer not null, "cached" integer not null, "cache_write" integer not null, "reasoning" integer not null, "saved" real not null, constraint "use_by_key_running_pkey" primary key ("day", "key", "model", "provider")) strict, without rowid',
    'delete from use_by_day',
    'delete from use_by_key_model',
    'delete from use_by_key_provider',
    "update use_closed set day = 0, key = ''",
  ],
  [
    'create table "settled_below" ("seq" integer not null, constraint "settled_below_pkey" primary key ("seq")) strict',
    'insert into settled_below values (0)',
  ],
  [
    'create table "reader_sum" ("reader" text not null, "batch" integer not null, "account" text not null, "sums" text not null, constraint "reader_sum_pkey" primary key ("reader", "batch", "account")) strict, without rowid',
    'create table "carried_unread" ("key" text not null, "payer" text not null, "dollars" integer not null, "nano" integer not null, constraint "carried_unread_pkey" primary key ("key", "payer")) strict, without rowid',
    'create table "carried_folded" ("day" integer not null, "key" text not null, constraint "carried_folded_pkey" primary key ("day")) strict',
    "insert into carried_folded values (0, '')",
  ],
  [
    'create table "ledger_entry" ("number" integer not null, "id" text not null, "at" integer not null, "key" text not null, "payer" text not null, "seq" integer not null, "tag" text not null, "model" text not null, "provider" text not null, "kind" text not null, "amount" integer not null, "counted_at" integer not null, "settles" text, "actor" text not null, "reason" text not null, "once" text, constraint "ledger_entry_pkey" primary key ("number")) strict',
    'create unique index ledger_entry_id on ledger_entry (id)',
    'create unique index ledger_entry_once on ledger_entry (once) where once is not null',
    'create index ledger_entry_settles on ledger_entry (settles) where settles is not null',
    'create index ledger_entry_counted on ledger_entry (counted_at) where counted_at > 0',
    'create index ledger_entry_key on ledger_entry (key, number)',
  ],
  [],
  [],
  [
    'create table "refusal" ("at" integer not null, "id" text not null, "key" text not null, "reason" text not null, "detail" text not null, constraint "refusal_pkey" primary key ("at", "id")) strict, without rowid',
    'create index refusal_key on refusal (key, at, id)',
    'create index refusal_reason on refusal (reason, at, id)',
  ],
  [],
  [
    'create table "given_id" ("id" text not null, "owner" text not null, "until" integer not null, constraint "given_id_pkey" primary key ("id")) strict, without rowid',
    'create index given_id_until on given_id (until)',
  ],
]
