/** Which addresses are public: IANA's special-purpose registries (RFC 6890 and its successors), and the metadata services of clouds. */
import { BlockList, isIP } from 'node:net'

function ranges(list: readonly string[]): BlockList {
  const made = new BlockList()
  for (const one of list) addRange(made, one)
  return made
}

/** @throws where the text is neither an address nor a range. */
export function addRange(list: BlockList, text: string): void {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix)
  if (family === 0 || rest.length > 0 || prefix === '' || address.includes('%')) throw new Error(`${text} is no address range`)
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
}

/** Private ranges, in which a host that the operator allows may be. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.0/8', '100.64.0.0/10', 'fc00::/7', '::1']

/** Metadata services of clouds, which hold credentials: an allowed name never opens them, only an allowed range. */
const SECRETS = ['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::/32', '100.100.100.200', '168.63.129.16', '192.0.0.192']

const SPECIAL = [
  '0.0.0.0/8',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Within global unicast: protocol assignments and Teredo, documentation, 6to4.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]

const neighbours = ranges(PRIVATE)
const secrets = ranges(SECRETS)
const refused = ranges([...PRIVATE, ...SECRETS, ...SPECIAL])
/** All that IANA has given out for the public so far; mapped, translated and local forms lie outside. */
const globalUnicast = ranges(['2000::/3'])

function within(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** @param address as written by a resolver or a socket; anything else is not public. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return false
  return (family === 4 || within(globalUnicast, address)) && !within(refused, address)
}

/** True for private addresses that hold no cloud's secrets. */
export function isNeighbour(address: string): boolean {
  return !address.includes('%') && within(neighbours, address) && !within(secrets, address)
}

export { within }
