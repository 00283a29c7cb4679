/**
 * A file that entries are appended to as JSON lines. It is opened for each batch, so a rotation that renames it needs no signal: the next
 * batch makes a new one.
 */
import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Delivery, Destination } from '../exports/destination.ts'

export interface FileSinkSettings {
  readonly path: string
  readonly fsync: boolean
}

/** Readable by the account of the gateway alone. */
const MODE = 0o600
const NEWLINE = 0x0a

export class FileSink implements Destination {
  readonly place: string
  private readonly fsync: boolean

  constructor({ path, fsync }: FileSinkSettings) {
    this.place = resolve(path)
    this.fsync = fsync
  }

  async deliver({ body }: Delivery): Promise<void> {
    await mkdir(dirname(this.place), { recursive: true })
    // O_APPEND: what another program appends meanwhile is not overwritten.
    const file = await open(this.place, 'a+', MODE)
    try {
      const { size } = await file.stat()
      // A kill or a full disk has left half a line: it stays one of its own, and its entry comes again.
      const last = size === 0 ? undefined : (await file.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0]
      await file.writeFile(last === undefined || last === NEWLINE ? body : Buffer.concat([Buffer.from('\n'), body]))
      if (this.fsync) await file.sync()
    } finally {
      await file.close()
    }
  }

  close(): void {}
}
