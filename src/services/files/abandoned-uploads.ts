/**
 * Removes the bytes of uploads that never became files: those of a caller that gave up at once, those that a process has left behind when it
 * ended as soon as they are an hour old.
 */
import { type FileHandle, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ABANDONED_MS, absent, FACTS, type Folder, isFileId, UNFINISHED } from './folder.ts'

/** Never rejects: bytes that cannot be removed now are removed by a later `removeAbandoned`. */
export async function abandonUpload(folder: Folder, id: string, handle: FileHandle): Promise<void> {
  await handle.close().catch(() => {})
  await folder.drop(id).catch(() => {})
}

/** Removes what ended processes have left of uploads. @param now milliseconds since the epoch. */
export async function removeAbandoned(folder: Folder, now: number): Promise<void> {
  const names = new Set(await folder.names())
  for (const name of names) {
    const isAbandoned = name.endsWith(UNFINISHED) || (isFileId(name) && !names.has(`${name}${FACTS}`))
    if (!isAbandoned) continue
    const found = await absent(stat(join(folder.path, name)))
    if (found && found.mtimeMs <= now - ABANDONED_MS) await rm(join(folder.path, name), { force: true })
  }
}
