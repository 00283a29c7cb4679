/** Names of headers with the brand word in them: put together once, since every request looks for them. */
export interface BrandHeaders {
  readonly metadata: string
  readonly legacyMetadata: string
  readonly title: string
  readonly deadline: string
  readonly errorCode: string
  /** Of replies. */
  readonly cost: string
}

export function brandHeaders(brand: string): BrandHeaders {
  const prefix = `x-${brand}-`
  return {
    metadata: `${prefix}metadata`,
    legacyMetadata: `${prefix}experimental-metadata`,
    title: `${prefix}title`,
    deadline: `${prefix}deadline`,
    errorCode: `${prefix}error-code`,
    cost: `${prefix}cost`,
  }
}
