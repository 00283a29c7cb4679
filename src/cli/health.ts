/** `headgate health`: for health checks in an image that has no other program. */
import { get } from 'node:http'
import { get as secureGet } from 'node:https'
import { isLocalHost } from '../core/transport.ts'
import { socketIn } from './admin-request.ts'

const ADMIN = 'http://127.0.0.1:8081'
/** Milliseconds. */
const TIMEOUT_MS = 2500

/** @param url of the admin listener, or `unix:` and the path of its socket. @returns the exit code: 0 where the process answers. */
export async function health(url = process.env.HEADGATE_ADMIN_URL || ADMIN): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<string>()
  try {
    const socketPath = socketIn(url)
    const address = new URL('/healthz', socketPath === undefined ? url : ADMIN)
    const isSecure = address.protocol === 'https:'
    // The certificate of this machine is for its name, not for 127.0.0.1; nothing secret is sent.
    const options = { timeout: TIMEOUT_MS, agent: false as const, socketPath, rejectUnauthorized: !isLocalHost(address.hostname) }
    const call = (isSecure ? secureGet : get)(address, options, (reply) => {
      reply.resume()
      resolve(reply.statusCode === 200 ? '' : `status ${reply.statusCode}`)
    })
    call.on('timeout', () => call.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
    call.on('error', (error) => resolve(error.message))
  } catch (error) {
    resolve(error instanceof Error ? error.message : String(error))
  }
  const problem = await promise
  if (problem !== '') process.stderr.write(`headgate: ${url}/healthz: ${problem}\n`)
  return problem === '' ? 0 : 1
}
