/** Errors of sign-ins and logins as the log and people read them. */
import { CredentialError } from '../credentials/types.ts'

/** Codes of the library and of RFC 6749, 5.2, which quote nothing. */
export function signInProblem(thrown: unknown): string {
  if (thrown instanceof CredentialError) return thrown.message
  const { code, error, cause } = thrown as { code?: unknown; error?: unknown; cause?: unknown }
  const words = [error, code, (cause as { claim?: unknown } | undefined)?.claim].filter(
    (each): each is string => typeof each === 'string' && /^\w{1,64}$/.test(each),
  )
  return words.length > 0 ? words.join(', ') : 'the reply of the issuer cannot be used'
}
