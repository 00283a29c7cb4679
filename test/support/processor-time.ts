/** Processor time of what a process has started: of its children that have ended, and of theirs. */
import { readFileSync } from 'node:fs'

/** Linux counts it in hundredths of a second for every program, whatever the kernel's own clock does (proc(5), `USER_HZ`). */
const TICK = 10

/** @returns milliseconds of user and system, those of children that were not waited for missing; 0 where there is no `/proc`. */
export function ofChildren(): number {
  try {
    // The name of the program, in brackets, may hold blanks: the fields are counted from behind it.
    const stat = readFileSync('/proc/self/stat', 'latin1')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15)
    return (Number(user) + Number(system)) * TICK
  } catch {
    return 0
  }
}

/** @returns milliseconds of this process and of what it has started. */
export function ofAll(): number {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1000) + ofChildren()
}
