/** One reasoning or summary block on its way to the caller: its signature and encrypted parts, in whatever form they came. */

import { asString, type JsonObject, present } from '../../core/json.ts'
import type { BlockKind, NoteKind } from '../canon/events.ts'
import { type WrappedReasoning, wrapReasoning } from '../canon/wrapped-reasoning.ts'
import { FORMAT } from './wire.ts'

interface EncryptedPart {
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
  private readonly encrypted: EncryptedPart[] = []

  constructor(kind: BlockKind, item: string | undefined) {
    this.summary = kind === 'summary'
    this.item = item
  }

  note(note: NoteKind, data: JsonObject): void {
    const format = asString(data.format)
    if (note === 'format') this.format = format ?? this.format
    else if (note === 'signature' && asString(data.signature)) this.signature = { text: String(data.signature), format }
    else if (note === 'encrypted') {
      const part = asString(data.data) ?? asString(data.encrypted_content)
      if (part) this.encrypted.push({ data: part, id: asString(data.id), format })
    }
  }

  /** True where there is a block to write even if no text ever came. */
  get signed(): boolean {
    return this.signature !== undefined || this.hidden !== ''
  }

  /**
   * Returns `signature` of a thinking block, and removes the encrypted part that it contains from those that are left. Reasoning that no
   * provider of this wire signed is wrapped in any case: the caller sends it back unchanged.
   */
  takeSignature(): string {
    const { signature } = this
    const format = signature?.format ?? this.format
    if (signature && format === FORMAT) return signature.text
    const part = this.encrypted.shift()
    const wrapped: WrappedReasoning = {
      format: format ?? part?.format,
      id: part?.id ?? this.item,
      encrypted: part?.data,
      signature: signature?.text,
      summary: this.summary ? true : undefined,
      text: this.hidden === '' ? undefined : this.hidden,
    }
    return wrapReasoning(present(wrapped))
  }

  /** `data` of the redacted blocks that hold the encrypted parts that are left. */
  takeRedacted(): string[] {
    return this.encrypted.splice(0).map(({ data, id, format = this.format }) => {
      if (format === FORMAT) return data
      return wrapReasoning(present({ format, id: id ?? this.item, encrypted: data }))
    })
  }
}

/** Gives a thought that came without a signature an empty one, in place: SDKs and this gateway expect the member. @returns true where it had to. */
export function withSignature(block: JsonObject): boolean {
  if (block.type !== 'thinking' || typeof block.signature === 'string') return false
  block.signature = ''
  return true
}
