/** A file system of its own for one directory, small enough to be filled, that outlives the programs which use it. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { LAUNCHER } from '../launcher.ts'
import type { Program } from '../program.ts'
import { ROOT, runShell } from './processes.ts'

/** Flags of `unshare`, and with them of `nsenter`, by which this user may mount something that nobody else sees. */
const WAYS = [
  { unshare: '-m', enter: '-m' },
  { unshare: '-Urm', enter: '-U -m --preserve-credentials' },
] as const

/** The way that works on this machine; undefined where none does. */
function wayToMount(): (typeof WAYS)[number] | undefined {
  return WAYS.find(({ unshare }) => spawnSync('unshare', [unshare, 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']).status === 0)
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ')
const FILLER = 'filler'

export class SmallDisk {
  private readonly keeper: Program
  private readonly enter: string
  private readonly directory: string

  private constructor(keeper: Program, enter: string, directory: string) {
    this.keeper = keeper
    this.enter = enter
    this.directory = directory
  }

  /** @param size as mount takes it, such as `1m`. @returns undefined where this machine does not allow it. */
  static async mount(directory: string, size: string): Promise<SmallDisk | undefined> {
    const way = wayToMount()
    if (!way) return undefined
    const mount = `mount -t tmpfs -o size=${size} tmpfs ${quoted([directory])}`
    const keeper = runShell(`exec unshare ${way.unshare} bash -c "${mount} && echo mounted && exec sleep infinity"`)
    await keeper.until(/mounted/)
    return new SmallDisk(keeper, way.enter, directory)
  }

  /** Runs the gateway's command line where the directory lies on this disk. */
  run(args: readonly string[]): Program {
    const command = quoted([process.execPath, LAUNCHER, ...args])
    return runShell(`exec nsenter -t ${this.keeper.child.pid} ${this.enter} --wd=${quoted([ROOT])} ${command}`)
  }

  /** Takes all the room that is left. */
  fill(): void {
    const filler = openSync(this.path(FILLER), 'a')
    try {
      for (let size = 65_536; size >= 512; ) if (!written(filler, Buffer.alloc(size))) size /= 2
    } finally {
      closeSync(filler)
    }
  }

  /** Gives the room back. */
  free(): void {
    unlinkSync(this.path(FILLER))
  }

  /** Path of a file on this disk from outside. */
  path(name: string): string {
    return join('/proc', String(this.keeper.child.pid), 'root', this.directory, name)
  }

  async close(): Promise<void> {
    this.keeper.child.kill('SIGKILL')
    await this.keeper.exited
  }
}

function written(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) === bytes.length
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false
    throw error
  }
}
