/** `headgate check FILE`: says whether a file can be served, without opening a port. */

import { loadWhole } from '../app/config-reader.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/problems.ts'
import { layersOf, OPERATIONS } from '../pipeline/chain.ts'
import { endpointId } from '../routing/catalog/endpoints.ts'
import { type CredentialSettings, credentialOnTop } from '../services/credentials/settings.ts'
import { describeCredential } from '../services/credentials/sources/index.ts'
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
    for (const [place, { source, settings }] of credentialsIn(config))
      streams.out(`${file}: credential of ${place}: ${describeCredential(source, settings, env)}`)
    if (config.skipped.length > 0) {
      const leftOut = config.skipped.map((slug) => `${slug} (${config.missing.get(slug)?.join(', ')})`)
      streams.out(`${file}: left out for want of their variables: ${leftOut.join(', ')}`)
    }
    for (const warning of config.warnings) streams.out(`warning: ${warning}`)
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    streams.error(error.message)
    return 1
  }
}

/** Credentials by where they stand: of providers, and of endpoints with settings of their own. */
function credentialsIn({ providers, models }: Config): (readonly [place: string, settings: CredentialSettings])[] {
  const bases = new Map(providers.map(({ slug, credential }) => [slug, credential]))
  const ofProviders = providers.flatMap(({ slug, credential }) => (credential ? [[`provider ${slug}`, credential] as const] : []))
  const ofEndpoints = Object.entries(models).flatMap(([slug, { endpoints }]) =>
    endpoints.flatMap(({ credential, provider, variant, tier }) => {
      const settings = credential && credentialOnTop(credential, bases.get(provider))
      return settings ? [[`endpoint ${endpointId(slug, provider, variant ?? tier)}`, settings] as const] : []
    }),
  )
  return [...ofProviders, ...ofEndpoints]
}
