/**
 * Endpoints with the keys that teams have brought (docs/byok.md): each stands beside the same endpoint with the operator's account, as a candidate
 * of its own with its own account and price.
 */
import { Fault } from '../../core/faults.ts'
import { type Price, shareOfPrice } from '../../core/price.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint, Model, Provider } from '../../routing/catalog/types.ts'
import { allowsModel } from '../../routing/index.ts'
import type { ByokEntry } from '../../services/byok/byok-entry.ts'
import type { ByokKeys } from '../../services/byok/byok-keys.ts'
import { narrow, type Routed } from '../exchange.ts'

export type OwnKeys = Pick<ByokKeys, 'isEmpty' | 'at' | 'fee' | 'operatorFallback' | 'failed'>

const MILLION = 1_000_000n

/**
 * Adds the endpoints that keys of the caller's team pay for. Where one that comes first cannot be used, or the operator's account is not to be
 * tried after it, those with the operator's account are left out: its owner has not agreed that its money takes the place of the team's.
 * @throws Fault `credential_unavailable` where none is left.
 */
export function withOwnKeys<From extends Routed>(exchange: From, keys: OwnKeys): From {
  const { key } = exchange.auth
  const { endpoints } = exchange.route
  const found: Endpoint[] = []
  /** Models at which a first key can be used, and at which one cannot be decrypted: at the latter the operator's account must not take its place. */
  const usable = new Set<Model>()
  const unreadable = new Set<Model>()
  let unusable: ByokEntry | undefined
  /** True where a key of the team comes first, and the operator's account is not to serve the request at all. */
  let isOwnAlone = false
  for (const endpoint of endpoints) {
    for (const entry of keys.at(endpoint.provider.slug)) {
      if (!mayUse(entry, key, endpoint.model.slug)) continue
      const isFirst = !entry.terms.isFallback
      if (isFirst && !keys.operatorFallback) isOwnAlone = true
      if (entry.credential) {
        found.push(ownEndpoint(endpoint, entry, { fee: keys.fee, counts: countsInLimit(key) }))
        if (isFirst) usable.add(endpoint.model)
      } else if (isFirst) {
        unusable ??= entry
        unreadable.add(endpoint.model)
      }
    }
  }
  if (found.length === 0 && !unusable) return exchange
  const left = [...found, ...(isOwnAlone ? [] : endpoints.filter(({ model }) => usable.has(model) || !unreadable.has(model)))]
  if (left.length === 0 && unusable) throw unusableKey(unusable)
  return narrow(exchange, left)
}

function unusableKey(entry: ByokEntry): Fault {
  return new Fault('credential_unavailable', {
    message: `Your own key ${JSON.stringify(entry.name)} at ${entry.provider} cannot be used: the gateway cannot decrypt it. Have it written anew, or have its entry ${entry.id} disabled`,
    metadata: { byok_id: entry.id, credential: 'unavailable' },
  })
}

/** True where the terms of an entry let requests of the key use it. A key that was issued through sign-in may use what its issuer may, and belongs to
 * the user of that: its own record names who consented, which may be a name that the key was given. */
function mayUse({ terms }: ByokEntry, key: ApiKey, model: string): boolean {
  const { allowedKeys, allowedUsers, allowedModels } = terms
  const owners = key.issuer ? [key, key.issuer] : [key]
  if (allowedKeys && !owners.some(({ identity }) => allowedKeys.includes(identity))) return false
  const user = (key.issuer ?? key).creator
  if (allowedUsers && !(user && allowedUsers.includes(user))) return false
  return allowedModels === null || allowsModel(allowedModels, model)
}

function countsInLimit(key: ApiKey): boolean {
  if (key.levels?.includeByok) return true
  return [key, key.issuer].some((each) => each && 'includeByokInLimit' in each && each.includeByokInLimit === true)
}

/** Made endpoints by entry and price, so that each stays the same one for all that is kept by endpoint. */
const made = new WeakMap<
  ByokEntry,
  { readonly providers: WeakMap<Provider, Provider>; readonly endpoints: [bigint, boolean, WeakMap<Endpoint, Endpoint>][] }
>()

interface OwnPrice {
  /** In millionths of the price. */
  readonly fee: bigint
  /** The provider's bill counts towards the limit of the key, beside the fee. */
  readonly counts: boolean
}

/** The endpoint with the account of an entry. */
function ownEndpoint(shared: Endpoint, entry: ByokEntry, price: OwnPrice): Endpoint {
  let known = made.get(entry)
  if (!known) {
    known = { providers: new WeakMap(), endpoints: [] }
    made.set(entry, known)
  }
  let own = known.endpoints.find(([fee, counts]) => fee === price.fee && counts === price.counts)
  if (!own) {
    own = [price.fee, price.counts, new WeakMap()]
    known.endpoints.push(own)
  }
  const [, , endpoints] = own
  let found = endpoints.get(shared)
  if (!found) {
    found = {
      ...shared,
      provider: ownProvider(shared.provider, entry, known.providers),
      credential: entry.credential,
      price: ownPrice(shared.price, price),
      byok: { entry, shared, counts: price.counts, at: (endpoint) => ownEndpoint(endpoint, entry, price) },
    }
    endpoints.set(shared, found)
  }
  return found
}

/** Without the operator's key, wherever that stands; its account is the team's. */
function ownProvider(provider: Provider, entry: ByokEntry, known: WeakMap<Provider, Provider>): Provider {
  let found = known.get(provider)
  if (!found) {
    const { key: _key, headers, ...rest } = provider
    const keyless = Object.entries(headers).filter(([name]) => !isCredential(name, provider))
    found = { ...rest, credential: entry.credential, account: `byok ${entry.id}`, headers: Object.fromEntries(keyless) }
    known.set(provider, found)
  }
  return found
}

/** True for a provider whose calls carry a key, which one of a team can take the place of. */
export function takesKey(provider: Provider | undefined): boolean {
  return (
    provider?.baseUrl !== undefined &&
    (!provider.credential || provider.credential.another !== undefined || provider.credential.takesKeys === true)
  )
}

/** Headers that hold a key by their name, and those that name an account. */
const CREDENTIAL = /(?:^|-)(?:authorization|api-?key|key|token|secret|organization|project)$/i

function isCredential(name: string, { auth }: Provider): boolean {
  return CREDENTIAL.test(name) || name.toLowerCase() === auth?.header.toLowerCase()
}

function ownPrice(price: Endpoint['price'], { fee, counts }: OwnPrice): Endpoint['price'] {
  if (typeof price !== 'object') return price
  const millionths = counts ? MILLION + fee : fee
  return millionths === 0n ? 'free' : millionths === MILLION ? price : shareOfPrice(price satisfies Price, millionths)
}

/** Endpoints with the operator's account, whose order decides on that of all. */
export function sharedEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return [...new Set(endpoints.map((endpoint) => endpoint.byok?.shared ?? endpoint))]
}

/**
 * Puts the endpoints of keys of the team into the order: for each model those that come first before all with the operator's account, fallbacks
 * after these. One whose account was refused or limited just now, or whose endpoint is ejected, comes after the operator's.
 * @param ordered of `sharedEndpoints`. @param isEjected of an endpoint.
 */
export function placeOwnKeys(
  ordered: readonly Endpoint[],
  endpoints: readonly Endpoint[],
  isEjected: (endpoint: Endpoint) => boolean,
): readonly Endpoint[] {
  const placed: Endpoint[] = []
  for (let from = 0; from < ordered.length; ) {
    const { model } = ordered[from] as Endpoint
    const end = ordered.findIndex((endpoint, at) => at > from && endpoint.model !== model)
    const run = ordered.slice(from, end === -1 ? ordered.length : end)
    from += run.length
    const own = run.flatMap((shared) => endpoints.filter(({ byok }) => byok?.shared === shared))
    const isFirst = ({ byok }: Endpoint): boolean => byok?.entry.terms.isFallback === false
    const isLate = ({ byok }: Endpoint): boolean => byok?.entry.rests === true || (byok !== undefined && isEjected(byok.shared))
    placed.push(
      ...own.filter((endpoint) => isFirst(endpoint) && !isLate(endpoint)),
      ...run.filter((endpoint) => endpoints.includes(endpoint)),
      ...own.filter((endpoint) => isFirst(endpoint) && isLate(endpoint)),
      ...own.filter((endpoint) => !isFirst(endpoint)),
    )
  }
  return placed
}

/** The candidates of a request that goes on, without those whose entry has been removed or disabled since. @throws Fault where none is left. */
export function stillInForce(candidates: readonly Endpoint[]): readonly Endpoint[] {
  if (candidates.every(({ byok }) => byok === undefined || byok.entry.isInForce)) return candidates
  const left = candidates.filter(({ byok }) => byok === undefined || byok.entry.isInForce)
  if (left.length > 0) return left
  const message = 'Your own key at the provider has been removed or disabled while the request was running'
  throw new Fault('credential_unavailable', { message, metadata: { credential: 'unavailable' } })
}
