/** `credential: { file: ... }`: a token that something else keeps in a file, such as a projected token of Kubernetes. */
import { Type } from 'typebox'
import { asWritten } from '../../../config/fields/scalars.ts'
import { LONGEST, tokenGrant } from '../token-answer.ts'
import { CredentialError, credentialSource, type FetchGrant } from '../types.ts'

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
  open: (path): FetchGrant => {
    return async (signal, now) => {
      const { open } = await import('node:fs/promises')
      const handle = await open(path)
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(LONGEST + 1), 0, LONGEST + 1, 0)
        signal.throwIfAborted()
        if (bytesRead > LONGEST) throw new CredentialError('the file is too long for a token')
        return tokenGrant(buffer.toString('utf8', 0, bytesRead), now)
      } finally {
        await handle.close()
      }
    }
  },
})
