/** Ways in which a store's disk takes no more, all undone at will. */
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { LAUNCHER } from '../launcher.ts'
import type { Program } from '../program.ts'
import { runShell } from './processes.ts'

export interface Disk {
  readonly name: string
  /** True where nothing at all can be written: else what is there already may be written over, so that some commits still succeed. */
  readonly firm: boolean
  /** Runs the program so that `directory` lies on this disk. */
  start(file: string, directory: string): Program
  /** Settings of the ledger with which faults of this disk are noticed. */
  readonly durability: 'process' | 'power'
  /** From here on it takes no more. */
  fill(program: Program, directory: string): void | Promise<void>
  free(program: Program, directory: string): void | Promise<void>
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ')
const serve = (file: string): string => quoted([process.execPath, LAUNCHER, '--config', file])

const limit = (program: Program, bytes: string): void => {
  execFileSync('prlimit', [`--pid=${program.child.pid}`, `--fsize=${bytes}:unlimited`])
}

/** The system refuses every write to a file (EFBIG): works for everybody. */
const limited: Disk = {
  name: 'no file can be written',
  firm: true,
  durability: 'process',
  start: (file) => runShell(`exec ${serve(file)}`),
  fill: (program) => limit(program, '0'),
  free: (program) => limit(program, 'unlimited'),
}

/** Flags of `unshare` with which this user may mount something that nobody else sees; undefined where none do. */
function mountFlags(): string | undefined {
  return ['-m', '-Urm'].find(
    (flags) => spawnSync('unshare', [flags, 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']).status === 0,
  )
}

const FILLER = 'filler'
/** Path of the program's own view of the directory, from outside. */
const seenBy = (program: Program, directory: string): string => join('/proc', String(program.child.pid), 'root', directory)

/** A file system of one megabyte in a mount space of its own, and nothing left on it (ENOSPC). */
function small(flags: string): Disk {
  return {
    name: 'the disk is full',
    firm: false,
    durability: 'process',
    start: (file, directory) => {
      const mount = `mount -t tmpfs -o size=1m tmpfs ${quoted([directory])}`
      return runShell(`exec unshare ${flags} bash -c "${mount} && exec ${serve(file)}"`)
    },
    fill: (program, directory) => {
      const filler = openSync(join(seenBy(program, directory), FILLER), 'w')
      try {
        for (const page = Buffer.alloc(4096); ; ) writeSync(filler, page)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      } finally {
        closeSync(filler)
      }
    },
    free: (program, directory) => unlinkSync(join(seenBy(program, directory), FILLER)),
  }
}

/** A tracer that makes system calls of a running process fail; it detaches at the interrupt signal. */
function failing(): Disk {
  let tracer: Program | undefined
  return {
    name: 'what is written cannot be flushed (EIO)',
    firm: true,
    durability: 'power',
    start: (file) => runShell(`exec ${serve(file)}`),
    fill: async (program) => {
      tracer = runShell(`exec strace -f -p ${program.child.pid} -e trace=fsync,fdatasync -e inject=fsync,fdatasync:error=EIO`)
      await tracer.until(/attached/)
    },
    free: async () => {
      tracer?.child.kill('SIGINT')
      await tracer?.exited
    },
  }
}

/** True where a process of one's own may be traced. */
function canTrace(): boolean {
  return spawnSync('strace', ['-e', 'trace=fsync', 'true']).status === 0
}

/** Says loudly what this machine cannot do. */
function missing(what: string, needs: string): void {
  process.stderr.write(`\n*** ${what} cannot be tested here and is SKIPPED: it takes ${needs} ***\n\n`)
}

/** Those that this machine has; the first one always is. What is left out is told on standard error. */
export function disks(): readonly Disk[] {
  const found = [limited]
  const flags = mountFlags()
  if (flags !== undefined) found.push(small(flags))
  else missing('A full disk', 'the right to mount a tmpfs')
  if (canTrace()) found.push(failing())
  else missing('A disk that cannot flush', 'strace, and the right to trace')
  return found
}
