/** Names that both halves of the dialect share. Read from the types of openai 7.55.0. */

/** Mark of opaque values of this wire, by the client and the upstream half alike. */
export const WIRE = 'chat'

export const CLIENT_ID = 'chat'
export const UPSTREAM_ID = 'openai-chat'

/** Types of opaque values that the wire knows how to put back. */
export const OPAQUE = {
  /** An entry of `reasoning_details` that is no reasoning of the model. */
  detail: 'reasoning_detail',
  /** A field of a delta that the canon has no word for. */
  field: 'field',
  /** A tool call that is none of a function. */
  call: 'tool_call',
  /** A call of the provider's own search, which the gateway answers. */
  echoed: 'echoed_call',
} as const

/** Fields of a replayed assistant message that only the same wire takes back, and what others call the loss. */
export const REPLAYED: ReadonlyMap<string, string> = new Map([
  ['annotations', 'annotations'],
  ['images', 'images'],
  ['audio', 'message.audio'],
  ['model', 'message.model'],
])

/** Body fields that have no effect upstream, or that this gateway sets itself. */
export const OWN_KEYS: ReadonlySet<string> = new Set(['usage', 'include_reasoning', 'stream', 'stream_options'])
