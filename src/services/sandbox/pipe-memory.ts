/** Bytes that the pipes and terminals which processes have open may hold, in the memory of the kernel: each as much as it holds at most. */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs'

/** A process, and for how many open files it has room. */
export interface Opener {
  readonly pid: number
  readonly slots: number
}

/** A pipe holds so many pages at first (`PIPE_DEF_BUFFERS` of linux/pipe_fs_i.h); the filter of system calls keeps it so. */
const PAGES = 16

/** Open files that are looked at, some five microseconds each; beyond them each counts as a pipe. */
const MAX_LOOKED_AT = 4_096

let bytesOfPipe = 0

/** Of one pipe; a terminal holds less (`TTYB_DEFAULT_MEM_LIMIT` of drivers/tty/tty_buffer.c). */
export function pipeBytes(): number {
  bytesOfPipe ||= PAGES * pageBytes()
  return bytesOfPipe
}

/** Bytes. One pipe of several processes counts once. */
export function groupPipes(group: readonly Opener[]): number {
  const pipes = new Set<string>()
  let others = 0
  let looks = 0
  for (const { pid, slots } of group) {
    const names = looks < MAX_LOOKED_AT ? pidFiles(pid) : undefined
    if (!names) {
      others += openFiles(pid) ?? slots
      continue
    }
    for (const name of names) {
      if (looks++ >= MAX_LOOKED_AT) {
        others++
        continue
      }
      const file = fileStatus(`/proc/${pid}/fd/${name}`)
      if (file?.isFIFO()) pipes.add(`${file.dev} ${file.ino}`)
      else if (file?.isCharacterDevice() && isTerminal(file.rdev)) others++
    }
  }
  return (pipes.size + others) * pipeBytes()
}

/** /dev/ptmx is 5:2 (Documentation/admin-guide/devices.txt): each that is open is a terminal of its own. */
const isTerminal = (device: number): boolean => device === 0x502

/** @returns undefined where they may not be listed. */
function pidFiles(pid: number): string[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch (error) {
    return isGone(error) ? [] : undefined
  }
}

/** Number that a process has open (proc(5), since Linux 6.2); undefined where the kernel does not say. */
function openFiles(pid: number): number | undefined {
  return fileStatus(`/proc/${pid}/fd`)?.size || undefined
}

function fileStatus(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const isGone = (error: unknown): boolean => error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')

/** AT_PAGESZ of the auxiliary vector: pairs of words (getauxval(3)). */
const PAGE_SIZE = 6n
const MIN_PAGE = 4_096

function pageBytes(): number {
  try {
    const vector = readFileSync('/proc/self/auxv')
    for (let at = 0; at + 16 <= vector.length; at += 16)
      if (vector.readBigUInt64LE(at) === PAGE_SIZE) return Number(vector.readBigUInt64LE(at + 8))
  } catch {
    // No /proc.
  }
  return MIN_PAGE
}
