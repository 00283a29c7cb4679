/** Folder of the recordings. Where they are missing, their tests say so loudly and count as skipped. */
import type { Test } from 'tap'
import { recordingsFolder } from './cassettes.ts'

/** @returns undefined, with the skip on record, where the machine does not have them. */
export function requiredFolder(t: Pick<Test, 'pass'>): string | undefined {
  const folder = recordingsFolder()
  if (folder !== undefined) return folder
  process.stderr.write('\n*** No recordings of provider traffic: their tests are SKIPPED (set HEADGATE_RECORDINGS to their folder) ***\n\n')
  t.pass('recorded traffic', { skip: 'no folder with recordings' })
  return undefined
}
