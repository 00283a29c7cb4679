/** Common part of secrets in the managers of the clouds. */
import { errorReason } from '../credentials/credential-refresh.ts'
import { jsonObject, withinLimit } from '../credentials/identity-call.ts'
import { CredentialError } from '../credentials/types.ts'
import { SECRET_CAP, SECRET_TIMEOUT, type SecretPlace } from './types.ts'

/** Bytes of a reply: a secret of the longest kind in base64 or with escapes, and what stands beside it. */
export const MAX_REPLY_LENGTH = 16 * SECRET_CAP

/** Runs a reading within its time. @throws Error whose message holds nothing of a secret. */
export async function withinTime<Result>({ clock }: SecretPlace, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const late = () => new CredentialError(`no answer within ${SECRET_TIMEOUT / 1000} s`)
  return await withinLimit({ clock, ms: SECRET_TIMEOUT, late }, run).catch((error: unknown) => {
    throw new Error(errorReason(error))
  })
}

/** `NAME#FIELD`, or the name alone. A field that is there is not empty. */
export function nameAndField(reference: string): { name: string; field: string | undefined } {
  const at = reference.indexOf('#')
  return at === -1 ? { name: reference, field: undefined } : { name: reference.slice(0, at), field: reference.slice(at + 1) }
}

/** The secret itself, or one field of the JSON object that it is. */
export function secretPart(secret: string, field: string | undefined): string {
  if (field === undefined) return secret
  const fields = jsonObject(secret)
  if (!fields) throw new Error(`the secret is no JSON object, which the field ${field} would be in`)
  const value = Object.hasOwn(fields, field) ? fields[field] : undefined
  if (typeof value !== 'string') throw new Error(`the secret has no text in the field ${field}`)
  return value
}
