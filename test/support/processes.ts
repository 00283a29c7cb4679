/** Processes of this machine. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Number of processes that have the text in their words, which NUL characters end. */
export function processesWith(text: string): number {
  let found = 0
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue
    try {
      if (readFileSync(join('/proc', pid, 'cmdline'), 'utf8').includes(text)) found++
    } catch {
      // It has ended meanwhile.
    }
  }
  return found
}
