import { fileURLToPath } from 'node:url'
import { fileText } from '../core/program-files.ts'

/** The version of this program, as its package states it. */
export function programVersion(): string {
  const text = fileText(fileURLToPath(new URL('../../package.json', import.meta.url)))
  return (JSON.parse(text) as { version: string }).version
}
