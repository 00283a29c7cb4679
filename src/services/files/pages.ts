/**
 * Pages of folders. What a page needs is read by one request at a time and folder, and the facts of files, which never change, are
 * kept: a folder may have 10,000 files, and reading them for every request at once would block the event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type Folder, OneByOne } from './folder.ts'
import type { FilePage, FileQuery, StoredFile } from './types.ts'

/** Facts that are kept over all folders, less than 1 KB each: those of two full folders. */
const MOST_KEPT = 20_000

/** What the requests for pages of one folder share while there are any. */
interface Reading {
  turns: OneByOne
  /** Requests so far, and how many of them have not ended. */
  arrived: number
  open: number
  /** Ids in order, and how many of the requests had arrived before the folder was looked through. */
  look: { ids: readonly string[]; before: number } | undefined
}

export class FilePages {
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
      this.facts ??= new LRUCache({ max: MOST_KEPT })
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
