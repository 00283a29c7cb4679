/** Files on disk, one folder per key under one directory. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { FileIds, Folder, isFileId, OneByOne } from './folder.ts'
import { FilePages } from './pages.ts'
import type { FileFacts, FileLimits, FileStore, KeyFiles, StoredFile } from './types.ts'
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
