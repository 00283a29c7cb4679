/** A name server that speaks to real resolvers: its own replies to queries for addresses, and silence where a test wants it. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/** Queries for an IPv4 address, by name. */
export type Queries = ReadonlyMap<string, number>

/** Addresses of a name; null where there is no such name, undefined for silence. @param family of the query. */
type Answer = (name: string, family: 4 | 6) => readonly string[] | null | undefined

const TYPES = new Map<number, 4 | 6>([
  [1, 4],
  [28, 6],
])

/** The 16 bytes of an IPv6 address, which may end in an IPv4 one. */
function bytesOf6(address: string): number[] {
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) =>
    [0, 2].map((at) => (Number(parts[at]) * 256 + Number(parts[at + 1])).toString(16)).join(':'),
  )
  const [front = [], back = []] = plain.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups = plain.includes('::') ? [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back] : front
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
}

/** A reply in the form of RFC 1035 section 4.1; those to queries of other types are empty. */
function reply(query: Buffer, answer: Answer): Buffer | undefined {
  const labels: string[] = []
  let at = 12
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size).toLowerCase())
    at += size + 1
  }
  const family = TYPES.get(query.readUInt16BE(at + 1))
  const addresses = family === undefined ? [] : answer(labels.join('.'), family)
  if (addresses === undefined) return undefined
  const records = (addresses ?? []).map((address) => {
    const bytes = family === 6 ? bytesOf6(address) : address.split('.').map(Number)
    return Buffer.from([0xc0, 12, 0, family === 6 ? 28 : 1, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes])
  })
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, addresses ? 0x80 : 0x83, 0, 1, 0, records.length, 0, 0, 0, 0])
  return Buffer.concat([head, query.subarray(12, at + 5), ...records])
}

/** @param port 0 for any. */
export async function serveNames(port: number, answer: Answer): Promise<Socket> {
  const server = createSocket('udp4')
  server.on('message', (query, { port: from, address }) => {
    const bytes = reply(query, answer)
    if (bytes) server.send(bytes, from, address)
  })
  server.bind(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/**
 * On port 53 of a network of its own: every name is 127.0.0.1, but for those that begin with `silent`, which get no reply; those that
 * begin with `flip` are 127.0.0.2 at first and 127.0.0.1 from then on.
 */
export async function startNameServer(): Promise<Queries> {
  const queries = new Map<string, number>()
  await serveNames(53, (name, family) => {
    const before = queries.get(name) ?? 0
    if (family === 4) queries.set(name, before + 1)
    if (name.startsWith('silent')) return undefined
    if (family === 6) return []
    return [name.startsWith('flip') && before === 0 ? '127.0.0.2' : '127.0.0.1']
  })
  return queries
}

/** Addresses of one family among some. */
export const ofFamily = (addresses: readonly string[], family: 4 | 6): string[] =>
  addresses.filter((address) => isIPv6(address) === (family === 6))

/** Arguments of bubblewrap for a network of its own, in which port 53 may be listened on. @param settings a resolv.conf that names 127.0.0.1. */
export function ownNetwork(settings: string): string[] {
  const room = ['--unshare-net', '--unshare-user', '--uid', '0', '--gid', '0', '--cap-add', 'ALL', '--dev-bind', '/', '/']
  return [...room, '--ro-bind', settings, '/etc/resolv.conf', '--die-with-parent']
}
