/**
 * AWS as far as credentials go: an STS that checks signatures and web identity tokens, the metadata services of an instance (version 2)
 * and of a container, and a service that accepts signed calls only. Written from the references of STS (API version 2011-06-15) and of
 * EC2 and ECS ("Retrieve security credentials from instance metadata", "Task IAM role"), and from nothing of the gateway's.
 */
import { createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { JwtIssuer } from './clouds/jwt.ts'
import { verifySigv4 } from './sigv4-verifier.ts'
import { type Answer, JSON_TYPE, jsonAnswer, type Seen, startUpstream, type Upstream } from './upstream.ts'

export const REGION = 'us-east-1'
/** Long-lived keys of a user, as a profile would have them. */
export const USER = { accessKeyId: 'AKIAUSEREXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYUSERSECRET' }

interface Issued {
  secret: string
  token: string | undefined
  /** Milliseconds since the epoch. */
  end: number
  /** Owner of the credentials: `user`, `instance`, `container`, or the ARN of a role with the name of the session. */
  who: string
}

interface Exception {
  status: number
  headers: Record<string, string>
  body: JsonObject
}

export interface Aws {
  readonly sts: Upstream
  readonly imds: Upstream
  readonly ecs: Upstream
  readonly service: Upstream
  /** Refusal of the service for a call that it does not take; undefined for one that is signed well. */
  refusal(seen: Seen): Exception | undefined
  /** The same of another service or region. */
  refusalFor(seen: Seen, scope: { service: string; region: string }): Exception | undefined
  /** Temporary keys of somebody. */
  issue(who: string): Issued & { id: string }
  /** Signer of each call of the service that was accepted. */
  readonly callers: string[]
  /** Seconds for which new keys hold. */
  life: number
  /** Keys that the service takes for unknown. */
  readonly revoked: Set<string>
  /** Variables by which the SDK finds these. */
  readonly env: Record<'sts' | 'imds' | 'ecs', Record<string, string>>
  /** A token of the identity provider that STS trusts. @param audience for another one. */
  webIdentityToken(audience?: string): string
  close(): Promise<void>
}

const ECS_TOKEN = 'container-authorization-0123456789'
export const EXTERNAL_ID = 'partner-4711'
const TRUSTED = 'https://oidc.eks.test/id/cluster'
/** Issuer of the account's tokens for other services. */
export const AWS_ISSUER = new JwtIssuer('https://4711.tokens.sts.global.api.aws')

/** Until the test ends the process has these variables of AWS and no others: the SDK reads them there. */
export function withVariables(t: Pick<Test, 'teardown'>, variables: Record<string, string>): void {
  const before = { ...process.env }
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  Object.assign(process.env, { AWS_CONFIG_FILE: '/nonexistent', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent', ...variables })
  t.teardown(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  })
}

/** @param now milliseconds since the epoch: when keys end. @param answer of the service to a call that is signed well. */
export async function startAws(now: () => number, answer: (seen: Seen) => Answer): Promise<Aws> {
  const keys = new Map<string, Issued>([
    [USER.accessKeyId, { secret: USER.secretAccessKey, token: undefined, end: Number.POSITIVE_INFINITY, who: 'user' }],
  ])
  const identity = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicKey = createPublicKey(identity.privateKey)
  const issue = (who: string) => {
    const id = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`
    const made: Issued = {
      secret: randomBytes(30).toString('base64'),
      token: randomBytes(300).toString('base64'),
      end: now() + aws.life * 1000,
      who,
    }
    keys.set(id, made)
    return { id, ...made, ends: new Date(made.end).toISOString().replace(/\.\d+Z$/, 'Z') }
  }
  /** Signer, or the refusal. Times of signatures are those of this machine, since the SDK's clients sign by it. */
  const findSigner = (seen: Seen, service: string, at: number, region = REGION): Issued | string => {
    const verdict = verifySigv4(
      { method: seen.method, path: seen.path, headers: seen.rawHeaders, body: Buffer.from(seen.body) },
      { findSecret: (id) => keys.get(id)?.secret, now: at, region, service },
    )
    if (typeof verdict === 'string') return verdict
    const found = keys.get(verdict.accessKeyId)
    if (!found || aws.revoked.has(verdict.accessKeyId) || found.token !== verdict.sessionToken) return 'the security token is invalid'
    return found.end <= now() ? 'the security token has expired' : found
  }

  const sts = await startUpstream((seen) => {
    const form = new URLSearchParams(seen.body)
    const [action, role = '', session = ''] = ['Action', 'RoleArn', 'RoleSessionName'].map((name) => form.get(name) ?? '')
    if (form.get('Version') !== '2011-06-15') return stsError(400, 'InvalidAction', 'no such version')
    if (action === 'GetWebIdentityToken') {
      const signer = findSigner(seen, 'sts', now())
      if (typeof signer === 'string') return stsError(403, 'SignatureDoesNotMatch', signer)
      const [audience, algorithm, seconds] = ['Audience.member.1', 'SigningAlgorithm', 'DurationSeconds'].map((name) => form.get(name))
      if (audience === null || algorithm !== 'RS256' || !(Number(seconds) >= 60 && Number(seconds) <= 3600))
        return stsError(400, 'ValidationError', `audience, algorithm or duration: ${seen.body}`)
      const ends = Math.floor(now() / 1000) + Number(seconds)
      const token = AWS_ISSUER.token({ aud: audience ?? '', sub: `arn:aws:iam::4711:${signer.who}`, exp: ends }, now())
      const xml = `<GetWebIdentityTokenResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetWebIdentityTokenResult><WebIdentityToken>${token}</WebIdentityToken><Expiration>${new Date(ends * 1000).toISOString()}</Expiration></GetWebIdentityTokenResult><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></GetWebIdentityTokenResponse>`
      return { headers: { 'content-type': 'text/xml' }, body: [xml] }
    }
    if (!/^[\w+=,.@-]{2,64}$/.test(session)) return stsError(400, 'ValidationError', 'roleSessionName')
    if (action === 'AssumeRoleWithWebIdentity') {
      const refusal = jwtProblem(form.get('WebIdentityToken') ?? '', publicKey)
      if (refusal !== undefined) return stsError(400, 'InvalidIdentityToken', refusal)
    } else if (action === 'AssumeRole') {
      const signer = findSigner(seen, 'sts', Date.now())
      if (typeof signer === 'string') return stsError(403, 'SignatureDoesNotMatch', `${signer}\n\nThe Canonical String was\n${seen.body}`)
      if (role.endsWith('/partner') && form.get('ExternalId') !== EXTERNAL_ID)
        return stsError(403, 'AccessDenied', `User: ${signer.who} is not authorized to perform: sts:AssumeRole`)
    } else return stsError(400, 'InvalidAction', `${action}`)
    const made = issue(`${role}#${session}`)
    const xml = `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><AssumedRoleUser><AssumedRoleId>AROAEXAMPLE:${session}</AssumedRoleId><Arn>${role.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/${session}</Arn></AssumedRoleUser><Credentials><AccessKeyId>${made.id}</AccessKeyId><SecretAccessKey>${made.secret}</SecretAccessKey><SessionToken>${made.token}</SessionToken><Expiration>${made.ends}</Expiration></Credentials></${action}Result><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></${action}Response>`
    return { headers: { 'content-type': 'text/xml' }, body: [xml] }
  })

  const sessions = new Set<string>()
  const keysText = (who: string): string => {
    const { id, secret, token, ends } = issue(who)
    return JSON.stringify({
      Code: 'Success',
      Type: 'AWS-HMAC',
      AccessKeyId: id,
      SecretAccessKey: secret,
      Token: token,
      Expiration: ends,
      LastUpdated: ends,
    })
  }
  const imds = await startUpstream((seen) => {
    if (seen.method === 'PUT' && seen.path === '/latest/api/token') {
      if (!/^\d+$/.test(`${seen.headers['x-aws-ec2-metadata-token-ttl-seconds']}`)) return { status: 400 }
      const session = randomBytes(20).toString('base64url')
      sessions.add(session)
      return { body: [session] }
    }
    // Version 1 is switched off, as new instances have it.
    if (!sessions.has(`${seen.headers['x-aws-ec2-metadata-token']}`)) return { status: 401 }
    const folder = '/latest/meta-data/iam/security-credentials/'
    if (seen.path === folder) return { body: ['instance-role'] }
    return seen.path === `${folder}instance-role` ? { headers: JSON_TYPE, body: [keysText('instance')] } : { status: 404 }
  })

  const ecs = await startUpstream((seen) =>
    seen.headers.authorization === ECS_TOKEN ? { headers: JSON_TYPE, body: [keysText('container')] } : { status: 401 },
  )

  const service = await startUpstream((seen) => {
    const refused = aws.refusal(seen)
    return refused ? jsonAnswer(refused.body, refused.status, refused.headers) : answer(seen)
  })

  const aws: Aws = {
    sts,
    imds,
    ecs,
    service,
    refusal: (seen) => aws.refusalFor(seen, { service: 'bedrock', region: REGION }),
    refusalFor: (seen, { service, region }) => {
      const signer = findSigner(seen, service, now(), region)
      if (typeof signer === 'string') return classifyException(signer)
      aws.callers.push(signer.who)
      return undefined
    },
    issue,
    callers: [],
    life: 3600,
    revoked: new Set(),
    env: {
      sts: { AWS_ENDPOINT_URL_STS: sts.url },
      imds: { AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.url },
      ecs: { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${ecs.url}/v2/credentials`, AWS_CONTAINER_AUTHORIZATION_TOKEN: ECS_TOKEN },
    },
    webIdentityToken: (audience = 'sts.amazonaws.com') => {
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
      const claims = { iss: TRUSTED, aud: [audience], sub: 'system:serviceaccount:ai:headgate', exp: Math.floor(Date.now() / 1000) + 3600 }
      const signed = `${part({ alg: 'RS256', typ: 'JWT', kid: 'one' })}.${part(claims)}`
      return `${signed}.${sign('sha256', Buffer.from(signed), identity.privateKey).toString('base64url')}`
    },
    close: async () => {
      for (const each of [sts, imds, ecs, service]) await each.close()
    },
  }
  return aws
}

/** "Common errors" of the API reference of Bedrock, with the header as users have seen it (aws-samples/amazon-bedrock-client-for-mac issue 1). */
export function classifyException(message: string) {
  const types: readonly (readonly [RegExp, string])[] = [
    [/expired/, 'ExpiredTokenException'],
    [/security token is invalid/, 'UnrecognizedClientException'],
    [/authorization/, 'MissingAuthenticationTokenException'],
  ]
  const type = types.find(([words]) => words.test(message))?.[1] ?? 'InvalidSignatureException'
  return {
    status: 403,
    headers: { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.coral.service/` },
    body: { message },
  }
}

function stsError(status: number, code: string, message: string): Answer {
  const text = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const xml = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${text}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>`
  return { status, headers: { 'content-type': 'text/xml' }, body: [xml] }
}

/** RFC 7519 and RFC 7515: signature, issuer, audience and end. */
function jwtProblem(token: string, publicKey: ReturnType<typeof createPublicKey>): string | undefined {
  const [head = '', payload = '', signature = ''] = token.split('.')
  const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<string, unknown>
  try {
    if (read(head).alg !== 'RS256') return 'the algorithm is not RS256'
    if (!verify('sha256', Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(signature, 'base64url')))
      return 'the signature does not verify'
    const { iss, aud, exp } = read(payload)
    if (iss !== TRUSTED) return 'no provider of this issuer'
    if (![aud].flat().includes('sts.amazonaws.com')) return 'Incorrect token audience'
    return typeof exp === 'number' && exp * 1000 > Date.now() ? undefined : 'Token expired'
  } catch {
    return 'no JWT'
  }
}
