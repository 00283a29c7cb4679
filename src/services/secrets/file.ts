/** `${file:PATH}`: a file, such as one that Kubernetes, Docker or systemd mounts. */
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SECRET_CAP, type SecretSource } from './types.ts'

export const fileSecrets: SecretSource = {
  scheme: 'file',
  open:
    ({ directory }) =>
    async (name) => {
      const file = await open(resolve(directory, name)).catch((error: NodeJS.ErrnoException) => {
        throw new Error(error.code ?? 'unreadable')
      })
      try {
        if (!(await file.stat()).isFile()) throw new Error('it is no file')
        const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(SECRET_CAP + 1), position: 0 })
        if (bytesRead > SECRET_CAP) throw new Error(`it is longer than ${SECRET_CAP} bytes`)
        return buffer.toString('utf8', 0, bytesRead)
      } finally {
        await file.close()
      }
    },
}
