/**
 * Tokens of a person for a machine, as a public client: device authorization (RFC 8628), refresh (RFC 6749, 6) and revocation (RFC 7009).
 * `openid-client` makes and checks the messages, and polls with the pauses that the issuer states.
 */
import type { Configuration, ServerMetadata, TokenEndpointResponse } from 'openid-client'
import type { Clock } from '../../core/clock.ts'
import { CredentialError } from '../credentials/types.ts'
import { discover } from './discovery.ts'
import { IssuerClient, isTrustworthy } from './issuer-fetch.ts'
import { type Library, library, libraryConfiguration } from './library.ts'
import { signInProblem } from './sign-in-problem.ts'

/** Seconds between two polls where the issuer states none (RFC 8628, 3.2). */
const INTERVAL_S = 5
/** Milliseconds by which clocks may differ. */
const LEEWAY_MS = 30_000

export interface DeviceClient {
  readonly issuer: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resource?: string | undefined
}

/** For the person to read. */
export interface DeviceCode {
  readonly code: string
  readonly address: string
  /** With the code in it. */
  readonly whole: string | undefined
  readonly lastsSeconds: number
}

export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Undefined where the issuer does not state it. */
  readonly lastsSeconds: number | undefined
}

export type DeviceRefusal = 'declined' | 'expired' | 'no_endpoint' | 'ended' | 'unavailable' | 'refused'

/** A flow that gives no tokens. */
export class DeviceFlowError extends Error {
  readonly code: DeviceRefusal

  constructor(code: DeviceRefusal, message: string) {
    super(message)
    this.code = code
  }
}

export class DeviceFlow {
  private readonly client: DeviceClient
  private readonly clock: Clock
  private readonly calls: IssuerClient

  constructor(client: DeviceClient, clock: Clock) {
    this.client = client
    this.clock = clock
    this.calls = new IssuerClient(clock, undefined)
  }

  /** @param show called once the issuer has given the code. @throws DeviceFlowError */
  async run(show: (code: DeviceCode) => void): Promise<IssuedTokens> {
    const { issuer } = this.client
    try {
      const { lib, configuration, document } = await this.opened()
      if (document.device_authorization_endpoint === undefined)
        throw new DeviceFlowError('no_endpoint', `${issuer} has no device authorization endpoint: its discovery document names none`)
      const { challenge, verifier } = await proofKey(lib, document)
      const parameters = { scope: this.client.scopes.join(' '), ...this.resource, ...challenge }
      const device = await lib.initiateDeviceAuthorization(configuration, parameters)
      if (!isTrustworthy(device.verification_uri)) throw new CredentialError('the address for the person has no TLS')
      show({
        code: device.user_code,
        address: device.verification_uri,
        whole: isTrustworthy(device.verification_uri_complete ?? '') ? device.verification_uri_complete : undefined,
        lastsSeconds: device.expires_in,
      })
      return issued(await this.polled({ lib, configuration }, device, verifier))
    } catch (thrown) {
      throw this.refusal(thrown)
    }
  }

  /** @throws DeviceFlowError; `ended` where the token is worth nothing any more. */
  async refresh(refreshToken: string): Promise<IssuedTokens> {
    try {
      const { lib, configuration } = await this.opened()
      const tokens = issued(await lib.refreshTokenGrant(configuration, refreshToken, this.resource))
      // Without a new one the old one goes on (RFC 6749, 6).
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
    } catch (thrown) {
      throw this.refusal(thrown)
    }
  }

  /** @returns false where the issuer has no endpoint for it. @throws DeviceFlowError */
  async revoke(token: string, hint: 'access_token' | 'refresh_token'): Promise<boolean> {
    try {
      const { lib, configuration, document } = await this.opened()
      if (document.revocation_endpoint === undefined) return false
      await lib.tokenRevocation(configuration, token, { token_type_hint: hint })
      return true
    } catch (thrown) {
      throw this.refusal(thrown)
    }
  }

  close(): void {
    this.calls.close()
  }

  private get resource(): Record<string, string> {
    return this.client.resource === undefined ? {} : { resource: this.client.resource }
  }

  /** A poll that does not reach the issuer is made again, after twice the pause (RFC 8628, 3.5), until the code has expired. */
  private async polled(
    { lib, configuration }: Opened,
    device: DeviceAuthorization,
    verifier: Record<string, string>,
  ): Promise<TokenEndpointResponse> {
    const end = this.clock.monotonic() + device.expires_in * 1000
    let interval = device.interval ?? INTERVAL_S
    for (;;) {
      const left = end - this.clock.monotonic()
      if (left <= 0) throw new DeviceFlowError('expired', EXPIRED)
      try {
        const signal = AbortSignal.timeout(Math.ceil(left))
        return await lib.pollDeviceAuthorizationGrant(configuration, { ...device, interval }, { ...this.resource, ...verifier }, { signal })
      } catch (thrown) {
        if (this.clock.monotonic() >= end) throw new DeviceFlowError('expired', EXPIRED)
        if (!isUnreached(thrown)) throw thrown
        interval *= 2
      }
    }
  }

  private async opened(): Promise<Opened & { document: ServerMetadata }> {
    const lib = await library.get()
    const { issuer, clientId } = this.client
    const document = (await discover(this.calls, issuer)) as unknown as ServerMetadata
    const { clock, calls: client } = this
    return { lib, document, configuration: libraryConfiguration(lib, { document, clientId, leeway: LEEWAY_MS, clock, client }) }
  }

  private refusal(thrown: unknown): DeviceFlowError {
    if (thrown instanceof DeviceFlowError) return thrown
    const { issuer } = this.client
    const { error } = thrown as { error?: unknown }
    if (error === 'access_denied') return new DeviceFlowError('declined', `The sign-in was declined at ${issuer}`)
    if (error === 'expired_token') return new DeviceFlowError('expired', EXPIRED)
    if (error === 'invalid_grant') return new DeviceFlowError('ended', `The sign-in at ${issuer} has ended there`)
    const problem = signInProblem(isUnreached(thrown) ? unreachedCause(thrown) : thrown)
    if (isUnreached(thrown)) return new DeviceFlowError('unavailable', `${issuer} cannot be reached: ${problem}`)
    return new DeviceFlowError('refused', `${issuer} refuses the request: ${problem}`)
  }
}

/**
 * PKCE (RFC 7636) where the issuer names S256: RFC 8628 does not have it, but Keycloak 26.7.3 refuses the request of a client without a
 * challenge that is set to require one, and others pass over parameters that they do not know (RFC 6749, 3.1).
 */
async function proofKey(
  lib: Library,
  { code_challenge_methods_supported: methods }: ServerMetadata,
): Promise<Record<'challenge' | 'verifier', Record<string, string>>> {
  if (!methods?.includes('S256')) return { challenge: {}, verifier: {} }
  const verifier = lib.randomPKCECodeVerifier()
  const challenge = { code_challenge: await lib.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
  return { challenge, verifier: { code_verifier: verifier } }
}

type DeviceAuthorization = Awaited<ReturnType<Library['initiateDeviceAuthorization']>>

interface Opened {
  readonly lib: Library
  readonly configuration: Configuration
}

const EXPIRED = 'The code has expired before it was entered'

/** The characters of a credential (RFC 6749, appendix A.12): no other ones reach a header or a terminal. */
const TOKEN = /^[\x20-\x7e]+$/

function issued({ access_token: accessToken, refresh_token: refreshToken, expires_in: lastsSeconds }: TokenEndpointResponse): IssuedTokens {
  if (!TOKEN.test(accessToken)) throw new CredentialError('the access token has characters that none may have')
  return { accessToken, refreshToken, lastsSeconds }
}

/** The library may have wrapped the error of the call. */
function unreachedCause(thrown: unknown): unknown {
  const { cause } = thrown as { cause?: unknown }
  return thrown instanceof CredentialError ? thrown : cause
}

const isUnreached = (thrown: unknown): boolean => unreachedCause(thrown) instanceof CredentialError
