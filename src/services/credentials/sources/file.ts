/** `credential: { file: ... }`: a token that something else keeps in a file, such as a projected token of Kubernetes. */
import { Type } from 'typebox'
import { asWritten } from '../../../config/fields/scalars.ts'
import { isReadable } from '../../../core/local-files.ts'
import { fileText } from '../identity-call.ts'
import { tokenGrant } from '../token-response.ts'
import { credentialSource, type FetchGrant } from '../types.ts'

const settings = asWritten(
  Type.String({
    description: 'Absolute path of a file with the token, which something else keeps up to date.',
    pattern: '^/[^\\x00-\\x1f]{1,4095}$',
    expected: 'an absolute path',
  }),
)

export const file = credentialSource({
  name: 'file',
  settings,
  describe: (path) => `the file ${path}`,
  problem: (path) => (isReadable(path) ? undefined : `the file ${path} cannot be read`),
  open: (path): FetchGrant => {
    return async (_, now) => tokenGrant(await fileText(path, 'the file'), now)
  },
})
