/** How much memory a command and all that it has started hold together: pages, files that lie in memory, and what waits in sockets. */
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
  const files = filesOf(group, folders) + socketsOf(group)
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
 * What may wait in the sockets of its own network, in the memory of the kernel, which is that of no process: of Unix sockets as much as
 * one holds at most by itself (socket(7): `wmem_default`; the filter of system calls keeps it so), since the kernel shows no more of them
 * than how many there are, and what TCP and UDP have queued.
 */
function socketsOf(group: readonly number[]): number {
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
