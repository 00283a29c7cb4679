/** A directory with a short path: that of a Unix socket has 107 bytes at most (unix(7)). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

export function shortDirectory(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'hg-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}
