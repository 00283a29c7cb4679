/** Members of identity providers: people and programs that an issuer names. */
import { secretHash } from './secret.ts'

/**
 * Identity of a member: the same for every token and every sign-in of an issuer and a member
 * (docs/decisions/0086-callers-with-tokens.md). The NUL stands in no secret, so no key of the store, whose identity is the digest of its
 * first secret, has it.
 */
export function memberIdentity(issuer: string, member: string): string {
  return secretHash(`member\0${issuer}\0${member}`)
}
