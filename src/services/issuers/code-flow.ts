/**
 * Sign-in of a person at an issuer: authorization code (RFC 6749, 4.1) with PKCE (RFC 7636), the issuer of the response (RFC 9207) and an
 * ID token whose signature is verified (OpenID Connect Core 1.0, 3.1). `openid-client` makes and checks the messages; addresses, TLS, size
 * and time of each call are as those of all calls of issuers.
 */
import type { Configuration, ServerMetadata } from 'openid-client'
import type { JsonObject } from '../../core/json.ts'
import { CredentialError } from '../credentials/types.ts'
import { claimAt } from './claims.ts'
import { discover } from './discovery.ts'
import { IssuerClient, isTrustworthy } from './issuer-fetch.ts'
import { type Library, library, libraryConfiguration } from './library.ts'
import { testedPaths } from './mapping.ts'
import type { Claims, IssuerParts, IssuerSettings, SignInSettings } from './types.ts'

/** Milliseconds for which a discovery document serves. */
const METADATA_MS = 10 * 60_000
/** The same between two fetches while it cannot be fetched. */
const PAUSE_MS = 5_000

/** Secrets of one sign-in, which its browser keeps. */
export interface CodeFlow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface VerifiedPerson {
  readonly claims: Claims
  /** Shown to the issuer when the person signs out there (OpenID Connect RP-Initiated Logout 1.0, 2). */
  readonly idToken: string
}

export type SignInIssuer = IssuerSettings & { readonly signIn: SignInSettings }

export class CodeFlows {
  private readonly settings: SignInIssuer
  private readonly clock: IssuerParts['clock']
  private readonly client: IssuerClient
  private metadata: { readonly document: ServerMetadata; readonly fetchedAt: number } | undefined
  private failedAt = Number.NEGATIVE_INFINITY
  private jwks: Parameters<Library['setJwksCache']>[1] | undefined

  constructor(settings: SignInIssuer, { clock }: Pick<IssuerParts, 'clock'>) {
    this.settings = settings
    this.clock = clock
    this.client = new IssuerClient(clock, settings.ca)
  }

  /** The address to which the browser is sent. @throws Error where the issuer cannot be reached. */
  async location({ state, nonce, verifier }: CodeFlow, redirectUri: string): Promise<string> {
    const lib = await library.get()
    const configuration = await this.configuration(lib)
    const url = lib.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.settings.signIn.scopes.join(' '),
      state,
      nonce,
      code_challenge: await lib.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    // Of a document that names a script the browser would run it.
    if (!isTrustworthy(url.href)) throw new CredentialError('the authorization endpoint has an address without TLS')
    return url.href
  }

  /** @param response the address at which the browser came back. @throws Error for all that the library refuses. */
  async finish(response: URL, { state, nonce, verifier }: CodeFlow): Promise<VerifiedPerson> {
    const lib = await library.get()
    const configuration = await this.configuration(lib)
    const tokens = await lib.authorizationCodeGrant(configuration, response, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    this.jwks = lib.getJwksCache(configuration)
    const stated = tokens.claims() as Claims | undefined
    if (!stated || tokens.id_token === undefined) throw new CredentialError('the token endpoint returned no ID token')
    return { claims: await this.completed(stated, tokens.access_token, { lib, configuration }), idToken: tokens.id_token }
  }

  /** The address at which the person signs out at the issuer; undefined where it has none. */
  async endSession(idToken: string): Promise<string | undefined> {
    const lib = await library.get()
    const configuration = await this.configuration(lib)
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
    const url = lib.buildEndSessionUrl(configuration, { id_token_hint: idToken })
    return isTrustworthy(url.href) ? url.href : undefined
  }

  close(): void {
    this.client.close()
  }

  /** With those of the userinfo endpoint where the ID token lacks claims that the rules look at. */
  private async completed(stated: Claims, accessToken: string, { lib, configuration }: Used): Promise<Claims> {
    const isWhole = [...testedPaths(this.settings)].every((path) => claimAt(stated, path) !== undefined)
    if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return stated
    const more = await lib.fetchUserInfo(configuration, accessToken, String(stated.sub))
    return { ...(more as JsonObject), ...stated }
  }

  private async configuration(lib: Library): Promise<Configuration> {
    const { leeway, signIn } = this.settings
    const { clientId, clientSecret } = signIn
    const { clock, client } = this
    const configuration = libraryConfiguration(lib, { document: await this.discovered(), clientId, clientSecret, leeway, clock, client })
    if (this.jwks) lib.setJwksCache(configuration, this.jwks)
    return configuration
  }

  private async discovered(): Promise<ServerMetadata> {
    const now = this.clock.monotonic()
    if (this.metadata && now - this.metadata.fetchedAt < METADATA_MS) return this.metadata.document
    if (now - this.failedAt < PAUSE_MS) throw new CredentialError('the discovery document could not be fetched a moment ago')
    try {
      const document = this.usable(await discover(this.client, this.settings.issuer))
      this.metadata = { document, fetchedAt: now }
      return document
    } catch (thrown) {
      this.failedAt = now
      throw thrown
    }
  }

  /** The document with the algorithms and the keys that the configuration states. */
  private usable(found: JsonObject): ServerMetadata {
    const { algorithms, jwksUri } = this.settings
    const { id_token_signing_alg_values_supported: stated } = found
    // Discovery 1.0, 3 requires the list; RS256 is what each issuer has.
    const accepted = (Array.isArray(stated) ? stated : ['RS256']).filter((each) => algorithms.includes(String(each)))
    if (accepted.length === 0) throw new CredentialError('the issuer signs ID tokens with no algorithm of the configuration')
    const keys = jwksUri === undefined ? {} : { jwks_uri: jwksUri }
    return { ...found, ...keys, id_token_signing_alg_values_supported: accepted } as unknown as ServerMetadata
  }
}

interface Used {
  readonly lib: Library
  readonly configuration: Configuration
}
