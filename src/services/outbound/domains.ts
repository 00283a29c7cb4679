/** Lists of domains as callers write them: `example.com`, `*.example.com`, `example.com/blog`, and with `*` for one segment of a path. */
import { bareHost } from './policy.ts'

interface Rule {
  host: string
  /** Only names below the host. */
  below: boolean
  /** Segments of the path that a URL has to begin with; `*` stands for any one. */
  path: readonly string[]
}

/**
 * A rule for one or both lists; what is blocked is blocked even if it is allowed.
 * A domain covers its subdomains, label by label; `*.` in front covers these only.
 * @param lists absent or empty: no such list.
 * @throws Error naming the entry that is no domain.
 */
export function domainRules(lists: { allowed?: readonly string[]; blocked?: readonly string[] }): (url: URL) => boolean {
  const allowed = (lists.allowed ?? []).map(entryRule)
  const blocked = (lists.blocked ?? []).map(entryRule)
  return (url) => {
    const host = bareHost(url.hostname)
    const path = segments(url.pathname)
    const meets = (rule: Rule): boolean => covers(rule, host, path)
    return !blocked.some(meets) && (allowed.length === 0 || allowed.some(meets))
  }
}

function entryRule(entry: string): Rule {
  const plain = entry.trim().replace(/^https?:\/\//i, '')
  const below = plain.startsWith('*.')
  // The parser writes a name as URLs do: lower case, Punycode, no dots in paths.
  const url = /[\s\\@?#]|^[^/[]*:/.test(plain) ? null : URL.parse(`http://${below ? plain.slice(2) : plain}`)
  if (url?.port !== '' || url.hostname.includes('*')) throw new Error(`${entry} is no domain`)
  return { host: bareHost(url.hostname), below, path: segments(url.pathname) }
}

function segments(pathname: string): string[] {
  return pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decoded)
}

/** `%62log` is `blog`: a rule for one holds for the other. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part).toLowerCase()
  } catch {
    return part.toLowerCase()
  }
}

function covers(rule: Rule, host: string, path: readonly string[]): boolean {
  const named = host === rule.host ? !rule.below : host.endsWith(`.${rule.host}`)
  return named && rule.path.every((part, i) => (part === '*' ? i < path.length : part === path[i]))
}
