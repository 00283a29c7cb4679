/** Quirks of providers and endpoints: their dialect must read them. */
import { QUIRKS } from '../dialects/quirks.ts'
import type { Path } from './problems.ts'
import type { RawProvider } from './schema/root.ts'
import type { Source } from './source.ts'

/** @param at the provider or endpoint. @param dialect undefined where it is not known. */
export function checkQuirks({ quirks = {} }: Pick<RawProvider, 'quirks'>, dialect: string | undefined, at: Path, source: Source): void {
  const table = dialect === undefined ? undefined : QUIRKS.get(dialect)
  if (table === undefined) return
  for (const [name, value] of Object.entries(quirks)) {
    const place = [...at, 'quirks', name]
    const quirk: { enum?: readonly unknown[] } | undefined = Object.hasOwn(table, name) ? table[name] : undefined
    if (!quirk)
      source.report(place, `the dialect ${dialect} does not read this quirk, expected one of: ${Object.keys(table).join(', ')}`, 'key')
    else if (quirk.enum && !quirk.enum.includes(value))
      source.report(place, `the dialect ${dialect} does not know "${value}", expected one of: ${quirk.enum.join(', ')}`)
  }
}
