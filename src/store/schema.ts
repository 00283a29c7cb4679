/** Tables of the embedded store. Rows of the journal are appended under sequential integer keys and never changed. */

/** "HGAT": tells the file from any other SQLite database. */
export const APPLICATION_ID = 0x48474154
export const SCHEMA_VERSION = 1

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
  facts TEXT NOT NULL
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
  policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`
