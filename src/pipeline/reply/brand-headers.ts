/** Names of request headers with the brand word in them: put together once, since every request looks for them. */
export interface BrandHeaders {
  readonly brand: string
  readonly metadata: string
  readonly legacyMetadata: string
  readonly title: string
  readonly deadline: string
}

/** A process serves one brand at a time; a reload may change it. */
let last: BrandHeaders | undefined

export function brandHeaders(brand: string): BrandHeaders {
  if (last?.brand !== brand) {
    const prefix = `x-${brand}-`
    last = {
      brand,
      metadata: `${prefix}metadata`,
      legacyMetadata: `${prefix}experimental-metadata`,
      title: `${prefix}title`,
      deadline: `${prefix}deadline`,
    }
  }
  return last
}
