/** POST /v1/auth/keys: a code becomes the key that was consented to, once. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { makeSecret, secretHash } from '../core/secret.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { type CodeKey, codeName, isCode, type StoredKey } from '../store/keys.ts'
import { findConsenter, requireSignIn } from './auth-code.ts'
import { PROOF_METHODS, type ProofMethod, proves } from './auth-proof.ts'
import type { KeySource } from './key-entry.ts'
import { type ChangeSource, keyActor } from './origin.ts'
import { type ApiReply, ok } from './reply.ts'

const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

export const checkExchange = checker(
  Type.Object(
    {
      code: Type.String({ minLength: 1, maxLength: 512 }),
      code_verifier: nullable(Type.String({ maxLength: 512 })),
      code_challenge_method: nullable(Type.Enum([...PROOF_METHODS])),
    },
    { additionalProperties: false },
  ),
)

/**
 * The new key does what the key that consented may do, as long as that one lives; its secret cannot be read again.
 * @throws Fault 400 naming the field, also where the method is not that of the code; 403 for a code that is unknown, used
 *   or late, whose consent is no longer good, or that the verifier does not fit.
 */
export async function exchangeCode(body: JsonObject, source: KeySource & ChangeSource): Promise<ApiReply> {
  requireSignIn(source)
  checkExchange(body)
  const code = await waitingCode(String(body.code), source)
  const { code_verifier: verifier, code_challenge_method: method } = body
  checkProof(
    code,
    typeof verifier === 'string' ? verifier : undefined,
    PROOF_METHODS.find((one) => one === method),
  )
  const consenter = await findConsenter(code.consent.code.hash, source)
  if (!consenter) throw new Fault('forbidden', { message: 'The key that consented can no longer be used' })
  // The application that has the code acts for the key that consented.
  const origin = { ...source.origin, actor: keyActor(consenter) }
  // Of all that come with the same code, one finds it there.
  if (!(await source.store.remove(code.hash, origin))) throw unknownCode()
  const { secret, ...made } = makeSecret(source.brand)
  const creator = ('creator' in consenter ? consenter.creator : null) ?? consenter.name
  await source.store.put({ ...given(code, consenter), ...made, identity: made.hash, creator }, origin)
  return ok({ key: secret, user_id: creator })
}

async function waitingCode(text: string, { store, clock, origin }: KeySource & ChangeSource): Promise<CodeKey> {
  const found = await store.find(codeName(secretHash(text)))
  if (!found || !isCode(found)) throw unknownCode()
  if (found.consent.code.until > clock.now()) return found
  await store.remove(found.hash, origin)
  throw unknownCode()
}

/** A wrong proof leaves the code valid: an attacker with the code but not the verifier must not be able to spoil it. */
function checkProof({ consent: { code } }: CodeKey, verifier: string | undefined, method: ProofMethod | undefined): void {
  if (method !== undefined && method !== code.method)
    throw badField('code_challenge_method', `expected ${code.method ?? 'none'}, as when the code was requested`)
  if (code.challenge === undefined) {
    // RFC 9700 section 4.8.2: the challenge may have been taken out of the request on its way.
    if (verifier !== undefined) throw new Fault('forbidden', { message: 'code_verifier: the code was made without a challenge' })
  } else if (verifier === undefined || !proves(verifier, code.challenge))
    throw new Fault('forbidden', { message: 'code_verifier: does not fit the challenge of the code' })
}

/** Properties of the new key: those that were consented to, within the rights and limits of the key that consented. */
function given(code: CodeKey, consenter: ApiKey | StoredKey): Omit<StoredKey, 'hash' | 'label' | 'identity' | 'creator'> {
  const ends = [code.expiresAt, consenter.expiresAt].filter((end) => end !== null)
  return {
    ...code,
    disabled: false,
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
    allowedModels: consenter.allowedModels,
    provider: consenter.provider,
    limits: consenter.limits,
    passThrough: consenter.passThrough,
    includeByokInLimit: 'includeByokInLimit' in consenter && consenter.includeByokInLimit,
    consent: { by: consenter.identity, hash: consenter.shown ?? consenter.hash },
  }
}

function unknownCode(): Fault {
  return new Fault('forbidden', { message: 'The code is unknown, was used, or is older than ten minutes' })
}
