/** Queries of engines that take only a text: domains become terms of the search language. */
import type { SearchQuery } from '../types.ts'

/** With more terms engines ignore the words of the query; the results are filtered again anyway. */
const MAX_DOMAINS = 8

/**
 * The query with its domains as `site:` terms.
 * @param most characters of the whole; words at the end of the query are left out.
 */
export function withSites({ text, allowed, excluded }: SearchQuery, most: number): string {
  const only = allowed.slice(0, MAX_DOMAINS).map((domain) => `site:${plain(domain)}`)
  const terms = [
    only.length > 1 ? `(${only.join(' OR ')})` : only.join(''),
    ...excluded.slice(0, MAX_DOMAINS).map((domain) => `-site:${plain(domain)}`),
  ]
  const sites = terms.filter((term) => term !== '').join(' ')
  if (sites === '' || sites.length > most / 2) return shortened(text, most)
  return `${shortened(text, most - sites.length - 1)} ${sites}`
}

/** A search term has no wildcard: `*.example.com` is found under `example.com`. */
function plain(domain: string): string {
  return domain
    .replace(/^https?:\/\//i, '')
    .replace(/^\*\./, '')
    .replace(/\/\*.*$|\/$/, '')
}

/** Cut at a word, in one line. @param most characters. */
export function shortened(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line.length <= most) return line
  const cut = line.slice(0, most)
  const space = cut.lastIndexOf(' ')
  return space > most / 2 ? cut.slice(0, space) : cut
}
