/** Tables of the embedded store, and how a file of an older version becomes one of this one. Rows of the journal are appended under sequential integer keys and never changed. */

/** "HGAT": tells the file from any other SQLite database. */
export const APPLICATION_ID = 0x48474154
export const SCHEMA_VERSION = 2

export const CREATE = `
CREATE TABLE hold (
  seq INTEGER PRIMARY KEY,
  tag TEXT NOT NULL,
  key TEXT NOT NULL,
  model TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  hold INTEGER NOT NULL,
  floor INTEGER NOT NULL
) STRICT;
CREATE TABLE settlement (
  seq INTEGER PRIMARY KEY,
  status TEXT NOT NULL,
  cost INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  facts TEXT NOT NULL,
  at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE api_key (
  hash TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  credit_limit INTEGER,
  management INTEGER NOT NULL,
  disabled INTEGER NOT NULL,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  policy TEXT NOT NULL,
  identity TEXT NOT NULL DEFAULT '',
  limit_reset TEXT,
  include_byok INTEGER NOT NULL DEFAULT 0,
  creator TEXT
) STRICT, WITHOUT ROWID;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`

/**
 * Steps from each older version to the next, by the version that they start from; they run in one transaction.
 * 1: settlements learn their time, keys an identity of their own (their hash so far), the reset of their limit and who made them.
 */
export const MIGRATIONS: Readonly<Record<number, string>> = {
  1: `
ALTER TABLE settlement ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN identity TEXT NOT NULL DEFAULT '';
ALTER TABLE api_key ADD COLUMN limit_reset TEXT;
ALTER TABLE api_key ADD COLUMN include_byok INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN creator TEXT;
UPDATE api_key SET identity = hash;
PRAGMA user_version = 2;
`,
}
