/** Files on disk, one folder per key under one directory. */

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/clock.ts'
import { FileIds, Folder, isFileId, OneByOne } from './folder.ts'
import type { FileFacts, FileLimits, FilePage, FileQuery, FileStore, KeyFiles, StoredFile } from './types.ts'
import { DiskUpload, onDisk, type UploadPlace } from './upload.ts'

interface DiskFilesSettings extends FileLimits {
  /** Absent: a directory of its own among the temporary ones, which goes with the process. */
  path?: string | undefined
}

export class DiskFiles implements FileStore {
  private readonly settings: DiskFilesSettings
  private readonly clock: Pick<Clock, 'now'>
  private readonly ids = new FileIds()
  private readonly pages = new FilePages()
  /** By the folder that has the quota: only those into which something is written. */
  private readonly shared = new Map<string, Pick<UploadPlace, 'live' | 'looks'>>()
  private temporary: string | undefined

  constructor(settings: DiskFilesSettings, clock: Pick<Clock, 'now'>) {
    this.settings = settings
    this.clock = clock
  }

  owns(id: string): boolean {
    return isFileId(id)
  }

  async forget(identity: string): Promise<void> {
    if (this.settings.path === undefined && this.temporary === undefined) return
    await onDisk(() => this.folder(identity).clear())
  }

  of(identity: string, issuer?: string): KeyFiles {
    const folder = this.folder(identity, issuer)
    return {
      begin: () => this.begin(folder),
      put: (bytes, facts) => this.put(folder, bytes, facts),
      page: (query) => onDisk(() => this.pages.page(folder, query)),
      find: (id) => onDisk(() => folder.find(id)),
      read: (id) => onDisk(() => folder.read(id)),
      open: (id) => onDisk(() => folder.open(id)),
      remove: (id) => onDisk(() => folder.remove(id)),
    }
  }

  /** Files outlive the process unless their directory is a temporary one. */
  close(): void {
    if (this.temporary !== undefined) rmSync(this.temporary, { recursive: true, force: true })
    this.temporary = undefined
  }

  private folder(identity: string, issuer?: string): Folder {
    const path = join(this.root(), createHash('sha256').update(identity).digest('hex'))
    return new Folder(path, issuer === undefined ? undefined : this.folder(issuer))
  }

  private root(): string {
    const { path } = this.settings
    if (path !== undefined) return path
    this.temporary ??= mkdtempSync(join(tmpdir(), 'headgate-files-'))
    return this.temporary
  }

  private async begin(folder: Folder): Promise<DiskUpload> {
    const now = this.clock.now()
    let shared = this.shared.get(folder.quota.path)
    if (!shared) {
      shared = { live: new Set(), looks: new OneByOne() }
      this.shared.set(folder.quota.path, shared)
    }
    return DiskUpload.begin({ folder, ...shared, now, limits: this.settings, id: this.ids.next(now) })
  }

  private async put(folder: Folder, bytes: Uint8Array, facts: FileFacts): Promise<StoredFile> {
    const upload = await this.begin(folder)
    try {
      await upload.write(bytes)
      return await upload.finish(facts)
    } finally {
      await upload.abandon()
    }
  }
}

export type { FileFacts, FileLimits, FilePage, FileQuery, FileStore, FileUpload, KeyFiles, StoredFile } from './types.ts'

/** Facts that are kept over all folders, less than 1 KB each: those of two full folders. */
const MAX_KEPT = 20_000

/** Listing that the requests for pages of one folder share while there are any. */
interface Reading {
  turns: OneByOne
  /** Requests so far, and how many of them have not ended. */
  arrived: number
  open: number
  /** Ids in order, and how many of the requests had arrived before the folder was looked through. */
  look: { ids: readonly string[]; before: number } | undefined
}

/**
 * Pages of folders. What a page needs is read by one request at a time and folder, and the facts of files, which never change, are
 * kept: a folder may have 10,000 files, and reading them for every request at once would block the event loop.
 */
class FilePages {
  /** By id; whether a file is there only its folder says. Made with the first file, since it takes the room for all at once. */
  private facts: LRUCache<string, StoredFile> | undefined
  /** By path. */
  private readonly readings = new Map<string, Reading>()

  async page(folder: Folder, query: FileQuery): Promise<FilePage> {
    const { path } = folder
    let reading = this.readings.get(path)
    if (!reading) {
      reading = { turns: new OneByOne(), arrived: 0, open: 0, look: undefined }
      this.readings.set(path, reading)
    }
    const shared = reading
    const number = ++shared.arrived
    shared.open++
    try {
      return await shared.turns.run(async () => {
        // A page that needs no reading takes a few milliseconds: others come in between.
        await nextTurn()
        return this.pick(folder, await idsFor(number, folder, shared), query)
      })
    } finally {
      if (--shared.open === 0) this.readings.delete(path)
    }
  }

  private async pick(folder: Folder, ids: readonly string[], { after, limit, newestFirst, purpose }: FileQuery): Promise<FilePage> {
    const files: StoredFile[] = []
    for (let at = 0; at < ids.length; at++) {
      const id = ids[newestFirst ? ids.length - 1 - at : at]
      if (id === undefined) break
      if (after !== undefined && (newestFirst ? id >= after : id <= after)) continue
      const file = this.facts?.get(id) ?? (await this.read(folder, id))
      if (!file || (purpose !== undefined && file.purpose !== purpose)) continue
      if (files.length === limit) return { files, more: true }
      files.push(file)
    }
    return { files, more: false }
  }

  private async read(folder: Folder, id: string): Promise<StoredFile | undefined> {
    const file = await folder.find(id)
    if (file) {
      this.facts ??= new LRUCache({ max: MAX_KEPT })
      this.facts.set(id, file)
    }
    return file
  }
}

/** A request sees all that was stored before it came, also by other processes: an earlier look is not enough. */
async function idsFor(number: number, folder: Folder, reading: Reading): Promise<readonly string[]> {
  if (reading.look === undefined || reading.look.before < number) {
    const before = reading.arrived
    reading.look = { ids: await folder.ids(), before }
  }
  return reading.look.ids
}
