/** Opens a tunnel through a proxy (RFC 9110 section 9.3.6): CONNECT, and its reply. */
import type { Socket } from 'node:net'
import { ConnectionFailure, phaseFailure } from './connection-failure.ts'

interface TunnelOptions {
  /** Value of `Proxy-Authorization`. */
  readonly credentials: string | undefined
  /** True once nothing waits for the tunnel any more. */
  readonly isOver: () => boolean
}

/** Bytes of the head of the proxy's reply. */
const LONGEST = 16 * 1024

/** @param done called once; without an error the socket is the provider's from then on. */
export function openTunnel(
  socket: Socket,
  { hostname, port }: { readonly hostname: string; readonly port: number },
  { credentials, isOver }: TunnelOptions,
  done: (error?: Error) => void,
): void {
  const host = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
  let text = ''
  const end = (error?: Error): void => {
    socket.off('data', read).off('end', ended).off('close', ended)
    if (!isOver()) done(error)
  }
  const ended = (): void =>
    end(phaseFailure('proxy', Object.assign(new Error('the proxy closed the connection'), { code: 'PROXY_CLOSED' })))
  function read(bytes: Buffer): void {
    text += bytes.toString('latin1')
    const head = text.indexOf('\r\n\r\n')
    if (head === -1) {
      if (text.length > LONGEST) end(new ConnectionFailure('proxy', 'PROXY_UNREADABLE'))
      return
    }
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(text)?.[1])
    if (!(status >= 200 && status <= 299)) end(new ConnectionFailure('proxy', statusProblem(status)))
    // The provider speaks only when it is spoken to: these bytes are not its own.
    else if (text.length > head + 4) end(new ConnectionFailure('proxy', 'PROXY_UNREADABLE'))
    else end()
  }
  socket.on('data', read).once('end', ended).once('close', ended)
  const authorization = credentials === undefined ? '' : `proxy-authorization: ${credentials}\r\n`
  socket.write(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n${authorization}\r\n`, 'latin1')
}

function statusProblem(status: number): string {
  if (Number.isNaN(status)) return 'PROXY_UNREADABLE'
  return status === 407 ? 'PROXY_AUTHENTICATION' : `PROXY_STATUS_${status}`
}
