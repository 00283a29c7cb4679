/** A catalogue file in the plain YAML that the fast reader of large catalogues takes (`machines/quick-yaml/quick-yaml.ts`). */
import type { Config } from '../../config/config.ts'

/** Files that begin like this may be written anew. */
export const FIRST_LINE = '# Written by `headgate models import`'

export function catalogText(head: string, models: Config['models']): string {
  const slugs = Object.keys(models).sort()
  const lines = slugs.flatMap((slug) => {
    const { endpoints, ...facts } = { ...models[slug] }
    const settings = Object.entries(facts).map(([name, value]) => `    ${name}: ${flow(value)}`)
    return [`  ${keyText(slug)}:`, ...settings, '    endpoints:', ...(endpoints ?? []).map((endpoint) => `      - ${flow(endpoint)}`)]
  })
  return `${FIRST_LINE} ${head}.\n# The next import writes this file anew: it keeps what it does not know, such as scores, but no comments.\nmodels:\n${lines.join('\n')}\n`
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [`${keyText(key)}: ${flow(member)}`]))
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
  }
  return typeof value === 'string' ? text(value) : String(value)
}

/** A word that YAML reads as the same text. */
const PLAIN = /^[A-Za-z][A-Za-z0-9_-]*$/
const NOT_TEXT = /^(?:null|true|false|yes|no|on|off|y|n)$/i

function keyText(key: string): string {
  return PLAIN.test(key) ? key : JSON.stringify(key)
}

/** Names of lists are plain text; what would need an escape is left out of a name. */
function text(value: string): string {
  return PLAIN.test(value) && !NOT_TEXT.test(value) ? value : JSON.stringify(value)
}
