/**
 * The identity services of Google Cloud on one address: the token endpoint, the STS, IAM Credentials and the metadata server. They
 * check what those check (developers.google.com/identity/protocols/oauth2/service-account; cloud.google.com/iam/docs/reference/sts and
 * credentials; cloud.google.com/compute/docs/metadata).
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../src/core/clock.ts'
import { list } from '../fold.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../upstream.ts'
import { JwtIssuer, jwtProblem, readJwt } from './jwt.ts'

const CLOUD = 'https://www.googleapis.com/auth/cloud-platform'
const SCOPES = [CLOUD, 'https://www.googleapis.com/auth/devstorage.read_only']

const ACCOUNT = new JwtIssuer('headgate@acme.iam.gserviceaccount.com')
const FOREIGN = new JwtIssuer('https://issuer.example')
/** Issuer of id tokens. */
export const GOOGLE_ISSUER = new JwtIssuer('https://accounts.google.com')
const NODE = 'node@acme.iam.gserviceaccount.com'

interface Issued {
  account: string
  scopes: string[]
  ends: number
}

export class GoogleCloud {
  readonly clock: Clock
  readonly accounts = new Map<string, JwtIssuer>([[ACCOUNT.iss, ACCOUNT]])
  /** An identity provider of another company that the pool trusts. */
  readonly foreign = FOREIGN
  readonly pool = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/example'
  /** Accounts by the caller that may make their tokens. */
  readonly mayActAs = new Map<string, string>([])
  readonly person = { client_id: 'gcloud-client', client_secret: 'gcloud-secret-1', refresh_token: 'refresh-token-of-ann' }
  /** Seconds for which a token holds. */
  life = 3600
  /** All that no log may show. */
  readonly secrets: string[] = [this.person.client_secret, this.person.refresh_token]
  /** Refusals and their reasons. */
  readonly refused: string[] = []
  private readonly issued = new Map<string, Issued>()
  private cached: string | undefined
  server: Upstream

  private constructor(clock: Clock, server: Upstream) {
    this.clock = clock
    this.server = server
    for (const { pem } of this.accounts.values())
      this.secrets.push(
        ...pem
          .split('\n')
          .filter((line) => line.length === 64)
          .slice(1, 3),
      )
  }

  static async start(clock: Clock): Promise<GoogleCloud> {
    const server = await startUpstream(() => jsonAnswer({}))
    const made = new GoogleCloud(clock, server)
    server.script = (seen) => made.answer(seen)
    return made
  }

  get url(): string {
    return this.server.url
  }

  /** Of a call of Vertex AI: the account of its token, or undefined where it may not call. */
  tokenCaller({ headers }: Seen): string | undefined {
    const token = this.issued.get(`${headers.authorization}`.replace(/^Bearer /, ''))
    if (!token || token.ends <= this.clock.now() || !token.scopes.includes(CLOUD)) return undefined
    return token.account
  }

  /** As the console writes it. */
  keyFile(email = ACCOUNT.iss): object {
    return {
      type: 'service_account',
      project_id: 'acme',
      private_key_id: 'key-1',
      private_key: this.accounts.get(email)?.pem,
      client_email: email,
      token_uri: `${this.url}/token`,
    }
  }

  /** As `gcloud iam workload-identity-pools create-cred-config` writes it. */
  federation(source: object, more: object = {}): object {
    return {
      type: 'external_account',
      audience: this.pool,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${this.url}/sts/v1/token`,
      credential_source: source,
      ...more,
    }
  }

  private answer(seen: Seen): Answer {
    const { pathname } = new URL(seen.path, this.url)
    if (pathname === '/token' && seen.method === 'POST') return this.tokenEndpoint(new URLSearchParams(seen.body))
    if (pathname === '/sts/v1/token' && seen.method === 'POST') return this.sts(new URLSearchParams(seen.body))
    if (/:generate(?:Access|Id)Token$/.test(pathname) && seen.method === 'POST') return this.iam(seen, pathname)
    if (pathname.startsWith('/computeMetadata/v1/')) return this.metadata(seen)
    if (pathname === '/subject' && seen.headers['x-custom'] === 'yes')
      return jsonAnswer({ value: this.foreign.token({ aud: this.pool, sub: 'job' }, this.clock.now()) })
    return this.no(404, 'not_found', 'no such path')
  }

  private issue(account: string, scopes: string[]): { token: string; seconds: number } {
    const token = `ya29.${randomBytes(24).toString('base64url')}`
    this.issued.set(token, { account, scopes, ends: this.clock.now() + this.life * 1000 })
    this.secrets.push(token)
    return { token, seconds: this.life }
  }

  private idToken(account: string, audience: string): string {
    const token = GOOGLE_ISSUER.token({ aud: audience, sub: '1099', email: account, email_verified: true }, this.clock.now())
    this.secrets.push(token)
    return token
  }

  private granted(account: string, scopes: string[]): Answer {
    const { token, seconds } = this.issue(account, scopes)
    return jsonAnswer({ access_token: token, expires_in: seconds, token_type: 'Bearer' })
  }

  private no(status: number, error: string, why: string): Answer {
    this.refused.push(why)
    // What the real ones say may quote what was sent.
    return jsonAnswer({ error, error_description: `${why}: ${this.secrets.join(' ')}` }, status)
  }

  private tokenEndpoint(form: URLSearchParams): Answer {
    if (form.get('grant_type') === 'refresh_token') {
      const { client_id: id, client_secret: secret, refresh_token: token } = this.person
      if (form.get('client_id') !== id || form.get('client_secret') !== secret) return this.no(401, 'invalid_client', 'client')
      return form.get('refresh_token') === token
        ? this.granted('ann@acme.example', [CLOUD])
        : this.no(400, 'invalid_grant', 'refresh token')
    }
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
      return this.no(400, 'unsupported_grant_type', 'grant type')
    const assertion = form.get('assertion') ?? ''
    this.secrets.push(assertion)
    const read = readJwt(assertion)
    const account = this.accounts.get(String(read?.claims.iss))
    if (!read || !account || read.header.kid !== 'key-1') return this.no(400, 'invalid_grant', 'account')
    const rules = {
      alg: 'RS256',
      audience: `${this.url}/token`,
      issuer: account.iss,
      key: account.publicKey,
      now: this.clock.now(),
      life: 3600,
    } as const
    const problem = jwtProblem(assertion, rules)
    if (problem) return this.no(400, 'invalid_grant', problem)
    const { target_audience: audience } = read.claims
    if (typeof audience === 'string') return jsonAnswer({ id_token: this.idToken(account.iss, audience) })
    const scopes = String(read.claims.scope).split(' ')
    return scopes.every((scope) => SCOPES.includes(scope)) ? this.granted(account.iss, scopes) : this.no(400, 'invalid_scope', 'scope')
  }

  private sts(form: URLSearchParams): Answer {
    const subject = form.get('subject_token') ?? ''
    this.secrets.push(subject)
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:token-exchange')
      return this.no(400, 'unsupported_grant_type', 'grant type')
    if (form.get('audience') !== this.pool) return this.no(400, 'invalid_target', 'audience')
    if (form.get('subject_token_type') !== 'urn:ietf:params:oauth:token-type:jwt')
      return this.no(400, 'invalid_request', 'subject token type')
    if (form.get('requested_token_type') !== 'urn:ietf:params:oauth:token-type:access_token')
      return this.no(400, 'invalid_request', 'token type')
    const { iss: issuer, publicKey: key } = this.foreign
    const problem = jwtProblem(subject, { alg: 'RS256', audience: this.pool, issuer, key, now: this.clock.now(), life: 3600 })
    if (problem) return this.no(400, 'invalid_grant', problem)
    const scopes = (form.get('scope') ?? '').split(' ')
    return scopes.every((scope) => SCOPES.includes(scope)) ? this.granted('principal:job', scopes) : this.no(400, 'invalid_scope', 'scope')
  }

  private iam(seen: Seen, path: string): Answer {
    const caller = this.tokenCaller(seen)
    const denied = (status: number, word: string, why: string): Answer => {
      this.refused.push(why)
      return jsonAnswer({ error: { code: status, status: word, message: `${why} ${seen.headers.authorization}` } }, status)
    }
    if (caller === undefined) return denied(401, 'UNAUTHENTICATED', 'token of the caller')
    const target = /\/v1\/projects\/-\/serviceAccounts\/([^/:]+):generate(?:Access|Id)Token$/.exec(path)?.[1] ?? ''
    if (this.mayActAs.get(caller) !== decodeURIComponent(target))
      return denied(403, 'PERMISSION_DENIED', `${caller} may not act as ${target}`)
    const { scope, lifetime, audience, includeEmail } = seen.json
    if (path.endsWith(':generateIdToken')) {
      if (typeof audience !== 'string' || includeEmail !== true) return denied(400, 'INVALID_ARGUMENT', 'audience or email')
      return jsonAnswer({ token: this.idToken(decodeURIComponent(target), audience) })
    }
    const life = Number(/^(\d+)s$/.exec(String(lifetime))?.[1] ?? Number.NaN)
    const scopes = Array.isArray(scope) ? scope.map(String) : []
    if (
      !(life > 0 && life <= 3600) ||
      scopes.length === 0 ||
      !scopes.every((each) => SCOPES.includes(each)) ||
      list(seen.json.delegates).length > 0
    )
      return denied(400, 'INVALID_ARGUMENT', 'scope or lifetime')
    const { token } = this.issue(decodeURIComponent(target), scopes)
    return jsonAnswer({ accessToken: token, expireTime: new Date(this.clock.now() + this.life * 1000).toISOString() })
  }

  /** A token is kept until five minutes before its end. */
  private metadata(seen: Seen): Answer {
    const { pathname, searchParams } = new URL(seen.path, this.url)
    if (seen.headers['metadata-flavor'] !== 'Google' || seen.headers['x-forwarded-for'] !== undefined)
      return this.no(403, 'forbidden', 'header')
    const flavor = { 'metadata-flavor': 'Google' }
    if (pathname === '/computeMetadata/v1/instance/service-accounts/default/identity') {
      const audience = searchParams.get('audience')
      if (audience === null || searchParams.get('format') !== 'full') return this.no(400, 'invalid_request', 'audience or format')
      return { headers: flavor, body: [this.idToken(NODE, audience)] }
    }
    if (pathname !== '/computeMetadata/v1/instance/service-accounts/default/token') return this.no(404, 'not_found', 'path')
    const scopes = (searchParams.get('scopes') ?? CLOUD).split(',')
    const now = this.clock.now()
    const known = this.cached === undefined ? undefined : this.issued.get(this.cached)
    if (!known || known.ends - now < 300_000) this.cached = this.issue(NODE, scopes).token
    const ends = this.issued.get(this.cached ?? '')?.ends ?? now
    const body = { access_token: this.cached, expires_in: Math.floor((ends - now) / 1000), token_type: 'Bearer' }
    return jsonAnswer(body, 200, flavor)
  }
}
