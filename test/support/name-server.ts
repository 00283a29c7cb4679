/** A name server on port 53 of a network of its own: every name is 127.0.0.1, but for those that begin with `silent`, which get no reply. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** Queries for an address, by name. */
export type Queries = ReadonlyMap<string, number>

/** Replies with 127.0.0.1 to queries for an IPv4 address, with nothing to others (RFC 1035 section 4.1). */
function answer(query: Buffer, queries: Map<string, number>): Buffer | undefined {
  const labels: string[] = []
  let at = 12
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size).toLowerCase())
    at += size + 1
  }
  const isAddress = query.readUInt16BE(at + 1) === 1
  const name = labels.join('.')
  if (isAddress) queries.set(name, (queries.get(name) ?? 0) + 1)
  if (name.startsWith('silent')) return undefined
  const question = query.subarray(12, at + 5)
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0])
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
  return Buffer.concat(isAddress ? [head, question, record] : [head, question])
}

export async function startNameServer(): Promise<Queries> {
  const queries = new Map<string, number>()
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    const reply = answer(query, queries)
    if (reply) server.send(reply, port, address)
  })
  server.bind(53, '127.0.0.1')
  await once(server, 'listening')
  return queries
}

/** Arguments of bubblewrap for a network of its own, in which port 53 may be listened on. @param settings a resolv.conf that names 127.0.0.1. */
export function ownNetwork(settings: string): string[] {
  const room = ['--unshare-net', '--unshare-user', '--uid', '0', '--gid', '0', '--cap-add', 'ALL', '--dev-bind', '/', '/']
  return [...room, '--ro-bind', settings, '/etc/resolv.conf', '--die-with-parent']
}
