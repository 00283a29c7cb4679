/** One reasoning or summary block on its way to the caller: what makes its seals, however they came. */

import { type JsonObject, present, stringOf } from '../../core/json.ts'
import type { BlockKind, NoteKind } from '../canon/events.ts'
import { closeEnvelope, type Envelope } from '../canon/reasoning-envelope.ts'
import { FORMAT } from './wire.ts'

interface Seal {
  data: string
  id: string | undefined
  format: string | undefined
}

export class Thought {
  /** Text that the caller excluded. */
  hidden = ''
  private readonly summary: boolean
  private readonly item: string | undefined
  private format: string | undefined
  private signature: { text: string; format: string | undefined } | undefined
  private readonly seals: Seal[] = []

  constructor(kind: BlockKind, item: string | undefined) {
    this.summary = kind === 'summary'
    this.item = item
  }

  note(note: NoteKind, data: JsonObject): void {
    const format = stringOf(data.format)
    if (note === 'format') this.format = format ?? this.format
    else if (note === 'signature' && stringOf(data.signature)) this.signature = { text: String(data.signature), format }
    else if (note === 'sealed') {
      const sealed = stringOf(data.data) ?? stringOf(data.encrypted_content)
      if (sealed) this.seals.push({ data: sealed, id: stringOf(data.id), format })
    }
  }

  /** True where there is a block to write even if no text ever came. */
  get signed(): boolean {
    return this.signature !== undefined || this.hidden !== ''
  }

  /**
   * What `signature` of a thinking block says; takes the seal that it holds from those that are left.
   * Reasoning that no provider of this wire signed gets an envelope in any case: the caller sends it back unchanged.
   */
  takeSignature(): string {
    const { signature } = this
    const format = signature?.format ?? this.format
    if (signature && format === FORMAT) return signature.text
    const seal = this.seals.shift()
    const envelope: Envelope = {
      format: format ?? seal?.format,
      id: seal?.id ?? this.item,
      sealed: seal?.data,
      signature: signature?.text,
      summary: this.summary ? true : undefined,
      text: this.hidden === '' ? undefined : this.hidden,
    }
    return closeEnvelope(present(envelope))
  }

  /** `data` of the redacted blocks that hold the seals that are left. */
  takeRedacted(): string[] {
    return this.seals.splice(0).map(({ data, id, format = this.format }) => {
      if (format === FORMAT) return data
      return closeEnvelope(present({ format, id: id ?? this.item, sealed: data }))
    })
  }
}
