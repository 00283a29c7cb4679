/** The request of a client, from the moment that its body has been read and checked. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSource } from '../../core/json-source.ts'
import type { CompactionFacts } from '../../dialects/canon/compaction.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import type { GatewayFields } from '../../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../dialects/types.ts'

export interface ReadBody {
  readonly client: ClientDialect
  readonly body: JsonObject
  /** Its length in UTF-8. */
  readonly bytes: number
  /** The same in characters, as JavaScript counts them. */
  readonly characters: number
  readonly gateway: GatewayFields
  /** False where the body surely holds text alone. */
  readonly mayHoldMedia: boolean
  /** False where its tools are all functions, or it has none. */
  readonly hasOtherTools: boolean
}

/** What the settlement needs as well as the hold: found once, since the body may have been let go by then. */
export interface Notes {
  readonly edits: number
  otherTools?: readonly JsonObject[]
  offersTools?: boolean
  modalities?: ReadonlySet<string>
  images?: number
}

export class ClientRequest {
  readonly client: ClientDialect
  readonly bytes: number
  readonly characters: number
  readonly gateway: GatewayFields
  readonly stream: boolean
  readonly mayHoldMedia: boolean
  readonly hasOtherTools: boolean
  /** Names of the layers that changed the canonical form, in order. */
  readonly edits: string[] = []
  /** As the caller sent it: without what a preset or a stored prompt has added. */
  sent: JsonObject
  /** The bytes of a large body: what of it is unchanged goes on in them, and they stand in for it while its reply is awaited. */
  source: JsonSource | undefined
  /** True once the large members of the body are gone. */
  forgotten = false
  /** What the body says of compaction; undefined for nearly all. Items of the gateway's own are messages by now. */
  compaction: CompactionFacts | undefined
  private current: JsonObject
  private notes: Notes = { edits: 0 }
  private canon: CanonicalRequest | undefined

  constructor({ client, body, bytes, characters, gateway, mayHoldMedia, hasOtherTools }: ReadBody) {
    this.client = client
    this.sent = body
    this.current = body
    this.bytes = bytes
    this.characters = characters
    this.gateway = gateway
    this.stream = body.stream === true
    this.mayHoldMedia = mayHoldMedia
    this.hasOtherTools = hasOtherTools
  }

  /** With what a preset or a stored prompt has added, and but for the inputs of an embedding, in which guardrails hide what is not to go out. */
  get body(): JsonObject {
    return this.current
  }

  /** True once a layer has changed the canonical form: the pass lane is out. */
  get edited(): boolean {
    return this.edits.length > 0
  }

  /** What of this form of the request has been found. */
  get noted(): Notes {
    const edits = this.edits.length
    if (this.notes.edits !== edits) this.notes = { edits }
    return this.notes
  }

  /** The canonical form, built on first use. */
  canonical(): CanonicalRequest {
    this.canon ??= this.client.decodeRequest(this.current)
    return this.canon
  }

  /** Changes the canonical form; `by` names the layer or plugin. */
  edit(by: string, change: (draft: CanonicalRequest) => void): void {
    change(this.canonical())
    this.edits.push(by)
    this.notes = { edits: this.edits.length }
  }

  /**
   * Has been sent: the parsed body is let go where its bytes are there, and parsed again where it is read once more. What a layer has
   * changed is not in the bytes, so they are of no use then.
   */
  letGo(): void {
    const { source } = this
    this.source = undefined
    if (!source || this.edited || this.current !== this.sent) return
    this.source = source
    this.current = source.letGo()
    this.sent = this.current
    this.canon = undefined
  }

  /** The answer has begun, and nothing will read the conversation again: its bytes go, too. */
  forget(): void {
    if (this.source === undefined) return
    this.source.forget()
    this.source = undefined
    this.forgotten = true
  }

  /** Puts another body in place of the one that was sent. */
  replaceBody(body: JsonObject): void {
    this.current = body
    this.notes = { edits: this.edits.length }
  }
}
