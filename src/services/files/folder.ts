/**
 * One key's folder. A file is its bytes under its id, and a small JSON text beside them that is renamed into place last:
 * without that there is no file, so a crash leaves none half done, and all processes see the same.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoredFile } from './types.ts'

export const FACTS = '.json'
export const UNFINISHED = '.part'

/** Milliseconds without a change after which an upload or an empty folder counts as abandoned: no upload stands still for so long. */
export const ABANDONED_MS = 3_600_000

/** Inside the folder of a key: a name for each folder of a key that it issued, so that their files count together. */
const ISSUED = 'issued'

/** Ids that are put in order at once: 10,000 together take some 50 ms. */
const RUN = 500

/** Size of a folder, bytes of unfinished files included. */
interface Content {
  files: number
  bytes: number
}

export class Folder {
  readonly path: string
  /** The folder whose key has the quota: of the issuer, or this one. */
  readonly quota: Folder

  /** @param issuer the folder of the key that issued this one's. */
  constructor(path: string, issuer?: Folder) {
    this.path = path
    this.quota = issuer ?? this
  }

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    if (this.quota === this) return
    const issued = join(this.quota.path, ISSUED)
    await mkdir(issued, { recursive: true, mode: 0o700 })
    await writeFile(join(issued, basename(this.path)), '', { mode: 0o600 })
  }

  bytesPath(id: string): string {
    return join(this.path, id)
  }

  /** Counts the folder as it is on disk. @param except ids whose bytes are counted elsewhere. */
  async content(except: ReadonlySet<string> = new Set()): Promise<Content> {
    const content = { files: 0, bytes: 0 }
    for (const name of await this.names()) {
      if (!isFileId(name) || except.has(name)) continue
      const size = await fileSize(join(this.path, name))
      if (size === undefined) continue
      content.files++
      content.bytes += size
    }
    return content
  }

  /** The same with all folders that share its quota. @param now milliseconds since the epoch. */
  async sharedContent(now: number, except?: ReadonlySet<string>): Promise<Content> {
    const { path } = this.quota
    const sum = await this.quota.content(except)
    for (const name of (await absent(readdir(join(path, ISSUED)))) ?? []) {
      const folder = new Folder(join(dirname(path), name))
      const { files, bytes } = await folder.content(except)
      sum.bytes += bytes
      if (files === 0 && (await folder.isLeft(now))) await rm(join(path, ISSUED, name), { force: true })
      // An empty folder counts as a file: else keys that upload and remove would add folders without an end, and every look reads all.
      else sum.files += Math.max(1, files)
    }
    return sum
  }

  /** Gives a file whose bytes are on disk its place among the files. */
  async publish(file: StoredFile): Promise<void> {
    const unfinished = join(this.path, `${file.id}${UNFINISHED}`)
    const handle = await open(unfinished, 'wx', 0o600)
    try {
      await handle.writeFile(JSON.stringify(file))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, join(this.path, `${file.id}${FACTS}`))
    await this.settle()
  }

  async find(id: string): Promise<StoredFile | undefined> {
    if (!isFileId(id)) return undefined
    const text = await absent(readFile(join(this.path, `${id}${FACTS}`), 'utf8'))
    return text === undefined ? undefined : factsIn(text)
  }

  read(id: string): Promise<Buffer | undefined> {
    return isFileId(id) ? absent(readFile(this.bytesPath(id))) : Promise.resolve(undefined)
  }

  async open(id: string): Promise<Readable | undefined> {
    if (!(await this.find(id))) return undefined
    const handle = await absent(open(this.bytesPath(id), 'r'))
    return handle?.createReadStream()
  }

  /** Ids of all files, the oldest first. */
  async ids(): Promise<string[]> {
    const ids = (await this.names()).filter((name) => name.endsWith(FACTS)).map((name) => name.slice(0, -FACTS.length))
    const runs: string[] = []
    for (let at = 0; at < ids.length; at += RUN) {
      runs.push(...ids.slice(at, at + RUN).sort())
      await nextTurn()
    }
    // The sort of V8 finds the runs and only merges them (TimSort).
    return runs.sort()
  }

  async remove(id: string): Promise<boolean> {
    if (!isFileId(id)) return false
    const removed = await absent(rm(join(this.path, `${id}${FACTS}`)).then(() => true))
    if (removed !== true) return false
    await this.drop(id)
    await this.settle()
    return true
  }

  /** Removes everything. */
  clear(): Promise<void> {
    return rm(this.path, { recursive: true, force: true })
  }

  /** Removes the bytes of an id that is no file. */
  async drop(id: string): Promise<void> {
    await rm(this.bytesPath(id), { force: true })
    await rm(join(this.path, `${id}${UNFINISHED}`), { force: true })
  }

  /** Removes the folder where it has long been empty. @returns true where there is none any more. */
  private async isLeft(now: number): Promise<boolean> {
    const found = await absent(stat(this.path))
    if (!found) return true
    if (found.mtimeMs > now - ABANDONED_MS || (await this.names()).length > 0) return false
    return rmdir(this.path).then(
      () => true,
      () => false,
    )
  }

  /** Names of all entries of the directory. */
  async names(): Promise<string[]> {
    return (await absent(readdir(this.path))) ?? []
  }

  /** New names outlast a loss of power. */
  private async settle(): Promise<void> {
    const handle = await open(this.path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

/** @returns undefined where the text was damaged: a file of which nothing is known is none. */
function factsIn(text: string): StoredFile | undefined {
  try {
    return JSON.parse(text) as StoredFile
  } catch {
    return undefined
  }
}

async function fileSize(path: string): Promise<number | undefined> {
  return (await absent(stat(path)))?.size
}

/** @returns undefined where there is no such file. */
export async function absent<T>(wanted: Promise<T>): Promise<T | undefined> {
  try {
    return await wanted
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

const FORM = /^file-[0-9a-z]{9}-[0-9a-f]{32}$/

export function isFileId(id: string): boolean {
  return FORM.test(id)
}

/** Ids of files: unguessable, and in the order of time. No provider's have this form. */
export class FileIds {
  private last = 0

  /** @param now milliseconds since the epoch. */
  next(now: number): string {
    this.last = Math.max(Math.floor(now), this.last + 1)
    return `file-${this.last.toString(36).padStart(9, '0')}-${randomBytes(16).toString('hex')}`
  }
}

/** Runs jobs on one thing one after the other: concurrent requests would otherwise each do the whole work from the beginning. */
export class OneByOne {
  private last: Promise<unknown> = Promise.resolve()

  /** Begins when all that came before has ended, well or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work)
    this.last = done.catch(() => {})
    return done
  }
}
