/**
 * The identity services of Azure on one address: the token endpoint of Entra ID, IMDS and the endpoint of App Service. They check what
 * those check (learn.microsoft.com/entra: v2-oauth2-client-creds-grant-flow, certificate-credentials, workload-identity-federation,
 * how-to-use-vm-token; learn.microsoft.com/azure/app-service/overview-managed-identity).
 */
import { createHash, type KeyObject, randomBytes, X509Certificate } from 'node:crypto'
import type { Clock } from '../../../src/core/clock.ts'
import { certificate } from '../certificates.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../upstream.ts'
import { JwtIssuer, jwtProblem, readJwt } from './jwt.ts'

export const TENANT = '72f988bf-0000-4000-8000-2d7cd011db47'
export const CLIENT = '11111111-2222-4333-8444-555555555555'
const RESOURCE = 'https://cognitiveservices.azure.com'
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const CLUSTER = new JwtIssuer('https://oidc.cluster.example')
const OWN = certificate({ name: 'headgate', rsa: true })

export class Azure {
  readonly clock: Clock
  readonly secret = 'aBc8Q~the-secret-of-the-application'
  readonly identityHeader = 'header-of-the-app-service'
  /** The issuer of a Kubernetes cluster that the application trusts. */
  readonly cluster = CLUSTER
  readonly pem: string
  readonly locked: string
  readonly password = 'password-of-the-key'
  /** Service that tokens are for. */
  resource = RESOURCE
  /** Seconds for which a token holds. */
  life = 3600
  readonly secrets: string[] = [this.secret, this.identityHeader, this.password]
  readonly refused: string[] = []
  private readonly certificateKey: KeyObject
  private readonly thumbprint: string
  private readonly jtis = new Set<unknown>()
  private readonly issued = new Map<string, number>()
  readonly server: Upstream

  private constructor(clock: Clock, server: Upstream) {
    this.clock = clock
    this.server = server
    const { cert, key } = OWN
    const { raw, publicKey } = new X509Certificate(cert)
    this.certificateKey = publicKey
    this.thumbprint = createHash('sha256').update(raw).digest('base64url')
    this.pem = `${key.export({ type: 'pkcs8', format: 'pem' })}${cert}`
    this.locked = `${key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: this.password })}${cert}`
  }

  static async start(clock: Clock): Promise<Azure> {
    const server = await startUpstream(() => jsonAnswer({}))
    const made = new Azure(clock, server)
    server.script = (seen) => made.answer(seen)
    return made
  }

  get url(): string {
    return this.server.url
  }

  /** True for a call of a model that a token allows. */
  takes({ headers }: Seen): boolean {
    return (this.issued.get(`${headers.authorization}`.replace(/^Bearer /, '')) ?? 0) > this.clock.now() && headers['api-key'] === undefined
  }

  /** True for a token that holds. */
  holds(token: string): boolean {
    return (this.issued.get(token) ?? 0) > this.clock.now()
  }

  clusterToken(claims: object = {}): string {
    const made = { aud: 'api://AzureADTokenExchange', sub: 'system:serviceaccount:default:headgate', ...claims }
    const token = this.cluster.token(made, this.clock.now())
    this.secrets.push(token)
    return token
  }

  private answer(seen: Seen): Answer {
    const { pathname, searchParams } = new URL(seen.path, this.url)
    if (pathname === `/${TENANT}/oauth2/v2.0/token` && seen.method === 'POST') return this.entra(new URLSearchParams(seen.body), pathname)
    if (seen.method === 'GET' && pathname === '/metadata/identity/oauth2/token') return this.imds(seen, searchParams)
    if (seen.method === 'GET' && pathname === '/msi/token') return this.appService(seen, searchParams)
    return this.no(400, 'invalid_request', 900023, 'no such tenant')
  }

  private issue(): string {
    const token = `eyJ0eXAi.${randomBytes(24).toString('base64url')}.c2ln`
    this.issued.set(token, this.clock.now() + this.life * 1000)
    this.secrets.push(token)
    return token
  }

  private no(status: number, error: string, code: number, why: string): Answer {
    this.refused.push(why)
    // The real one names the application, and other texts of the request.
    return jsonAnswer({ error, error_description: `AADSTS${code}: ${why} ${this.secrets.join(' ')}`, error_codes: [code] }, status)
  }

  private entra(form: URLSearchParams, path: string): Answer {
    if (form.get('grant_type') !== 'client_credentials') return this.no(400, 'unsupported_grant_type', 70003, 'grant type')
    if (form.get('client_id') !== CLIENT) return this.no(400, 'unauthorized_client', 700016, 'application')
    if (form.get('scope') !== `${this.resource}/.default`) return this.no(400, 'invalid_scope', 70011, 'scope')
    const assertion = form.get('client_assertion')
    if (assertion === null) {
      if (form.get('client_secret') !== this.secret) return this.no(401, 'invalid_client', 7000215, 'secret')
    } else {
      this.secrets.push(assertion)
      const problem = form.get('client_assertion_type') === ASSERTION ? this.assertionProblem(assertion, path) : 'assertion type'
      if (problem) return this.no(401, 'invalid_client', 700027, problem)
    }
    return jsonAnswer({ token_type: 'Bearer', expires_in: this.life, ext_expires_in: this.life, access_token: this.issue() })
  }

  private assertionProblem(assertion: string, path: string): string | undefined {
    const read = readJwt(assertion)
    if (!read) return 'no JWT'
    const now = this.clock.now()
    if (read.claims.iss === this.cluster.iss) {
      const { iss: issuer, publicKey: key } = this.cluster
      const problem = jwtProblem(assertion, { alg: 'RS256', audience: 'api://AzureADTokenExchange', issuer, key, now, life: 86_400 })
      return problem ?? (read.claims.sub === 'system:serviceaccount:default:headgate' ? undefined : 'subject')
    }
    const { header, claims } = read
    if (header['x5t#S256'] !== this.thumbprint) return 'thumbprint'
    if (this.jtis.has(claims.jti) || typeof claims.jti !== 'string') return 'jti'
    this.jtis.add(claims.jti)
    if (claims.sub !== CLIENT || typeof claims.nbf !== 'number' || claims.nbf > now / 1000) return 'sub or nbf'
    return jwtProblem(assertion, { alg: 'PS256', audience: this.url + path, issuer: CLIENT, key: this.certificateKey, now, life: 600 })
  }

  private imds({ headers }: Seen, query: URLSearchParams): Answer {
    if (headers.metadata !== 'true' || headers['x-forwarded-for'] !== undefined) return this.no(400, 'invalid_request', 0, 'header')
    if (query.get('api-version') !== '2018-02-01') return this.no(400, 'invalid_request', 0, 'version')
    if (query.get('resource') !== this.resource) return this.no(400, 'invalid_resource', 500011, 'resource')
    if (![null, CLIENT].includes(query.get('client_id'))) return this.no(400, 'invalid_request', 0, 'identity')
    const ends = Math.floor(this.clock.now() / 1000) + this.life
    return jsonAnswer({
      access_token: this.issue(),
      expires_in: String(this.life),
      expires_on: String(ends),
      resource: this.resource,
      token_type: 'Bearer',
    })
  }

  private appService({ headers }: Seen, query: URLSearchParams): Answer {
    if (headers['x-identity-header'] !== this.identityHeader) return this.no(401, 'unauthorized', 0, 'header')
    if (query.get('api-version') !== '2019-08-01' || query.get('resource') !== this.resource)
      return this.no(400, 'invalid_request', 0, 'query')
    const ends = Math.floor(this.clock.now() / 1000) + this.life
    return jsonAnswer({ access_token: this.issue(), expires_on: String(ends), resource: this.resource, token_type: 'Bearer' })
  }
}
