/** Where a provider is and the headers of every call to it: made once per provider. */
import type { Provider } from '../catalog/types.ts'
import { Fault } from '../core/faults.ts'
import type { UpstreamDialect } from '../dialects/types.ts'

export interface ProviderAddress {
  origin: string
  /** Path of the base URL, without a slash at its end. */
  path: string
  connectTimeout: number
  /** Flat lists of names and values. */
  headers: string[]
  streamHeaders: string[]
}

const known = new WeakMap<Provider, ProviderAddress>()

export function providerAddress(provider: Provider, dialect: UpstreamDialect): ProviderAddress {
  let address = known.get(provider)
  if (!address) {
    address = make(provider, dialect)
    known.set(provider, address)
  }
  return address
}

function make(provider: Provider, dialect: UpstreamDialect): ProviderAddress {
  if (!provider.baseUrl) throw new Fault('internal', { cause: new Error(`provider ${provider.slug} has no address`) })
  const url = new URL(provider.baseUrl)
  const own = new Map<string, string>([
    ['content-type', 'application/json'],
    ['user-agent', 'headgate'],
  ])
  if (provider.key !== undefined) own.set(...dialect.auth(provider.key))
  for (const [name, value] of Object.entries(provider.headers)) own.set(name.toLowerCase(), value)
  return {
    origin: url.origin,
    path: url.pathname.replace(/\/+$/, ''),
    connectTimeout: provider.timeouts.connect,
    headers: [...own].flat(),
    streamHeaders: [...own, ['accept', 'text/event-stream']].flat(),
  }
}
