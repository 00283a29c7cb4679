/** `headgate byok wrap-key KEY`: a new key of `byok.encryption_keys`, encrypted by a key management service. Only its reference is shown. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import { keyServices } from '../services/secrets/index.ts'
import { wrapSecret } from '../services/secrets/wrapped.ts'
import { CONSOLE, type Streams } from './console.ts'

/** @param key with the scheme of its service. @returns the exit code. */
export async function byokWrapKey(
  key: string,
  { env = process.env, streams = CONSOLE }: { env?: NodeJS.ProcessEnv; streams?: Streams } = {},
): Promise<number> {
  try {
    const place = { env, directory: process.cwd(), clock: systemClock }
    streams.out(await wrapSecret(key, randomBytes(32).toString('base64'), await keyServices.get(), place))
    return 0
  } catch (error) {
    streams.error(`headgate: byok wrap-key: ${error instanceof Error ? error.message : error}`)
    return 1
  }
}
