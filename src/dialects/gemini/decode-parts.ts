/** The parts of a reply as canonical blocks; a whole reply is one long list of the parts that a stream brings in pieces. */
import { asString, isObject, type JsonObject } from '../../core/json.ts'
import { type BlockKind, COMMON, type NoteKind, type StreamEvent } from '../canon/events.ts'
import type { Opaque } from '../canon/request.ts'
import { StreamWords } from '../canon/stream-words.ts'
import type { Citations } from './citations.ts'
import { audioFormat } from './mime-types.ts'
import { PartialArgs } from './partial-args.ts'
import { partAsText } from './provider-tool-parts.ts'
import { ENCRYPTED_FORMAT, WIRE } from './wire.ts'

/** Audio of an answer: it comes in pieces and leaves as one. */
class AudioAnswer {
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

/** Members of a part beside the one that names its kind. */
const BESIDE: ReadonlySet<string> = new Set(['thought', 'thoughtSignature', 'videoMetadata', 'mediaResolution', 'partMetadata'])

/** Other kinds of a part (npm @google/genai 3.3.0, `Part`): no caller's format has a place for most of it. */
const KNOWN_PARTS: ReadonlySet<string> = new Set([
  'audioTranscription',
  'codeExecutionResult',
  'executableCode',
  'fileData',
  'functionResponse',
  'inlineData',
  'mediaProcessing',
  'toolCall',
  'toolResponse',
])

type Speech = 'text' | 'summary'

interface OpenBlock {
  kind: Speech
  block: number
  /** Text in which places of citations are looked up. */
  text: string
  /** Signatures that came with its parts: a stream sends them only behind the text. */
  signatures: string[]
}

interface BlockFacts {
  item?: string
  of?: Opaque
  call?: { id: string; name: string }
}

interface StreamingCall {
  readonly block: number
  readonly id: string
  readonly args: PartialArgs
  /** One that came after the beginning of the call. */
  signature: string | undefined
}

export class PartReader {
  private next = 0
  private open: OpenBlock | undefined
  private calls = 0
  /** A call whose arguments are still coming. */
  private streaming: StreamingCall | undefined
  private readonly audio = new AudioAnswer()
  private readonly citations: Citations
  /** Parts that nothing knows. */
  readonly strange = new StreamWords()
  /** The identifier of a call that came without one. */
  private readonly callId: (index: number) => string
  /** Item of the summary right before, which a signature joins. */
  private thought: string | undefined

  constructor(citations: Citations, callId: (index: number) => string) {
    this.citations = citations
    this.callId = callId
  }

  get hasCalls(): boolean {
    return this.calls > 0
  }

  /** True between the beginning of a call that streams and its end. */
  get isWithinCall(): boolean {
    return this.streaming !== undefined
  }

  /** @returns false for a part that cannot be read. */
  read(part: JsonObject, out: StreamEvent[]): boolean {
    const signature = asString(part.thoughtSignature)
    const { text } = part
    if (this.streaming) {
      this.streaming.signature ??= signature
      return part.functionCall === undefined ? text === '' : this.continueCall(part.functionCall, out)
    }
    if (typeof text === 'string') {
      this.say(part.thought === true ? 'summary' : 'text', text, out)
      this.hold(signature, out)
      return true
    }
    if (part.functionCall !== undefined) return this.call(part.functionCall, signature, out)
    if (isObject(part.inlineData) && this.media(part, part.inlineData, out)) return true
    if (isObject(part.audioTranscription) && this.audio.transcribe(part.audioTranscription)) return true
    const type = Object.keys(part).find((key) => !BESIDE.has(key))
    const whole = partAsText(part)
    if (type === undefined) this.hold(signature, out)
    else if (whole !== undefined) {
      this.close(out)
      this.thought = undefined
      this.addSignature(whole, undefined, out)
    } else {
      this.strange.note('part', type, KNOWN_PARTS)
      this.whole('opaque', { dialect: WIRE, type, data: part }, out)
    }
    return true
  }

  /** More text of the block that is open. */
  more(text: string): void {
    if (this.open) this.open.text += text
  }

  /** Log probabilities belong to the text that they come with. */
  logprobs(content: JsonObject[], out: StreamEvent[]): void {
    this.note(this.speech('text', out).block, 'logprobs', { content }, out)
  }

  /** Closes what is open and writes what was held until now. The arguments of an open call stay as they are: cut off. */
  finish(out: StreamEvent[]): void {
    if (this.streaming) out.push({ type: 'block-end', block: this.streaming.block })
    this.streaming = undefined
    if (this.citations.left) this.speech('text', out)
    this.close(out, true)
    const audio = this.audio.whole()
    if (audio) this.whole('media', { dialect: COMMON, type: 'audio', data: audio }, out)
  }

  private start(kind: BlockKind, facts: BlockFacts, out: StreamEvent[]): number {
    const block = this.next++
    out.push({ type: 'block-start', block, kind, ...facts })
    return block
  }

  private note(block: number, note: NoteKind, data: JsonObject, out: StreamEvent[]): void {
    out.push({ type: 'block-note', block, note, data })
  }

  private say(kind: Speech, text: string, out: StreamEvent[]): void {
    if (text === '') return
    const open = this.speech(kind, out)
    open.text += text
    out.push({ type: 'block-delta', block: open.block, text })
  }

  /** The open block of this kind; another kind of speech ends the one before. */
  private speech(kind: Speech, out: StreamEvent[]): OpenBlock {
    if (this.open?.kind === kind) return this.open
    this.close(out)
    const item = kind === 'summary' ? `thought-${this.next}` : undefined
    const block = this.start(kind, item === undefined ? {} : { item }, out)
    this.thought = item
    if (item !== undefined) this.note(block, 'format', { format: ENCRYPTED_FORMAT }, out)
    this.open = { kind, block, text: '', signatures: [] }
    return this.open
  }

  /** A signature of spoken words, or of none. */
  private hold(signature: string | undefined, out: StreamEvent[]): void {
    if (signature === undefined || signature === '') return
    if (this.open) this.open.signatures.push(signature)
    else this.addSignature(signature, undefined, out)
  }

  private close(out: StreamEvent[], last = false): void {
    const { open } = this
    if (!open) return
    this.open = undefined
    if (open.kind === 'text') for (const data of this.citations.take(open.text, last)) this.note(open.block, 'annotation', data, out)
    out.push({ type: 'block-end', block: open.block })
    for (const signature of open.signatures) this.addSignature(signature, undefined, out)
  }

  /** Encrypted reasoning: an item of its own, or in one with the summary right before it. */
  private addSignature(signature: string, id: string | undefined, out: StreamEvent[]): void {
    const block = this.start('reasoning', { item: this.thought ?? `thought-${this.next}` }, out)
    this.thought = undefined
    this.note(block, 'format', { format: ENCRYPTED_FORMAT }, out)
    const data: JsonObject = id === undefined ? { data: signature } : { data: signature, id }
    this.note(block, 'encrypted', { ...data, format: ENCRYPTED_FORMAT }, out)
    out.push({ type: 'block-end', block })
  }

  private whole(kind: 'media' | 'opaque', of: Opaque, out: StreamEvent[]): void {
    this.close(out)
    this.thought = undefined
    out.push({ type: 'block-end', block: this.start(kind, { of }, out) })
  }

  private call(call: unknown, signature: string | undefined, out: StreamEvent[]): boolean {
    if (!isObject(call)) return false
    // The end may follow behind the part of a call that was marked as its last.
    if (Object.keys(call).length === 0) return this.calls > 0
    if (typeof call.name !== 'string') return false
    const { args = {}, partialArgs, willContinue } = call
    if (!isObject(args)) return false
    const id = asString(call.id) || this.callId(this.calls)
    this.calls++
    this.close(out)
    if (signature) this.addSignature(signature, id, out)
    this.thought = undefined
    const block = this.start('call', { call: { id, name: call.name } }, out)
    if (willContinue === true || partialArgs !== undefined) {
      this.streaming = { block, id, args: new PartialArgs(), signature: undefined }
      return this.addArgs(this.streaming, call, out)
    }
    out.push({ type: 'block-delta', block, text: JSON.stringify(args) }, { type: 'block-end', block })
    return true
  }

  /** A call that begins before the one in front has ended cannot be read. */
  private continueCall(call: unknown, out: StreamEvent[]): boolean {
    if (!this.streaming || !isObject(call) || call.name !== undefined) return false
    return this.addArgs(this.streaming, call, out)
  }

  /** A call ends with the part that does not say that it continues (github.com/vercel/ai/pull/13929, vercel/ai/issues/14358). */
  private addArgs({ block, id, args, signature }: StreamingCall, call: JsonObject, out: StreamEvent[]): boolean {
    const { partialArgs = [], willContinue } = call
    const added = Array.isArray(partialArgs) ? args.add(partialArgs) : undefined
    if (added === undefined) return false
    const text = willContinue === true ? added : added + args.end()
    if (text !== '') out.push({ type: 'block-delta', block, text })
    if (willContinue === true) return true
    this.streaming = undefined
    out.push({ type: 'block-end', block })
    if (signature) this.addSignature(signature, id, out)
    return true
  }

  /** @returns false for bytes that are no part of the answer or of a kind that answers do not have. */
  private media(part: JsonObject, { mimeType, data }: JsonObject, out: StreamEvent[]): boolean {
    if (typeof mimeType !== 'string' || typeof data !== 'string' || part.thought === true) return false
    const signature = asString(part.thoughtSignature)
    if (mimeType.startsWith('audio/')) {
      this.audio.add(mimeType, data)
      this.hold(signature, out)
      return true
    }
    if (!mimeType.startsWith('image/')) return false
    this.close(out)
    if (signature) this.addSignature(signature, undefined, out)
    const url = `data:${mimeType};base64,${data}`
    this.whole('media', { dialect: COMMON, type: 'image', data: { url, media_type: mimeType } }, out)
    return true
  }
}
