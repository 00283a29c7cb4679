/** The tables of docs/behaviour/ and the README about software of others that the tests do not start: each row names the tests that hold it. */
import type { BehaviourRow } from '../test/documents/behaviour-row.ts'
import { markdownTable } from './markdown-table.ts'
import { heldBy } from './model-server-tables.ts'

/** @param who the head of the first column. */
export function behaviourMarkdown(who: string, rows: readonly BehaviourRow[]): string {
  const hasSources = rows.some(({ source }) => source !== undefined)
  return markdownTable(
    [who, 'Version', 'Input', 'What it does', 'What headgate makes of it', 'Test', ...(hasSources ? ['Source'] : [])],
    rows.map((row) => [row.who, row.version, row.input, row.does, row.makes, heldBy(row.tests), ...(hasSources ? [row.source ?? ''] : [])]),
  )
}

/** Rows that say in few words where this gateway differs; tests hold each of them. */
export function differencesInShort(rows: readonly BehaviourRow[]): string {
  return markdownTable(
    ['Where there is', 'headgate', 'Another gateway, as documented or run'],
    rows.flatMap(({ inShort, makes, who, version, does }) =>
      inShort === undefined ? [] : [[inShort, makes, `${who} (${version}): ${does}`]],
    ),
  )
}
