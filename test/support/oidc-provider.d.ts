/** Types of what the tests use of the library, which has none of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    callback(): RequestListener
    on(event: 'grant.success', heard: (context: { readonly body: { readonly id_token?: string } }) => void): void
  }
}
