/** Interface of a key's files. */
import type { Readable } from 'node:stream'

export interface FileFacts {
  /** As the caller named it; never part of a path. */
  name: string
  /** Its purpose, as the caller named it. */
  purpose: string
  /** Media type in lower case, without parameters. */
  type: string
}

export interface StoredFile extends FileFacts {
  /** `file-…`, unguessable; later files have greater ones. */
  id: string
  bytes: number
  /** Milliseconds since the epoch. */
  created: number
  /** SHA-256 of the bytes, hex. */
  sha256: string
}

/** A file that is being uploaded. No request can find it before it is finished. */
export interface FileUpload {
  /** Waits until the bytes are with the system. @throws Fault 413 past a limit, 503 where the disk fails. */
  write(chunk: Uint8Array): Promise<void>
  /** @throws Fault 413 where other uploads have taken the room meanwhile, 503. */
  finish(facts: FileFacts): Promise<StoredFile>
  /** Removes what has been written; without effect on a finished one. Never rejects. */
  abandon(): Promise<void>
}

export interface FileQuery {
  /** Id after which the page begins, in the requested order; it need not exist any more. */
  after?: string | undefined
  limit: number
  /** True: the newest first. */
  newestFirst: boolean
  purpose?: string | undefined
}

export interface FilePage {
  files: StoredFile[]
  /** More follow. */
  more: boolean
}

/** The files of one key: those of others do not exist. */
export interface KeyFiles {
  begin(): Promise<FileUpload>
  /** @throws Fault 413, 503. */
  put(bytes: Uint8Array, facts: FileFacts): Promise<StoredFile>
  page(query: FileQuery): Promise<FilePage>
  find(id: string): Promise<StoredFile | undefined>
  /** All bytes at once: look at `bytes` of the file first. */
  read(id: string): Promise<Buffer | undefined>
  /** The bytes as a stream, which the caller of this function ends. */
  open(id: string): Promise<Readable | undefined>
  /** @returns false where there was none. */
  remove(id: string): Promise<boolean>
}

export interface FileStore {
  /** @param identity of the key. @param issuer that of the key that issued it, whose quota it shares. */
  of(identity: string, issuer?: string): KeyFiles
  /** Removes all files of a removed key. @throws Fault 503. */
  forget(identity: string): Promise<void>
  /** True if an id has the form of ours; any other belongs to a provider. */
  owns(id: string): boolean
}

export interface FileLimits {
  /** Bytes of one file. */
  maxFile: number
  /** Bytes of all files of a key and of those that it issued. */
  maxBytes: number
}
