/** Sign-in: a key consents to a further one for an application, and the application fetches it with the code. */
import { Type } from 'typebox'
import { asFault, Fault } from '../../core/faults.ts'
import { authorize, checkKeyRequest, requireSignIn } from '../auth-code.ts'
import { checkExchange, exchangeCode } from '../auth-exchange.ts'
import { withNotes } from '../openapi.ts'
import { type Operation, operation } from '../operation.ts'
import { data, text } from '../schemas.ts'
import { KEY_NOTES } from './keys.ts'

const NOTES = {
  ...KEY_NOTES,
  callback_url: 'Address to which the user returns with the code.',
  code_challenge: 'PKCE challenge (RFC 7636): only the application that has its verifier receives the key.',
  code_challenge_method: 'How the challenge was computed.',
  usage_limit_type: 'Same as `limit_reset` of a key.',
  key_label: 'Name of the new key.',
  code: 'The code from the callback.',
  code_verifier: 'PKCE verifier: the value from which the challenge was computed.',
}

/** Bytes: every field is short. */
const MAX_BYTES = 16 * 1024

const signsIn = {
  tag: 'Sign-in',
  maxBody: MAX_BYTES,
  requires: (source: Parameters<typeof requireSignIn>[0]) => void requireSignIn(source),
} as const

export const signInOperations: readonly Operation[] = [
  operation('POST /auth/keys/code', {
    ...signsIn,
    id: 'createAuthCode',
    audit: 'sign_in_code.created',
    roles: ['member'],
    summary: 'Create a sign-in code for an application',
    body: {
      schema: withNotes(checkKeyRequest.schema, NOTES),
      examples: {
        proof: {
          summary: 'With PKCE (RFC 7636)',
          value: {
            callback_url: 'https://app.example/back',
            key_label: 'app',
            code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
            code_challenge_method: 'S256',
          },
        },
      },
    },
    reply: {
      description: 'A code that works once, for ten minutes.',
      schema: data(Type.Object({ id: text('The code.'), app_id: Type.Integer(), created_at: text() })),
    },
    faults: ['not_found', 'conflict', 'rate_limited'],
    async handle({ key: { hash, shown, identity, token }, body }, source) {
      // A further key would outlive the token or the certificate, and its issuer would not know of it.
      if (token) throw new Fault('forbidden', { message: 'A token or a certificate cannot sign in to applications: use a key' })
      const { codes } = source.buckets
      codes.check(identity)
      codes.count(identity)
      return authorize(await body(), shown ?? hash, source)
    },
  }),
  operation('POST /auth/keys', {
    ...signsIn,
    id: 'exchangeAuthCode',
    audit: 'key.created',
    roles: 'none',
    summary: 'Exchange a code for a key',
    body: {
      schema: withNotes(checkExchange.schema, NOTES),
      examples: {
        plain: {
          summary: 'With the PKCE verifier',
          value: { code: 'the-code', code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' },
        },
      },
    },
    reply: { description: 'The key.', schema: Type.Object({ key: text('The secret, shown this once.'), user_id: Type.String() }) },
    faults: ['not_found', 'forbidden', 'rate_limited'],
    async handle(call, source) {
      const { wrongCodes } = source.buckets
      const address = call.address()
      wrongCodes.check(address)
      try {
        return await exchangeCode(await call.body(), source)
      } catch (thrown) {
        if (asFault(thrown).status === 403) wrongCodes.count(address)
        throw thrown
      }
    },
  }),
]
