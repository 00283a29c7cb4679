/** `credential: { command: [...] }`: a token from the output of a program. */
import { Type } from 'typebox'
import { asWritten } from '../../../config/fields/scalars.ts'
import { isProgram } from '../../../core/local-files.ts'
import { keyGrants, LONGEST, readToken } from '../token-response.ts'
import { CredentialError, credentialSource, type Environment, type FetchToken } from '../types.ts'

export const commandSettings = asWritten(
  Type.Array(Type.String({ description: 'A word of the command.', minLength: 1, maxLength: 4096 }), {
    description:
      'Program and arguments, run without a shell; the token is what it prints, such as `[gcloud, auth, print-access-token]`. It gets the environment of the gateway.',
    minItems: 1,
    maxItems: 64,
    expected: 'a list of a program and its arguments',
  }),
)

export const command = credentialSource({
  name: 'command',
  settings: commandSettings,
  describe: ([program = '']) => `the output of ${program}`,
  problem: ([program = ''], env) => (isProgram(program, env) ? undefined : `the program ${program} is not there, or not in PATH`),
  open: (words, env) => keyGrants(commandTokens(words, env)),
})

/** Tokens that a program prints. */
export function commandTokens([program = '', ...words]: readonly string[], env: Environment): FetchToken {
  return async (signal, now) => {
    const { execFile } = await import('node:child_process')
    const output = await new Promise<string>((resolve, reject) => {
      execFile(program, words, { env, signal, maxBuffer: LONGEST, timeout: 0, windowsHide: true }, (error, stdout) => {
        if (!error) resolve(stdout)
        // Neither the message nor the output: they may quote what was passed, or be the token.
        else if (typeof error.code === 'number') reject(new CredentialError(`the command ended with code ${error.code}`))
        else reject(new CredentialError(`the command failed (${error.code ?? error.signal ?? 'stopped'})`))
      })
    })
    return readToken(output, now)
  }
}
