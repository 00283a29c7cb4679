/** Files and programs of this machine, as `headgate check` looks at them: without reading a secret into a message. */
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const isReadable = (file: string): boolean => hasAccess(file, constants.R_OK)

/** True if the program is there: at its path, or in a folder of `PATH`. */
export function isProgram(program: string, { PATH: path = '' }: Readonly<Record<string, string | undefined>>): boolean {
  const files = program.includes('/') ? [program] : path.split(delimiter).map((folder) => join(folder, program))
  return files.some((file) => hasAccess(file, constants.X_OK))
}

/** The text of a file; empty where it cannot be read. */
export function readableText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function hasAccess(file: string, mode: number): boolean {
  try {
    accessSync(file, mode)
    return true
  } catch {
    return false
  }
}
