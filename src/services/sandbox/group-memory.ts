/** Memory that a command and all that it has started hold together: pages, files that lie in memory, and what waits in pipes and sockets. */
import { readFileSync, statfsSync } from 'node:fs'
import { groupPipes, type Opener, pipeBytes } from './pipe-memory.ts'

/** Processes that are looked at; the limit on processes is lower as a rule. */
const MOST = 70_000

/**
 * @param pid of the process that was started.
 * @param folders in which files lie in memory, as the processes see them.
 * @returns true where they hold more than so many bytes; false where the kernel does not say (no /proc).
 */
export function groupHoldsMore(pid: number, bytes: number, folders: readonly string[]): boolean {
  const group = listDescendants(pid)
  const statuses = group.map((each) => read(`/proc/${each}/status`))
  const files = groupFiles(group, folders) + groupSockets(group)
  // Each page of a fork counts in full here and once for all in the exact figure, which takes longer to read; so do open files.
  const resident = sumKilobytes(statuses, RESIDENT)
  const openers = group.map((each, at): Opener => ({ pid: each, slots: Number(SLOTS.exec(statuses[at] ?? '')?.[1] ?? 0) }))
  const slots = openers.reduce((sum, each) => sum + each.slots, 0)
  if (files + resident + slots * pipeBytes() <= bytes) return false
  const held = files + groupPipes(openers)
  if (held + resident <= bytes) return false
  return held + group.reduce((sum, each, at) => sum + exactly(each, statuses[at] ?? ''), 0) > bytes
}

function listDescendants(pid: number): number[] {
  const group = [pid]
  for (let at = 0; at < group.length && group.length < MOST; at++) {
    const parent = group[at] ?? pid
    group.push(...read(`/proc/${parent}/task/${parent}/children`).split(' ').filter(Boolean).map(Number))
  }
  return group
}

/** Lines of /proc/PID/status (proc(5)): pages, those that are swapped out, and the tables of them; how many files it has room for. */
const RESIDENT = /^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB$/gm
const TABLES = /^VmPTE:\s+(\d+) kB$/gm
const SLOTS = /^FDSize:\s+(\d+)$/m
/** Of /proc/PID/smaps_rollup: a page that several have counts in parts. */
const SHARES = /^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB$/gm

/** Bytes of one process; its status says them where the shares may not be read. */
function exactly(pid: number, status: string): number {
  const shares = read(`/proc/${pid}/smaps_rollup`)
  return shares === '' ? sumKilobytes([status], RESIDENT) : sumKilobytes([shares], SHARES) + sumKilobytes([status], TABLES)
}

/** Bytes. */
function sumKilobytes(texts: readonly string[], lines: RegExp): number {
  let kilobytes = 0
  for (const text of texts) for (const [, number] of text.matchAll(lines)) kilobytes += Number(number)
  return kilobytes * 1024
}

/** Files in the folders of the first process that has file systems of its own: the last one that was started sees the same. */
function groupFiles(group: readonly number[], folders: readonly string[]): number {
  const inside = group.at(-1)
  if (inside === undefined || group.length < 2) return 0
  let bytes = 0
  for (const folder of folders) {
    try {
      const { type, blocks, bfree, bsize, files, ffree } = statfsSync(`/proc/${inside}/root${folder}`)
      if (type === TMPFS) bytes += (blocks - bfree) * bsize + (files - ffree) * INODE_BYTES
    } catch {
      // It has ended meanwhile.
    }
  }
  return bytes
}

/** An empty file or folder in memory has no page, but an inode and a name: some 700 and 200 bytes (`shmem_inode_cache`, `dentry` of /proc/slabinfo). */
const INODE_BYTES = 1_024

/**
 * Bytes that may wait in the sockets of its own network, in the memory of the kernel, which is that of no process: of Unix sockets as much as
 * one holds at most by itself (socket(7): `wmem_default`; the filter of system calls keeps it so), since the kernel shows no more of them
 * than how many there are, and what TCP and UDP have queued.
 */
function groupSockets(group: readonly number[]): number {
  const inside = group.at(-1)
  // The first process is outside, in the network of the machine.
  if (inside === undefined || group.length < 2) return 0
  const [, used = '0'] = /^sockets: used (\d+)/.exec(read(`/proc/${inside}/net/sockstat`)) ?? []
  let queued = 0
  for (const protocol of ['tcp', 'tcp6', 'udp', 'udp6'])
    for (const [, sent = '', received = ''] of read(`/proc/${inside}/net/${protocol}`).matchAll(QUEUES))
      queued += Number.parseInt(sent, 16) + Number.parseInt(received, 16)
  return Number(used) * SOCKET_BYTES + queued
}

/** The columns `st` and `tx_queue:rx_queue` of proc(5), net/tcp. */
const QUEUES = / [0-9A-F]{2} ([0-9A-F]{8}):([0-9A-F]{8}) /g

/** The kernel's own default where the machine does not say. */
const SOCKET_BYTES = Number(read('/proc/sys/net/core/wmem_default')) || 212_992

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
