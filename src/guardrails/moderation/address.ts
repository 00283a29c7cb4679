/** The address of a service of OpenAI's format. */

/** @param url whole, or its root that ends with a version such as /v1. @param path behind that root. */
export function joinAddress(url: string, path: string): string {
  const bare = url.replace(/\/+$/, '')
  return /\/v[0-9]+$/.test(bare) ? `${bare}/${path}` : bare
}
