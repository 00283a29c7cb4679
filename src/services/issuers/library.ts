/** `openid-client` over the connections, the bounds and the clock of all calls of issuers. It is loaded with the first sign-in. */
import type { Configuration, CustomFetchOptions, ServerMetadata } from 'openid-client'
import type { Clock } from '../../core/clock.ts'
import { FirstUse } from '../../core/first-use.ts'
import type { IssuerClient } from './issuer-fetch.ts'

export type Library = typeof import('openid-client')

export const library = new FirstUse(() => import('openid-client'))

export interface LibraryParts {
  readonly document: ServerMetadata
  readonly clientId: string
  readonly clientSecret?: string | undefined
  /** Milliseconds. */
  readonly leeway: number
  readonly clock: Pick<Clock, 'now'>
  readonly client: Pick<IssuerClient, 'reply'>
}

/** Made anew for each use, since it has the difference between our clock and that of the machine. */
export function libraryConfiguration(
  lib: Library,
  { document, clientId, clientSecret, leeway, clock, client }: LibraryParts,
): Configuration {
  const metadata = {
    [lib.clockSkew]: Math.round((clock.now() - Date.now()) / 1000),
    [lib.clockTolerance]: Math.ceil(leeway / 1000),
  }
  const configuration = new lib.Configuration(document, clientId, metadata, clientAuthentication(lib, document, clientSecret))
  configuration[lib.customFetch] = (url, options) => send(client, url, options)
  // Addresses of this machine alone: the client refuses every other one without TLS.
  lib.allowInsecureRequests(configuration)
  lib.enableNonRepudiationChecks(configuration)
  return configuration
}

/** Headers of a reply that the library reads. */
const READ = ['content-type', 'retry-after', 'www-authenticate']

async function send(client: Pick<IssuerClient, 'reply'>, url: string, { method, headers, body }: CustomFetchOptions): Promise<Response> {
  const text = body === undefined || body === null ? undefined : String(body)
  const reply = await client.reply({ what: 'the issuer', url, method, headers, body: text })
  const read = READ.flatMap((name): [string, string][] => {
    const value = reply.headers[name]
    return typeof value === 'string' ? [[name, value]] : []
  })
  return new Response(reply.text === '' ? null : reply.text, { status: reply.status ?? 502, headers: read })
}

/** As the issuer accepts it; `client_secret_basic` where its document names nothing (OpenID Connect Discovery 1.0, 3). */
function clientAuthentication(
  lib: Library,
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
  secret: string | undefined,
) {
  if (secret === undefined) return lib.None()
  const isPost = methods !== undefined && !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
  return isPost ? lib.ClientSecretPost(secret) : lib.ClientSecretBasic(secret)
}
