/** `headgate check FILE`: says whether a file can be served, without opening a port. */

import { loadWhole } from '../app/config-reader.ts'
import { ConfigError } from '../config/problems.ts'
import { layersOf, OPERATIONS } from '../pipeline/chain.ts'
import { CONSOLE, plural, type Streams } from './console.ts'

/** `headgate check --chain`: the layers that a request of each operation goes through, in order. @returns the exit code. */
export function printChain(streams: Streams = CONSOLE): number {
  for (const operation of OPERATIONS) {
    streams.out(`${operation}:`)
    for (const [at, { name, what }] of layersOf(operation).entries())
      streams.out(`  ${String(at + 1).padStart(2)}. ${name.padEnd(12)}  ${what}`)
  }
  return 0
}

/**
 * Prints one line if the file is good, else every problem as `file:line:column: what, and what was expected`.
 * @returns the exit code: 0, or 1 where there are problems.
 */
export async function check(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
  streams: Streams = CONSOLE,
): Promise<number> {
  try {
    const config = await loadWhole(file, env)
    const counts = [
      plural(config.providers.length, 'provider'),
      plural(Object.keys(config.models).length, 'model'),
      plural(config.keys.length, 'key'),
    ]
    streams.out(`${file}: ok, ${counts.join(', ')}`)
    if (config.skipped.length > 0) streams.out(`${file}: left out for want of their variables: ${config.skipped.join(', ')}`)
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    streams.error(error.message)
    return 1
  }
}
