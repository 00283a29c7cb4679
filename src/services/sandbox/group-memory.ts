/** How much memory a command and all that it has started hold together, with the files that lie in memory. */
import { readFileSync, statfsSync } from 'node:fs'

/** Processes that are looked at; the limit on processes is lower as a rule. */
const MOST = 70_000

/**
 * @param pid of the process that was started.
 * @param folders in which files lie in memory, as the processes see them.
 * @returns true where they hold more than so many bytes; false where the kernel does not say (no /proc).
 */
export function groupHoldsMore(pid: number, bytes: number, folders: readonly string[]): boolean {
  const group = descendantsOf(pid)
  const files = filesOf(group, folders)
  // Each page of a fork counts in full here and once for all in the exact figure, which takes longer to read.
  if (files + sumOf(group, 'status', RESIDENT) <= bytes) return false
  return files + sumOf(group, 'smaps_rollup', /^(?:Pss_Anon|Pss_Shmem):\s+(\d+) kB$/gm, 'status') > bytes
}

function descendantsOf(pid: number): number[] {
  const group = [pid]
  for (let at = 0; at < group.length && group.length < MOST; at++) {
    const parent = group[at] ?? pid
    group.push(...read(`/proc/${parent}/task/${parent}/children`).split(' ').filter(Boolean).map(Number))
  }
  return group
}

const RESIDENT = /^(?:RssAnon|RssShmem):\s+(\d+) kB$/gm

/** Bytes. @param otherwise the file to read where the first may not be read. */
function sumOf(group: readonly number[], file: string, lines: RegExp, otherwise?: string): number {
  let kilobytes = 0
  for (const pid of group) {
    const text = read(`/proc/${pid}/${file}`)
    const found = [...text.matchAll(lines)]
    const counted = found.length === 0 && otherwise !== undefined ? read(`/proc/${pid}/${otherwise}`).matchAll(RESIDENT) : found
    for (const [, number] of counted) kilobytes += Number(number)
  }
  return kilobytes * 1024
}

/** What lies in the folders of the first process that has file systems of its own: the last one that was started sees the same. */
function filesOf(group: readonly number[], folders: readonly string[]): number {
  const inside = group.at(-1)
  if (inside === undefined || group.length < 2) return 0
  let bytes = 0
  for (const folder of folders) {
    try {
      const { type, blocks, bfree, bsize } = statfsSync(`/proc/${inside}/root${folder}`)
      if (type === TMPFS) bytes += (blocks - bfree) * bsize
    } catch {
      // It has ended meanwhile.
    }
  }
  return bytes
}

/** TMPFS_MAGIC of linux/magic.h. */
const TMPFS = 0x0102_1994

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // The process has ended, or its figures may not be read.
    return ''
  }
}
