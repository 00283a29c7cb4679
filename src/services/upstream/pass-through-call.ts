/** One request of the pass-through, and what sees it on its way. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { ListedPages } from './pass-through-page.ts'
import type { ErrorReader } from './pass-through-refusal.ts'

export interface PassThroughEnd {
  /** Status of the provider's reply; 101 for an opened WebSocket, null where none came. */
  readonly status: number | null
  readonly outcome: 'completed' | 'failed' | 'aborted'
  readonly fault?: Fault
  /** False where the provider was not called. */
  readonly sent?: false
  /** Milliseconds for which the provider was held back, since the caller read slowly. */
  readonly heldBack?: number
}

export interface ReplyReader {
  head(status: number, headers: IncomingHttpHeaders): void
  data(chunk: Buffer): void
}

/** Sees the body of a request on its way. */
export interface SentBody {
  /** @returns a promise where no more should come until then. */
  push(chunk: Buffer): Promise<void> | undefined
  /** Once all of it has come, and before its end goes out. @returns why it must not. */
  verdict(): Promise<Fault | undefined>
}

export interface PassThroughCall {
  readonly provider: Provider
  /** Path and query behind `/v1/passage/{provider}`, beginning with a slash. */
  readonly path: string
  /** Address of the provider's base URL through the gateway. */
  readonly address: string
  /** Name and value of the header that carries the provider's key. */
  readonly auth: readonly [name: string, value: string] | undefined
  /** Headers of a credential for this call, by its others: name, value, name, value. */
  readonly authorize?: ((method: string, target: URL, headers: readonly string[]) => readonly string[]) | undefined
  /** The caller's body, where it has been read: it goes out in place of what comes from the caller. */
  readonly body?: Buffer | undefined
  /** Sees what comes from the caller. */
  readonly watch?: SentBody | undefined
  /** Sees the reply on its way; it comes in no content coding then. */
  readonly reader?: ReplyReader | undefined
  /** Says what the caller sees of a list. */
  readonly pages?: ListedPages | undefined
  /** Headers of the gateway that take the place of the provider's of the same names. */
  readonly ours?: Readonly<Record<string, string>> | undefined
  /** Reads the provider's errors. */
  readonly errors: ErrorReader
  /** An error of the gateway's in the form of the provider's wire; absent where that is the standard one. */
  readonly errorReply?: ((fault: Fault) => { body: JsonObject; headers?: Readonly<Record<string, string>> }) | undefined
  /** Headers that have the provider join the trace: name, value, name, value. */
  readonly trace?: readonly string[]
  /** Called exactly once. The end of a completed reply waits for the promise, and is cut if it rejects. */
  readonly onEnd: (end: PassThroughEnd) => Promise<void> | undefined
}

/** The provider's side, as far as the caller's side controls it. */
export interface UpstreamSide {
  /** Gives the exchange with the provider up; called at every end, also after the provider has finished. */
  abort(): void
}
