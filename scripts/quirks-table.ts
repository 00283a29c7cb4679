/** The table of quirks in docs/configuration/quirks.md, made from the tables of the dialects. */
import type { TSchema } from 'typebox'
import { QUIRKS } from '../src/dialects/quirks.ts'
import { markdownTable } from './markdown-table.ts'

type Quirk = TSchema & { description: string; type: string; enum?: readonly string[]; items?: Quirk; properties?: Record<string, TSchema> }

const TYPES: Readonly<Record<string, string>> = { boolean: '`true`, `false`', integer: 'a number', string: 'text' }

function values({ type, enum: words, items, properties }: Quirk): string {
  if (properties)
    return `an object of ${Object.keys(properties)
      .map((name) => `\`${name}\``)
      .join(', ')}`
  if (items) return items.enum ? `a list of ${values(items)}` : 'a list'
  return words ? words.map((value) => `\`${value}\``).join(', ') : (TYPES[type] ?? type)
}

/** One row for each quirk, and for each meaning where dialects differ. */
export function quirksMarkdown(): string {
  const rows = new Map<string, { name: string; quirk: Quirk; dialects: string[] }>()
  for (const [dialect, table] of QUIRKS) {
    for (const [name, quirk] of Object.entries(table) as [string, Quirk][]) {
      const key = JSON.stringify([name, quirk])
      const row = rows.get(key) ?? { name, quirk, dialects: [] }
      rows.set(key, row)
      row.dialects.push(`\`${dialect}\``)
    }
  }
  const sorted = [...rows.values()].sort((one, other) => one.name.localeCompare(other.name))
  return markdownTable(
    ['Quirk', 'Dialects that read it', 'Values', 'Meaning'],
    sorted.map(({ name, quirk, dialects }) => [`\`${name}\``, dialects.join(', '), values(quirk), quirk.description]),
  )
}
