/** `headgate health`: for health checks in an image that has no other program. */
import { get } from 'node:http'

const ADMIN = 'http://127.0.0.1:8081'
/** Milliseconds. */
const TIMEOUT_MS = 2500

/** @param url of the admin listener. @returns the exit code: 0 where the process answers. */
export async function health(url = process.env.HEADGATE_ADMIN_URL || ADMIN): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<string>()
  try {
    const call = get(new URL('/healthz', url), { timeout: TIMEOUT_MS, agent: false }, (reply) => {
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
