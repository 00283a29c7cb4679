/** `${command:LINE}`: what a command writes to its standard output, such as that of a password manager. */
import { exec } from 'node:child_process'
import { SECRET_CAP, SECRET_TIMEOUT, type SecretSource } from './types.ts'

export const commandSecrets: SecretSource = {
  scheme: 'command',
  // By the shell of the system, since people paste lines with quotes, pipes and variables.
  open:
    ({ env, directory }) =>
    (line) =>
      new Promise((resolve, reject) => {
        exec(line, { cwd: directory, env, timeout: SECRET_TIMEOUT, maxBuffer: SECRET_CAP, killSignal: 'SIGKILL' }, (error, output) => {
          if (!error) resolve(output)
          else reject(new Error(problemOf(error)))
        })
      }),
}

/** Never what the command wrote, which may be the secret. */
function problemOf({ code, killed }: { code?: number | string | undefined; killed?: boolean | undefined }): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it wrote more than ${SECRET_CAP} bytes`
  if (killed) return `it ran longer than ${SECRET_TIMEOUT / 1000} s`
  return typeof code === 'number' ? `it ended with code ${code}` : (code ?? 'it was ended by a signal')
}
