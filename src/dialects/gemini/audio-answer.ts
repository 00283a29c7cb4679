/** Audio of an answer: it comes in pieces and leaves as one. */
import type { JsonObject } from '../../core/json.ts'
import { audioFormat } from './mime-types.ts'

export class AudioAnswer {
  private mimeType: string | undefined
  private readonly pieces: Buffer[] = []
  private transcript = ''

  /** @param data base64; pieces are cut between bytes, not between letters. */
  add(mimeType: string, data: string): void {
    this.mimeType ??= mimeType
    this.pieces.push(Buffer.from(data, 'base64'))
  }

  /** @returns false where there is no text. */
  transcribe({ text }: JsonObject): boolean {
    if (typeof text !== 'string') return false
    this.transcript += text
    return true
  }

  /** `{ data, format, transcript? }`, or undefined where no audio came. */
  whole(): JsonObject | undefined {
    if (this.mimeType === undefined) return undefined
    const audio: JsonObject = { data: Buffer.concat(this.pieces).toString('base64'), format: audioFormat(this.mimeType) }
    if (this.transcript !== '') audio.transcript = this.transcript
    return audio
  }
}
