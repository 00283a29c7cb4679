/** Program of the sandbox: where it is looked for, and whether it is there. */

import type { JsonObject } from '../../core/json.ts'
import { isProgram } from '../../core/local-files.ts'
import { sandboxSettings } from './settings.ts'

/** The only variable that the program is given: where programs are. */
export const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** @param settings of the plugin `shell`, which have been read. @returns why no command can run on this machine; undefined where none is known. */
export function sandboxProblem({ sandbox }: JsonObject): string | undefined {
  const way = sandboxSettings(sandbox, 'sandbox')?.way
  const program = way?.type === 'command' ? way.command[0] : way?.program
  if (program === undefined || isProgram(program, ENVIRONMENT)) return undefined
  return `the program ${program} is not there, expected it at its path or in one of ${ENVIRONMENT.PATH}`
}
