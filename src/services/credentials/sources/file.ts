/** `credential: { file: ... }`: a token that something else keeps in a file, such as a projected token of Kubernetes. */
import { Type } from 'typebox'
import { asWritten } from '../../../config/fields/scalars.ts'
import { isReadable } from '../../../core/local-files.ts'
import { fileText } from '../identity-call.ts'
import { keyGrants, readToken } from '../token-response.ts'
import { credentialSource, type FetchToken } from '../types.ts'

export const fileSettings = asWritten(
  Type.String({
    description: 'Absolute path of a file with the token, which something else keeps up to date.',
    pattern: '^/[^\\x00-\\x1f]{1,4095}$',
    expected: 'an absolute path',
  }),
)

export const file = credentialSource({
  name: 'file',
  settings: fileSettings,
  describe: (path) => `the file ${path}`,
  problem: (path) => (isReadable(path) ? undefined : `the file ${path} cannot be read`),
  open: (path) => keyGrants(fileTokens(path)),
})

/** Tokens that stand in a file, which is read anew each time. */
export function fileTokens(path: string): FetchToken {
  return async (_, now) => readToken(await fileText(path, 'the file'), now)
}
