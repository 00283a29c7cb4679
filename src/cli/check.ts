/** `headgate check FILE`: says whether a file can be served, without opening a port. */

import { loadWhole } from '../app/config-reader.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/problems.ts'
import { shownNames } from '../config/warnings.ts'
import { present } from '../core/json.ts'
import { OPERATIONS, operationLayers } from '../pipeline/chain.ts'
import { buildCatalog } from '../routing/catalog/catalog.ts'
import { endpointId } from '../routing/catalog/endpoints.ts'
import { type Cloud, machineCloud } from '../services/credentials/machine.ts'
import { type CredentialSettings, credentialOnTop } from '../services/credentials/settings.ts'
import { credentialProblem, describeCredential } from '../services/credentials/sources/index.ts'
import { sandboxProblem } from '../services/sandbox/program.ts'
import { CONSOLE, plural, type Streams } from './console.ts'

/** `headgate check --chain`: the layers that a request of each operation goes through, in order. @returns the exit code. */
export function printChain(streams: Streams = CONSOLE): number {
  for (const operation of OPERATIONS) {
    streams.out(`${operation}:`)
    for (const [at, { name, what }] of operationLayers(operation).entries())
      streams.out(`  ${String(at + 1).padStart(2)}. ${name.padEnd(12)}  ${what}`)
  }
  return 0
}

/**
 * Prints one line if the file is good, else every problem as `file:line:column: what, and what was expected`.
 * @param findCloud the cloud of this machine, whose metadata may have keys.
 * @returns the exit code: 0, or 1 where there are problems.
 */
export async function check(
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
  streams: Streams = CONSOLE,
  findCloud: () => Cloud | undefined = machineCloud,
): Promise<number> {
  try {
    const config = await loadWhole(file, env)
    const counts = [
      plural(config.providers.length, 'provider'),
      plural(Object.keys(config.models).length, 'model'),
      plural(config.keys.length, 'key'),
    ]
    streams.out(`${file}: ok, ${counts.join(', ')}`)
    const credentials = credentialsIn(config)
    for (const [place, { source, settings }] of credentials)
      streams.out(`${file}: credential of ${place}: ${describeCredential(source, settings, env)}`)
    if (config.leftOut.length > 0) streams.out(`${file}: left out for want of their variables: ${config.leftOut.join(', ')}`)
    for (const warning of config.warnings) streams.out(`warning: ${warning}`)
    for (const [place, { source, settings }] of credentials) {
      const problem = credentialProblem(source, settings, env, findCloud())
      if (problem !== undefined) streams.out(`${file}: warning: credential of ${place}: ${problem}`)
    }
    const sandbox = sandboxProblem(config.plugins.defaults.shell ?? {})
    if (sandbox !== undefined) streams.out(`${file}: warning: plugins.defaults.shell.sandbox: ${sandbox}`)
    for (const warning of unknownPrices(config)) streams.out(`${file}: warning: ${warning}`)
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    streams.error(error.message)
    return 1
  }
}

/** Endpoints whose price the file leaves to the price snapshot, which has none for them. */
function unknownPrices(config: Config): string[] {
  const unknown = buildCatalog(config).models.flatMap(({ endpoints }) =>
    endpoints.flatMap(({ id, snapshotPriced, price }) => (snapshotPriced && price === 'unpriced' ? [id] : [])),
  )
  if (unknown.length === 0) return []
  const limited = config.keys.filter(({ limit }) => limit !== null && limit !== undefined).map(({ name }) => name)
  const whose = limited.length === 0 ? '' : ` (${shownNames(limited)})`
  return [
    `the price snapshot has no price for ${shownNames(unknown)}: what is spent there is not counted, and keys with a limit${whose} cannot use it. State a price, or price: free`,
  ]
}

/** Credentials by where they stand: of providers, of endpoints with settings of their own, and of exports. */
function credentialsIn({ providers, models, exports }: Config): (readonly [place: string, settings: CredentialSettings])[] {
  const bases = new Map(providers.map(({ slug, credential }) => [slug, credential]))
  const ofProviders = providers.flatMap(({ slug, credential }) => (credential ? [[`provider ${slug}`, credential] as const] : []))
  const ofEndpoints = Object.entries(models).flatMap(([slug, { endpoints }]) =>
    endpoints.flatMap(({ credential, provider, variant, tier }) => {
      const settings = credential && credentialOnTop(credential, bases.get(provider))
      return settings ? [[`endpoint ${endpointId(slug, provider, variant ?? tier)}`, settings] as const] : []
    }),
  )
  const ofExports = exports.flatMap(({ name, s3 }) =>
    s3 === undefined || s3.accessKeyId !== undefined
      ? []
      : [[`export ${name}`, { source: 'aws', settings: present({ region: s3.region, profile: s3.profile, role: s3.role }) }] as const],
  )
  return [...ofProviders, ...ofEndpoints, ...ofExports]
}
