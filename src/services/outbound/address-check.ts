/** What an address shows before anything is looked up. */
import { isIP } from 'node:net'
import { bareHost, type OutboundPolicy } from './policy.ts'
import { refused } from './refusals.ts'

const LONGEST = 8192
/** What browsers and servers read differently: white space, control characters, backslashes. */
const AMBIGUOUS = /[\p{Cc}\s\\]/u

/**
 * @param text absolute, or relative to `base` as redirects may be.
 * @throws Fault 400 saying what about the address is not allowed.
 */
export function checkAddress(text: string, policy: OutboundPolicy, base?: URL): URL {
  if (text.length > LONGEST) throw refused(`it is longer than ${LONGEST} characters`)
  if (AMBIGUOUS.test(text)) throw refused('it has white space, control characters or backslashes')
  const url = URL.parse(text, base?.href)
  if (!url) throw refused('it is no absolute URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused('only http and https are fetched')
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/*[^/?#]*@/i.test(text)) throw refused('it carries credentials')
  const host = bareHost(url.hostname)
  if (host === '') throw refused('it has no host')
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (!policy.allowsPort(host, port)) throw refused(`port ${port} is not allowed`)
  const reachable = isIP(host) ? policy.allowsAddress(host, host, port) : policy.allowsName(host, port)
  if (!reachable) throw refused('the host is not a public one')
  url.hash = ''
  return url
}
