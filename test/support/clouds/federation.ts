/**
 * Exchanges of tokens at OpenAI and Anthropic, and their APIs, on one address. An exchange is accepted in the form alone that the SDKs send
 * (npm openai 7.59.0, @anthropic-ai/sdk 1.14.0): `test/clients/federation.test.ts` runs these against it.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { AWS_ISSUER } from '../aws.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../upstream.ts'
import { GOOGLE_ISSUER } from './google.ts'
import { JwtIssuer, jwtProblem, readJwt } from './jwt.ts'

export const OPENAI = { identity_provider_id: 'idp_4711', service_account_id: 'user-4711' }
export const ANTHROPIC = {
  federation_rule_id: 'fdrl_4711',
  organization_id: '11111111-2222-4333-8444-555555555555',
  service_account_id: 'svac_4711',
}
export const WORKSPACE = 'wrkspc_4711'
/** Audiences as the providers' guides have them. */
export const AUDIENCES = { openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com' } as const
const CLUSTER = new JwtIssuer('https://oidc.cluster.example')
const OAUTH_BETA = 'oauth-2025-04-20'

type Provider = keyof typeof AUDIENCES

export class Federation {
  readonly clock: Clock
  /** Seconds for which an access token holds. */
  life = 3600
  /** Answer of both exchanges, in place of their own. */
  instead: Answer | undefined
  readonly secrets: string[] = []
  readonly refused: string[] = []
  /** Exchanges, as they came. */
  readonly exchanges: Seen[] = []
  /** Keys that the APIs take beside tokens. */
  readonly keys = new Set<unknown>()
  /** Tokens of issuers whose tokens have no form of their own. */
  knows: (token: string) => boolean = () => false
  private readonly issued = new Map<string, { provider: Provider; ends: number }>()
  /** Answer of an API to a call with a token that holds. */
  private readonly answers: (seen: Seen) => Answer
  readonly server: Upstream

  private constructor(clock: Clock, server: Upstream, answers: (seen: Seen) => Answer) {
    this.clock = clock
    this.server = server
    this.answers = answers
  }

  static async start(clock: Clock, answers: (seen: Seen) => Answer): Promise<Federation> {
    const server = await startUpstream(() => jsonAnswer({}))
    const made = new Federation(clock, server, answers)
    server.script = (seen) => made.answer(seen)
    return made
  }

  get url(): string {
    return this.server.url
  }

  /** Calls of the APIs, without the exchanges. */
  get calls(): Seen[] {
    return this.server.requests.filter((seen) => !seen.path.endsWith('/oauth/token'))
  }

  /** A projected service-account token. */
  clusterToken(audience: string, claims: JsonObject = {}): string {
    const token = CLUSTER.token({ aud: audience, sub: 'system:serviceaccount:ai:headgate', ...claims }, this.clock.now())
    this.secrets.push(token)
    return token
  }

  revoke(): void {
    this.issued.clear()
  }

  private answer(seen: Seen): Answer {
    if (seen.path === '/oauth/token') return this.exchange(seen, 'openai')
    if (seen.path === '/v1/oauth/token') return this.exchange(seen, 'anthropic')
    const provider: Provider = seen.path.startsWith('/openai/') ? 'openai' : 'anthropic'
    const { 'x-api-key': key = `${seen.headers.authorization}`.replace(/^Bearer /, ''), 'anthropic-beta': beta } = seen.headers
    if (this.keys.has(key) && !`${beta}`.includes(OAUTH_BETA)) return this.answers(seen)
    const token = this.issued.get(`${seen.headers.authorization}`.replace(/^Bearer /, ''))
    const hasKey = seen.headers['x-api-key'] !== undefined
    const betas = `${seen.headers['anthropic-beta'] ?? ''}`.split(',')
    const lacksBeta = provider === 'anthropic' && betas.filter((name) => name === OAUTH_BETA).length !== 1
    if (token?.provider === provider && token.ends > this.clock.now() && !hasKey && !lacksBeta) return this.answers(seen)
    const error = { type: 'authentication_error', code: 'invalid_api_key', message: `bad token ${seen.headers.authorization}` }
    return jsonAnswer({ type: 'error', error }, 401)
  }

  private exchange(seen: Seen, provider: Provider): Answer {
    this.exchanges.push(seen)
    if (this.instead) return this.instead
    const problem = provider === 'openai' ? this.openaiProblem(seen) : this.anthropicProblem(seen)
    if (problem !== undefined) {
      this.refused.push(problem)
      return jsonAnswer({ error: 'invalid_grant', error_description: `${problem}: ${seen.body}` }, 401)
    }
    const token = `sk-ant-oat01-${randomBytes(24).toString('base64url')}`
    this.issued.set(token, { provider, ends: this.clock.now() + this.life * 1000 })
    this.secrets.push(token)
    const issued = provider === 'openai' ? { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' } : {}
    return jsonAnswer({ access_token: token, token_type: 'Bearer', expires_in: this.life, ...issued })
  }

  private openaiProblem({ method, headers, json }: Seen): string | undefined {
    if (method !== 'POST' || headers['content-type'] !== 'application/json') return 'no JSON'
    const { grant_type: grant, subject_token: token, subject_token_type: type, ...ids } = json
    if (grant !== 'urn:ietf:params:oauth:grant-type:token-exchange') return 'grant type'
    if (JSON.stringify(ids) !== JSON.stringify(OPENAI)) return 'ids'
    const isIdToken = readJwt(String(token))?.claims.iss === GOOGLE_ISSUER.iss
    if (type !== `urn:ietf:params:oauth:token-type:${isIdToken ? 'id_token' : 'jwt'}`) return 'type of the subject token'
    return this.tokenProblem(String(token), 'openai')
  }

  private anthropicProblem({ method, headers, json }: Seen): string | undefined {
    if (method !== 'POST' || headers['content-type'] !== 'application/json') return 'no JSON'
    if (headers['anthropic-beta'] !== `${OAUTH_BETA},oidc-federation-2026-04-01`) return 'betas'
    const { grant_type: grant, assertion, workspace_id: workspace, ...ids } = json
    if (grant !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return 'grant type'
    if (JSON.stringify(ids) !== JSON.stringify(ANTHROPIC)) return 'ids'
    if (workspace !== undefined && workspace !== WORKSPACE) return 'workspace'
    return this.tokenProblem(String(assertion), 'anthropic')
  }

  private tokenProblem(token: string, provider: Provider): string | undefined {
    if (this.knows(token)) return undefined
    const issuer = [CLUSTER, GOOGLE_ISSUER, AWS_ISSUER].find(({ iss }) => iss === readJwt(token)?.claims.iss)
    if (!issuer) return 'issuer'
    const { iss, publicKey: key } = issuer
    return jwtProblem(token, { alg: 'RS256', audience: AUDIENCES[provider], issuer: iss, key, now: this.clock.now(), life: 86_400 })
  }
}
