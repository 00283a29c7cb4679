/** The table of the plugins that ship, in docs/plugins.md. */
import { type ShippedEntry, shippedPlugins } from '../plugins/registry.ts'

export function pluginsMarkdown(): string {
  const rows = Object.entries<ShippedEntry>(shippedPlugins).map(
    ([id, { acts, does, limits = '' }]) => `| \`${id}\` | ${acts} | ${does} | ${limits} |`,
  )
  return ['| Plugin | When it acts | What it does | Limits |', '| --- | --- | --- | --- |', ...rows].join('\n')
}
