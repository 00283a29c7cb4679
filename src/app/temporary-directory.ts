/** A directory that goes with the process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @param closers takes what removes it. @returns its path. */
export function temporaryDirectory(purpose: string, closers: (() => void)[]): string {
  const path = mkdtempSync(join(tmpdir(), `headgate-${purpose}-`))
  closers.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}
