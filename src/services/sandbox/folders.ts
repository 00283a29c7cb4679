/**
 * A working folder per container and key, kept for a while after its last command. What holds is on disk, so that all
 * processes of the gateway see the same: beside each folder a marker, whose time of change is when the folder goes.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, opendir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NOBODY } from './argv.ts'

const MARKER = '.until'
/** Entries that a container may have; counting stops there. */
const MAX_ENTRIES = 20_000

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

export class Folders {
  private readonly root: string
  /** True where the commands run as another user. */
  private readonly foreign: boolean

  constructor(root: string, foreign: boolean) {
    this.root = root
    this.foreign = foreign
  }

  /** @param until milliseconds since the epoch. @param most containers that the key may have. */
  async open(key: string, container: string, { until, most }: { until: number; most: number }): Promise<string> {
    await this.ownRoot()
    const home = join(this.root, digest(key))
    const mode = this.foreign ? 0o711 : 0o700
    await mkdir(home, { recursive: true, mode })
    const folder = join(home, digest(container))
    await this.makeRoom(home, folder, most)
    await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting)
    if (this.foreign) await chown(folder, NOBODY, NOBODY)
    await this.keep(folder, until)
    return folder
  }

  async keep(folder: string, until: number): Promise<void> {
    const marker = folder + MARKER
    await writeFile(marker, '', { mode: 0o600 })
    await utimes(marker, until / 1000, until / 1000)
  }

  async remove(folder: string): Promise<void> {
    await removeTree(folder)
    await rm(folder + MARKER, { force: true })
  }

  /** Removes what has slept for long enough. @param now milliseconds since the epoch. @returns how many are left. */
  async sweep(now: number): Promise<number> {
    let left = 0
    for (const home of await names(this.root)) {
      for (const { folder, until } of await containers(join(this.root, home))) {
        if (until <= now) await this.remove(folder)
        else left++
      }
    }
    return left
  }

  /** All users may write to the folder for temporary files, so the folder at our path must belong to this user alone. */
  private async ownRoot(): Promise<void> {
    await mkdir(this.root, { recursive: true, mode: 0o700 })
    const { uid, mode } = await stat(this.root)
    if (uid !== process.getuid?.()) throw new Error('the folder of the sandbox belongs to another user')
    const wanted = this.foreign ? 0o711 : 0o700
    if ((mode & 0o777) !== wanted) await chmod(this.root, wanted)
  }

  private async makeRoom(home: string, wanted: string, most: number): Promise<void> {
    const others = (await containers(home)).filter(({ folder }) => folder !== wanted)
    others.sort((a, b) => a.until - b.until)
    for (const { folder } of others.slice(0, Math.max(0, others.length - most + 1))) await this.remove(folder)
  }
}

async function containers(home: string): Promise<{ folder: string; until: number }[]> {
  const markers = (await names(home)).filter((name) => name.endsWith(MARKER))
  const found: { folder: string; until: number }[] = []
  for (const marker of markers) {
    const facts = await stat(join(home, marker)).catch(() => undefined)
    if (facts) found.push({ folder: join(home, marker.slice(0, -MARKER.length)), until: facts.mtimeMs })
  }
  return found
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** True where a folder holds more than `most` bytes or too many entries, or cannot be measured. */
export async function holdsMore(folder: string, most: number, mostEntries = MAX_ENTRIES): Promise<boolean> {
  let bytes = 0
  let entries = 0
  const waiting = [folder]
  try {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      for await (const entry of await opendir(path)) {
        if (++entries > mostEntries) return true
        const inner = join(path, entry.name)
        if (entry.isDirectory()) waiting.push(inner)
        // Counts the blocks on disk, not the length: a hole in a file takes no space.
        else bytes += ((await lstat(inner).catch(() => undefined))?.blocks ?? 0) * 512
        if (bytes > most) return true
      }
    }
    return false
  } catch (error) {
    // It may have gone while it was read.
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT')
  }
}

/** By the system's own program: paths may be longer than a call takes, and folders may be locked by their owner. */
function removeTree(folder: string): Promise<void> {
  const script = 'chmod -R u+rwX "$1" 2>/dev/null; rm -rf "$1"'
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', script, 'sh', folder], { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } })
    child.on('error', () => resolve())
    child.on('close', () => resolve())
  })
}
