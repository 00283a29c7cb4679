/** Ids of files: unguessable, and in the order of time. No provider's have this form. */
import { randomBytes } from 'node:crypto'

const FORM = /^file-[0-9a-z]{9}-[0-9a-f]{32}$/

export function isFileId(id: string): boolean {
  return FORM.test(id)
}

export class FileIds {
  private last = 0

  /** @param now milliseconds since the epoch. */
  next(now: number): string {
    this.last = Math.max(Math.floor(now), this.last + 1)
    return `file-${this.last.toString(36).padStart(9, '0')}-${randomBytes(16).toString('hex')}`
  }
}
