/** Which files the embedded store takes for its own. */
import { SQLITE_MIGRATIONS } from './sqlite-schema.ts'

/** "HGAT": distinguishes the file from any other SQLite database. */
export const APPLICATION_ID = 0x48474154

/** The version of the file that this program works with. */
export const SCHEMA_VERSION = SQLITE_MIGRATIONS.length

/** The reason for which both stores refuse a schema that they cannot know. */
export function newerSchema(found: number): string {
  return `was written by a newer headgate: it has schema version ${found}, and this program knows versions up to ${SCHEMA_VERSION}`
}

const BEYOND = 'was migrated beyond this program'

/** Why a program that runs has to end: a later step of the schema has removed what it uses. */
export function needsNewer(least: number): string {
  return `${BEYOND}: it works with programs from schema version ${least} on, and this one has ${SCHEMA_VERSION}`
}

/** True for a text with `needsNewer` in it, also where it comes from another process. */
export const saysBeyond = (text: string): boolean => text.includes(BEYOND)
