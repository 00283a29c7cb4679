/** Callers: keys, sign-in, tokens of identity providers, and client certificates. */

import { Type } from 'typebox'
import { choiceField, closed, flag, listField, withDefault } from '../fields/scalars.ts'
import { certificates, issuer } from './issuers.ts'
import { key } from './keys.ts'

export const auth = closed('API keys, tokens of identity providers, client certificates, and sign-in.', {
  keys: Type.Optional(listField('API keys. Without this list, `issuers` and `certificates`, a development key is used.', key)),
  issuers: Type.Optional(
    listField(
      'Identity providers whose tokens callers may show in the place of a key. If unset: none. See [identity.md](identity.md).',
      issuer,
    ),
  ),
  certificates: Type.Optional(certificates),
  sign_in: Type.Optional(
    closed('Lets applications request a key of their own from the holder of a key. If unset: sign-in is off.', {
      callbacks: withDefault(
        listField(
          'Addresses that codes may be sent to: origin and path. `/*` at the end allows every path below.',
          Type.String({
            description: 'An https address, such as https://app.example/back.',
            scalar: 'callback',
            maxLength: 2048,
            expected: 'an https address without query, such as https://app.example/back',
          }),
        ),
        [],
      ),
      loopback: withDefault(
        flag(
          "True: programs on the browser's own machine (`localhost`, `127.0.0.0/8`, `[::1]`) are allowed without an entry in `callbacks`.",
        ),
        true,
      ),
      pkce: withDefault(
        choiceField('`required`: only PKCE with S256. `optional`: also `plain`, or no PKCE.', ['required', 'optional']),
        'required',
      ),
    }),
  ),
})
