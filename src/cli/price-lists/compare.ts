/** A list's price beside what the provider's own page and the price snapshot state. */
import type { Config } from '../../config/config.ts'
import { PAGES_DATE } from '../../routing/catalog/page-prices.ts'
import { statedPrices } from '../../routing/catalog/price-snapshot.ts'
import type { Model } from '../../routing/catalog/types.ts'
import type { ListedModel, PriceConfig } from './listed-model.ts'

export interface Disagreement {
  /** Prompt, completion and cached input, USD per million tokens, by each that states them. */
  readonly list: string
  readonly page?: string | undefined
  readonly snapshot?: string | undefined
  readonly taken: 'page' | 'list'
  readonly source?: string | undefined
}

export interface SnapshotDisagreement {
  readonly endpoint: string
  /** Prompt, completion and cached input, USD per million tokens. */
  readonly snapshot: string
  /** Of the provider's page, which is taken; `none` where the page has no price of the model any more. */
  readonly page: string
  readonly source: string
}

/** Endpoints of a model with `price: snapshot` whose provider's page states another price than the snapshot. */
export function snapshotDisagreements({ endpoints, kind }: Model): SnapshotDisagreement[] {
  return endpoints.flatMap((endpoint) => {
    if (endpoint.snapshotPriced !== true) return []
    const { baseUrl, snapshotUrl } = endpoint.provider
    const stated = { url: snapshotUrl ?? baseUrl, model: endpoint.upstreamModel, embeds: kind === 'embedding' }
    const { page, snapshot } = statedPrices(stated)
    if (!page || snapshot === undefined || isSame(snapshot, page.price)) return []
    return { endpoint: endpoint.id, snapshot: priceText(snapshot), page: priceText(page.price), source: page.source }
  })
}

export interface Compared {
  /** With the page's price, where that is taken. */
  readonly listed: ListedModel
  readonly disagreement: Disagreement | undefined
}

/** Milliseconds for which a look at a page counts more than a list that may be newer. */
const PAGES_HOLD = 90 * 86_400_000

/** @param today a day such as `2026-11-28`. */
export function compared(provider: Config['providers'][number], listed: ListedModel, today: string): Compared {
  const { price, model, kind } = listed
  if (price === 'free') return { listed, disagreement: undefined }
  const { page, snapshot } = statedPrices({ url: provider.snapshotUrl ?? provider.baseUrl, model, embeds: kind === 'embedding' })
  const holds = page !== undefined && Date.parse(today) - Date.parse(PAGES_DATE) <= PAGES_HOLD
  const differs = page ? !isSame(price, page.price) : price !== undefined && snapshot !== undefined && !isSame(price, snapshot)
  if (!differs) return { listed, disagreement: undefined }
  const taken = holds ? 'page' : 'list'
  const disagreement = {
    list: priceText(price),
    ...(page ? { page: priceText(page.price), source: page.source } : {}),
    ...(snapshot ? { snapshot: priceText(snapshot) } : {}),
    taken,
  } as const
  return { listed: holds && page ? { ...listed, price: page.price } : listed, disagreement }
}

/** A list that states no price of cached input says nothing of it. */
function isSame(one: PriceConfig | undefined, other: PriceConfig | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  const isAlike = (name: 'prompt' | 'completion' | 'cached'): boolean => Number(one[name]) === Number(other[name])
  const hours = (price: PriceConfig): boolean => (price.overrides ?? []).some(({ utc_start: start, days }) => start !== undefined || days)
  return isAlike('prompt') && isAlike('completion') && (one.cached === undefined || isAlike('cached')) && hours(one) === hours(other)
}

function priceText(price: PriceConfig | undefined): string {
  return price === undefined ? 'none' : [price.prompt, price.completion ?? '-', price.cached ?? '-'].join(' ')
}
