/** Reads SQLite's write-ahead log from outside (https://www.sqlite.org/fileformat2.html, section 4). */

const HEADER = 32
const FRAME_HEADER = 24

export interface Frame {
  /** Offsets in the log. */
  readonly start: number
  readonly end: number
  /** True for the last frame of a transaction. */
  readonly commits: boolean
}

/** The frames that count: those behind them are left over from before the log was begun anew. */
export function logFrames(log: Buffer): Frame[] {
  const size = FRAME_HEADER + log.readUInt32BE(8)
  const salts = log.subarray(16, 24)
  const frames: Frame[] = []
  for (let start = HEADER; start + size <= log.length; start += size) {
    if (!log.subarray(start + 8, start + 16).equals(salts)) break
    frames.push({ start, end: start + size, commits: log.readUInt32BE(start + 4) !== 0 })
  }
  return frames
}

/** Transactions that lie before an offset as a whole. */
export function commitsBefore(frames: readonly Frame[], offset: number): number {
  return frames.filter(({ commits, end }) => commits && end <= offset).length
}

/** Numbers of the pages that hold nothing at all: the leaves of the list of free pages (section 1.5). */
export function freePages(file: Buffer): number[] {
  const size = file.readUInt16BE(16)
  const free: number[] = []
  for (let trunk = file.readUInt32BE(32); trunk !== 0; ) {
    const at = (trunk - 1) * size
    for (let leaf = 0; leaf < file.readUInt32BE(at + 4); leaf++) free.push(file.readUInt32BE(at + 8 + 4 * leaf))
    trunk = file.readUInt32BE(at)
  }
  return free
}
