/** The request of a client, from the moment that its body has been read and checked. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSource } from '../../core/json-source.ts'
import type { CompactionFacts } from '../../dialects/canon/compaction.ts'
import type { GatewayFields } from '../../dialects/canon/gateway-fields.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
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
  /** The bytes of a large body, until it is sent for the first time: a reply may take minutes, and another attempt writes the body anew. */
  source: JsonSource | undefined
  /** What the body says of compaction; undefined for nearly all. Items of the gateway's own are messages by now. */
  compaction: CompactionFacts | undefined
  private current: JsonObject
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

  /** The canonical form, built on first use. */
  canonical(): CanonicalRequest {
    this.canon ??= this.client.decodeRequest(this.current)
    return this.canon
  }

  /** Changes the canonical form; `by` names the layer or plugin. */
  edit(by: string, change: (draft: CanonicalRequest) => void): void {
    change(this.canonical())
    this.edits.push(by)
  }

  /** Puts another body in place of the one that was sent. */
  replaceBody(body: JsonObject): void {
    this.current = body
  }
}
