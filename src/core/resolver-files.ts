/**
 * Looks a name up without the system's resolver: in the hosts file, then by queries of our own to the name servers. Its sockets belong to
 * the event loop (c-ares), so a name server that is silent keeps no thread.
 */
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { type Address, nameSources } from './name-sources.ts'

const HOSTS = process.platform === 'win32' ? `${process.env.SystemRoot ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts` : '/etc/hosts'
const SETTINGS = '/etc/resolv.conf'

/** Milliseconds that one query may take, and how often it is sent. */
const QUERY = { timeout: 1_000, tries: 2 }

/** @returns the addresses of a name in the text of a hosts file (hosts(5)). */
export function hostsAddresses(text: string, host: string): Address[] {
  const wanted = host.toLowerCase().replace(/\.$/, '')
  const found: Address[] = []
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family !== 0 && names.some((name) => name.toLowerCase() === wanted)) found.push({ address, family })
  }
  return found
}

/** @returns the names that stand for this one, in the order in which they are queried, by the text of resolv.conf(5). */
export function searchNames(text: string, host: string): string[] {
  if (host.endsWith('.')) return [host.slice(0, -1)]
  let domains: string[] = []
  let dots = 1
  for (const line of text.split('\n')) {
    const [word, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (word === 'search' || word === 'domain') domains = values
    else if (word === 'options') {
      const given = values.map((value) => /^ndots:(\d{1,2})$/.exec(value)?.[1]).find((value) => value !== undefined)
      if (given !== undefined) dots = Number(given)
    }
  }
  const longer = domains.map((domain) => `${host}.${domain.replace(/\.$/, '')}`)
  return host.split('.').length - 1 >= dots ? [host, ...longer] : [...longer, host]
}

/** @returns none where the name is not known this way; what only the system's resolver knows, such as a name of mDNS, is not. */
export async function addressesByServers(host: string): Promise<readonly Address[]> {
  const [hosts, settings] = await Promise.all([HOSTS, SETTINGS].map((file) => readFile(file, 'utf8').catch(() => '')))
  const listed = hostsAddresses(hosts ?? '', host)
  if (listed.length > 0) return listed
  for (const name of searchNames(settings ?? '', host)) {
    const found = await nameSources.query(name, QUERY).catch(() => [])
    if (found.length > 0) return found
  }
  return []
}
