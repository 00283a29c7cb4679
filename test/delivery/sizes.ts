/**
 * Sizes of what is delivered, in megabytes (10⁶ bytes): the one place that the pages take them from. The tests of delivery measure each
 * anew, and `HEADGATE_WRITE=1` writes what they found; `test/documents/figures.test.ts` holds the pages to the file.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

const FILE = join(import.meta.dirname, 'sizes.json')
/** A release of a library moves a size a little: beyond this part of it the pages are wrong. */
const TOLERATED = 0.03

export type Sizes = Readonly<
  Record<
    | 'installed'
    | 'installed_node'
    | 'installed_headers'
    | 'installed_without_node'
    | 'clone'
    | 'clone_node'
    | 'single_file'
    | 'single_file_stripped',
    number
  >
>

export const stated = (): Sizes => JSON.parse(readFileSync(FILE, 'utf8')) as Sizes

/** Compares a size with what the pages say, or writes it. */
export function checkSize(t: Test, name: keyof Sizes, bytes: number): void {
  const now = Math.round(bytes / 1e6)
  const sizes = stated()
  if (process.env.HEADGATE_WRITE === '1') writeFileSync(FILE, `${JSON.stringify({ ...sizes, [name]: now }, null, 2)}\n`)
  else {
    const most = Math.max(1, sizes[name] * TOLERATED)
    t.ok(Math.abs(now - sizes[name]) <= most, `${name}: ${now} MB, the pages say ${sizes[name]}: HEADGATE_WRITE=1 npm run test:delivery`)
  }
}
