/** A way to PostgreSQL that counts the prepared statements that pass, and can hold those of one name back. */
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface PostgresGate {
  /** Of the database, by this way. */
  readonly url: string
  /** Executions of a prepared statement that have come so far, held ones among them; `select key, spent - issued` for the sum over all keys. */
  count(statement: string): number
  /** From now on connections that execute this statement get no further. */
  hold(statement: string): void
  /** Lets all that was held go on. */
  release(): void
}

export async function gateTo(t: Pick<Test, 'teardown'>, url: string): Promise<PostgresGate> {
  const target = new URL(url)
  const port = Number(target.port)
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  let held: string | undefined
  let waiting: (() => void)[] = []
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    const late: Buffer[] = []
    let isHeld = false
    client.on('data', (chunk: Buffer) => {
      // Bind names a portal (the empty one) and then the statement, both with a zero byte at their end.
      // Parse of a statement without a name has its text there.
      for (const [, name = ''] of chunk.toString('latin1').matchAll(/\0(headgate_\w+|select key, spent - issued\b)(?=[\0 ])/g)) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
        if (name !== held || isHeld) continue
        isHeld = true
        waiting.push(() => {
          isHeld = false
          for (const each of late.splice(0)) upstream.write(each)
        })
      }
      if (isHeld) late.push(chunk)
      else upstream.write(chunk)
    })
    upstream.pipe(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  target.port = typeof address === 'object' && address ? String(address.port) : ''
  return {
    url: target.href,
    count: (statement) => counts.get(statement) ?? 0,
    hold: (statement) => {
      held = statement
    },
    release: () => {
      held = undefined
      const going = waiting
      waiting = []
      for (const go of going) go()
    },
  }
}
