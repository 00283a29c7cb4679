/** Exports to files: written beside their name, synced, and then renamed, so that a reader never sees a part of one. */
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Delivery, Destination, FileTarget } from './destination.ts'

export class FileDestination implements Destination {
  readonly place: string

  constructor({ path }: FileTarget) {
    this.place = resolve(path)
  }

  async deliver({ name, body }: Delivery): Promise<void> {
    const path = join(this.place, name)
    const folder = dirname(path)
    await mkdir(folder, { recursive: true })
    const part = `${path}.part`
    const file = await open(part, 'w', 0o640)
    try {
      await file.writeFile(body)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, path)
    // The name is safe only once its folder is.
    const directory = await open(folder, 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }

  close(): void {}
}
