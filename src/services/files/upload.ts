/** A file on its way to the disk, within the limits of its key. */
import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { asFault, Fault } from '../../core/faults.ts'
import { abandonUpload, removeAbandoned } from './abandoned-uploads.ts'
import type { Folder, OneByOne } from './folder.ts'
import type { FileFacts, FileLimits, FileUpload, StoredFile } from './types.ts'

/** Files are counted one by one. */
const MAX_FILES = 10_000

export interface UploadPlace {
  folder: Folder
  limits: FileLimits
  /** Uploads of this process into the folders that share the quota. */
  live: Set<DiskUpload>
  /** Looks through the folder: a long one takes a while, and many at once would block the event loop. */
  looks: OneByOne
  id: string
  /** Milliseconds since the epoch. */
  now: number
}

export class DiskUpload implements FileUpload {
  readonly id: string
  private readonly place: UploadPlace
  private readonly handle: FileHandle
  private readonly hash: Hash = createHash('sha256')
  /** Bytes of the folders that share the quota when it began, without those of uploads of this process. */
  private readonly before: number
  private written = 0
  private ended = false

  private constructor(place: UploadPlace, handle: FileHandle, before: number) {
    this.id = place.id
    this.place = place
    this.handle = handle
    this.before = before
    place.live.add(this)
  }

  /** @throws Fault 413 where the key can have no further file, 503. */
  static begin(place: UploadPlace): Promise<DiskUpload> {
    return onDisk(async () => {
      const { folder, live, looks, limits, now } = place
      const { files, bytes } = await looks.run(async () => {
        await removeAbandoned(folder, now)
        return folder.sharedContent(now, new Set([...live].map(({ id }) => id)))
      })
      if (files + live.size >= MAX_FILES)
        throw new Fault('too_large', {
          message: `The key has ${MAX_FILES} files already, with those of keys that share its limits: remove some first`,
        })
      if (bytes >= limits.maxBytes) throw full(limits)
      await folder.make()
      return new DiskUpload(place, await open(folder.bytesPath(place.id), 'wx', 0o600), bytes)
    })
  }

  write(chunk: Uint8Array): Promise<void> {
    const { limits, live } = this.place
    this.written += chunk.length
    if (this.written > limits.maxFile)
      throw new Fault('too_large', { message: `The file is larger than ${limits.maxFile} bytes`, metadata: { field: 'file' } })
    let together = this.before
    for (const upload of live) together += upload.written
    if (together > limits.maxBytes) throw full(limits)
    this.hash.update(chunk)
    return onDisk(async () => {
      for (let from = 0; from < chunk.length; ) from += (await this.handle.write(chunk, from)).bytesWritten
    })
  }

  finish(facts: FileFacts): Promise<StoredFile> {
    return onDisk(async () => {
      const { folder, limits, now, live, looks } = this.place
      await this.handle.sync()
      // Another process may have taken room meanwhile; its bytes are all there before it looks itself, so one of two sees both.
      if ((await looks.run(() => folder.sharedContent(now))).bytes > limits.maxBytes) throw full(limits)
      const file: StoredFile = { id: this.id, ...facts, bytes: this.written, created: now, sha256: this.hash.digest('hex') }
      await folder.publish(file)
      this.ended = true
      live.delete(this)
      await this.handle.close()
      return file
    })
  }

  async abandon(): Promise<void> {
    if (this.ended) return
    this.ended = true
    const { folder, live } = this.place
    await abandonUpload(folder, this.id, this.handle)
    live.delete(this)
  }
}

function full({ maxBytes }: FileLimits): Fault {
  return new Fault('too_large', {
    message: `The files of this key may have ${maxBytes} bytes together, with those of keys that share its limits: remove some first`,
  })
}

/** Turns every error of the disk into a fault of the gateway. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    const fault = asFault(thrown)
    if (fault.code !== 'internal') throw fault
    throw new Fault('unavailable', {
      message: 'Service temporarily unavailable: the files of this gateway cannot be reached',
      cause: thrown,
    })
  }
}
