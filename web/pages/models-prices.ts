/** Models and endpoints of the API in the words of the pages. */

/** USD per million tokens; undefined where the price is unknown. */
export function perMillion(price: string | undefined): number | undefined {
  const value = Number(price)
  return price === undefined || Number.isNaN(value) || value < 0 ? undefined : value * 1e6
}

export function priceText(price: string | undefined): string {
  const value = perMillion(price)
  if (value === undefined) return 'unknown'
  return value === 0 ? 'free' : `$${Number(value.toPrecision(6))}`
}

/** Rounded down: 99.99 is not 100. */
export const percentText = (percent: number | null | undefined): string => (percent == null ? '–' : `${Math.floor(percent * 100) / 100} %`)

export const slugParts = (slug: string): string[] => slug.split('/')
