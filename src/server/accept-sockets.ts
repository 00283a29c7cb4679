/**
 * Further sockets on the address of a listener, all of this process. libuv takes one connection of a socket in each turn of the event
 * loop (uv__server_io of src/unix/stream.c, 1.51): under load, when turns are long, connections would wait for seconds to be taken,
 * whatever the process could do for their requests. The system deals connections out among the sockets (SO_REUSEPORT).
 */
import type { Server } from 'node:http'
import { createServer, type Server as SocketServer } from 'node:net'

/** Sockets beside the listener's own. */
const FURTHER = 15

/** What they accept is the server's, and they close with it. @throws the system's error; then none is left. */
export async function acceptFurther(server: Server, address: { host: string; port: number; backlog: number }): Promise<void> {
  const sockets = Array.from({ length: FURTHER }, () =>
    createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      Object.assign(socket, { server })
      server.emit('connection', socket)
    }),
  )
  const close = server.close.bind(server)
  server.close = (done) => {
    const ends = sockets.filter(({ listening }) => listening).map(closed)
    return close((error) => void Promise.all(ends).then(() => done?.(error)))
  }
  try {
    await Promise.all(sockets.map((socket) => listening(socket, address)))
  } catch (thrown) {
    await Promise.all(sockets.filter((socket) => socket.listening).map(closed))
    throw thrown
  }
}

function listening(socket: SocketServer, address: { host: string; port: number; backlog: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.listen({ ...address, reusePort: true, exclusive: true }, () => {
      socket.off('error', reject)
      resolve()
    })
  })
}

const closed = (socket: SocketServer): Promise<void> => new Promise((resolve) => socket.close(() => resolve()))
