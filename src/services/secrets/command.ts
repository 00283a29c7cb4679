/** `${command:LINE}`: what a command writes to its standard output, such as that of a password manager. */
import { spawn } from 'node:child_process'
import { SECRET_CAP, SECRET_TIMEOUT, type SecretPlace, type SecretSource } from './types.ts'

export const commandSecrets: SecretSource = {
  scheme: 'command',
  open: (place) => (line) => runCommand(line, place),
}

/** Rejects with words that never hold what the command wrote, which may be the secret. */
function runCommand(line: string, { env, directory, clock }: SecretPlace): Promise<string> {
  return new Promise((resolve, reject) => {
    // By the shell of the system, since people paste lines with quotes, pipes and variables. In a group of its own, so that what the
    // shell has started ends with it.
    const child = spawn(line, { shell: true, cwd: directory, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    const chunks: Buffer[] = []
    let size = 0
    const fail = (why: string): void => {
      timer.cancel()
      child.stdout.destroy()
      endGroup(child.pid)
      reject(new Error(why))
    }
    const timer = clock.after(SECRET_TIMEOUT, () => fail(`it ran longer than ${SECRET_TIMEOUT / 1000} s`))
    child.on('error', ({ code }: NodeJS.ErrnoException) => fail(code ?? 'it cannot be started'))
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > SECRET_CAP) fail(`it wrote more than ${SECRET_CAP} bytes`)
      else chunks.push(chunk)
    })
    child.on('close', (code) => {
      timer.cancel()
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
      else reject(new Error(code === null ? 'it was ended by a signal' : `it ended with code ${code}`))
    })
  })
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
