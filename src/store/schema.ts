/** Which files the embedded store takes for its own. */
import { SQLITE_MIGRATIONS } from './sqlite-schema.ts'

/** "HGAT": tells the file from any other SQLite database. */
export const APPLICATION_ID = 0x48474154

/** The version of the file that this program works with. */
export const SCHEMA_VERSION = SQLITE_MIGRATIONS.length
