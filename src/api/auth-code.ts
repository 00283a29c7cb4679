/**
 * POST /v1/auth/keys/code: a key consents that an application gets a key of its own. The application receives a code and
 * exchanges it. Codes stand in the store of keys, under a name that no secret can have: it is what all processes see,
 * what removes one thing exactly once, and what outlives a restart.
 */

import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { GATEWAY_ORIGIN } from '../core/audit-entries.ts'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { MAX_USD } from '../core/money.ts'
import { usdText } from '../core/money-text.ts'
import { nameIn } from '../core/plain-name.ts'
import { isManager } from '../core/roles.ts'
import { secretHash } from '../core/secret.ts'
import { WINDOWS } from '../core/windows.ts'
import type { ApiKey, LimitReset } from '../plugin-api/key.ts'
import { codeName, isCode, OPENS_NOTHING, type StoredKey } from '../store/keys.ts'
import { hashesBy } from '../store/rotated-keys.ts'
import { MAX_CALLBACK_LENGTH, parseCallback, type SignInPolicy } from './auth-callback.ts'
import { type Challenge, checkedChallenge, PROOF_METHODS } from './auth-proof.ts'
import { refuseOtherWorkspace } from './key-body.ts'
import type { KeySource } from './key-entry.ts'
import { dollarNano, parseReset, parseTime } from './key-fields.ts'
import { type ChangeSource, keyActor } from './origin.ts'
import { type ApiReply, ok } from './reply.ts'

/** Milliseconds for which a code can be exchanged. */
const CODE_LIFE = 600_000
/** Codes of one key that wait at once, and living keys that came from one key. */
const MAX_WAITING = 50
const MAX_GIVEN = 100
/** Codes that are looked at for late ones whenever one is made. Each place is as likely as any other, so that none stays for long. */
const SWEPT = 16
const CODE_BYTES = 32

/** Request of an application for a key, checked as far as is possible without the key that consents. */
export interface KeyRequest {
  readonly callback: URL
  readonly challenge: Challenge | undefined
  /** Nano-dollars; undefined where the request sets none. */
  readonly limit: number | undefined
  readonly reset: LimitReset | undefined
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | undefined
  readonly name: string
}

const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

export const checkKeyRequest = checker(
  Type.Object(
    {
      callback_url: Type.String({ minLength: 1, maxLength: MAX_CALLBACK_LENGTH }),
      code_challenge: Type.Optional(Type.String()),
      code_challenge_method: Type.Optional(Type.Enum([...PROOF_METHODS])),
      limit: nullable(Type.Number({ minimum: 0, maximum: MAX_USD })),
      usage_limit_type: nullable(Type.Enum([...WINDOWS])),
      expires_at: nullable(Type.String()),
      key_label: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      workspace_id: Type.Optional(Type.String()),
      // Sent by some programs that start others; nothing here counts them.
      spawn_agent: Type.Optional(Type.String()),
      spawn_cloud: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
)

/** @param now milliseconds since the epoch. @throws Fault 400 naming the field, also one that is unknown. */
export function parseKeyRequest(body: JsonObject, now: number, policy: SignInPolicy): KeyRequest {
  checkKeyRequest(body)
  const { code_challenge: challenge, code_challenge_method: method, limit, expires_at: expires, key_label: name } = body
  refuseOtherWorkspace(body)
  const callback = parseCallback(String(body.callback_url), policy)
  return {
    callback,
    challenge: checkedChallenge(
      typeof challenge === 'string' ? challenge : undefined,
      PROOF_METHODS.find((one) => one === method),
      policy.pkce === 'required',
    ),
    limit: typeof limit === 'number' ? dollarNano(limit) : undefined,
    reset: parseReset(body.usage_limit_type) ?? undefined,
    expiresAt: typeof expires === 'string' ? parseTime(expires, now) : undefined,
    name: typeof name === 'string' ? nameIn(name, 'key_label') : callback.host,
  }
}

/**
 * @param hash of the key that consents. The new key will draw on its limit, budgets and rates, and have its models and providers.
 * @throws Fault 400 naming what would be more; 401, 403 for a key that cannot consent; 409 where too much waits.
 */
export async function makeCode(
  keyRequest: KeyRequest,
  hash: string,
  source: KeySource & ChangeSource,
): Promise<{ code: string; createdAt: number }> {
  const now = Math.floor(source.clock.now())
  const consenter = await findConsenter(hash, source)
  if (!consenter) throw new Fault('invalid_key')
  const terms = grantedTerms(keyRequest, consenter)
  await makeRoom(consenter, now, source)
  const code = randomBytes(CODE_BYTES).toString('base64url')
  const name = codeName(secretHash(code))
  const made = {
    ...OPENS_NOTHING,
    identity: name,
    hash: name,
    name: keyRequest.name,
    ...terms,
    consent: {
      by: consenter.identity,
      hash: consenter.shown ?? consenter.hash,
      code: { until: now + CODE_LIFE, hash, ...keyRequest.challenge },
    },
  }
  await source.store.put(made, { ...source.origin, actor: keyActor(consenter) })
  await sweep(name, now, source)
  return { code, createdAt: now }
}

/** @throws Fault 404 where the configuration does not switch sign-in on. */
export function requireSignIn({ signIn }: Pick<KeySource, 'signIn'>): SignInPolicy {
  if (!signIn) throw new Fault('not_found', { message: 'Sign-in is switched off: auth.sign_in of the configuration switches it on' })
  return signIn
}

/** @param consenter hash of the key that was sent along. @throws Fault as `makeCode` and `parseKeyRequest`. */
export async function authorize(body: JsonObject, consenter: string, source: KeySource & ChangeSource): Promise<ApiReply> {
  const keyRequest = parseKeyRequest(body, source.clock.now(), requireSignIn(source))
  const { code, createdAt } = await makeCode(keyRequest, consenter, source)
  const application = Number.parseInt(secretHash(keyRequest.callback.origin).slice(0, 8), 16)
  return ok({ data: { id: code, app_id: application, created_at: new Date(createdAt).toISOString() } })
}

/**
 * The key as it is now. @returns undefined for one that is gone, disabled or expired.
 * @throws Fault 403 for one that may not consent: a management key, or one that was itself given to an application.
 */
export async function findConsenter(hash: string, source: KeySource): Promise<ApiKey | StoredKey | undefined> {
  const key = source.configured.find((one) => one.hash === hash) ?? (await source.store.find(hash))
  if (!key || key.disabled || (key.expiresAt !== null && key.expiresAt <= source.clock.now())) return undefined
  if (isManager(key)) throw new Fault('forbidden', { message: 'Management keys cannot sign in to applications: use an ordinary key' })
  if ('consent' in key && key.consent)
    throw new Fault('forbidden', { message: 'A key that was given to an application cannot sign in to further ones' })
  return key
}

type Terms = Pick<ApiKey, 'limit' | 'limitReset' | 'expiresAt'>

function grantedTerms({ limit, reset, expiresAt }: KeyRequest, key: ApiKey | StoredKey): Terms {
  if (expiresAt !== undefined && key.expiresAt !== null && expiresAt > key.expiresAt)
    throw badField('expires_at', `must not be later than the end of the key that consents, ${new Date(key.expiresAt).toISOString()}`)
  const limitReset = reset ?? null
  // A cap below the issuer's limit, which holds as well. In another window either may be reached first.
  if (limit !== undefined && key.limit !== null && limit > key.limit && limitReset === key.limitReset)
    throw badField('limit', `must be at most ${usdText(key.limit)}, the limit of the key that consents`)
  return { limit: limit ?? null, limitReset, expiresAt: expiresAt ?? key.expiresAt }
}

/** A code that waits may become a key: both count towards the keys that one key may have given. */
async function makeRoom(consenter: ApiKey, now: number, { store }: KeySource): Promise<void> {
  const { identity } = consenter
  // In an overlap keys of both secrets are valid.
  const hashes = hashesBy(consenter)
  let waiting = 0
  let given = 0
  for (const key of await store.issuedBy(identity, now)) {
    if (isLate(key, now)) await store.remove(key.hash, GATEWAY_ORIGIN)
    else if (isCode(key)) waiting++
    else if (!key.disabled && (key.consent?.hash === undefined || hashes.includes(key.consent.hash))) given++
  }
  if (waiting >= MAX_WAITING) throw new Fault('conflict', { message: `${MAX_WAITING} codes of this key wait already: try again later` })
  if (given + waiting >= MAX_GIVEN)
    throw new Fault('conflict', { message: `${MAX_GIVEN} applications have a key from this one already, or a code for one` })
}

/** Removes late codes of any key among the few behind one that has just been made, where need be from the first one on. */
async function sweep(name: string, now: number, { store }: KeySource): Promise<void> {
  const codes = (await store.listAfter(name, SWEPT)).filter(isCode)
  const rest = SWEPT - codes.length
  for (const key of rest > 0 ? [...codes, ...(await store.listAfter(codeName(''), rest))] : codes)
    if (isLate(key, now)) await store.remove(key.hash, GATEWAY_ORIGIN)
}

function isLate(key: StoredKey, now: number): boolean {
  return isCode(key) && key.consent.code.until <= now
}
