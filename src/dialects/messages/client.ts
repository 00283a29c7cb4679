/** POST /v1/messages. */

import type { JsonObject } from '../../core/json.ts'
import { CallSignatures } from '../canon/call-signature.ts'
import type { Block, Folded } from '../canon/fold.ts'
import type { ClientDialect, Final, ReplyContext } from '../types.ts'
import { isKnownVersion, versionIn } from './api-version.ts'
import { check } from './check.ts'
import { citationOf } from './citations.ts'
import { decodeRequest, expectsThinking, hidesThinking } from './decode-request.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'
import { errorOf, faultBody } from './fault-body.ts'
import { withFoundTools } from './found-tools.ts'
import { gatewayFields } from './gateway-fields.ts'
import { gatewayToolBlocks } from './gateway-tools.ts'
import { readsLastBlock } from './last-block-clients.ts'
import { debugEvent, failureIn, messageHead, OwnMembers, openStream } from './message.ts'
import { messagesFields } from './parameters.ts'
import { withPreset } from './preset.ts'
import { ownBlock, redactedBlock, textBlock, thinkingBlock, toolUseBlock, withTextLast } from './reply-blocks.ts'
import { Thought } from './thought.ts'
import { parsedInput } from './tool-input.ts'
import { CLIENT_ID } from './wire.ts'

export const messagesClient: ClientDialect = {
  id: CLIENT_ID,
  files: 'messages',
  fields: messagesFields,
  capFields: ['max_tokens'],
  showsPauses: true,
  fillsCache: ({ max_tokens: cap }) => cap === 0,
  readsLastBlock,
  // Anthropic, "Data residency": on Claude Opus 4.6 and later, `us` costs 1.1 times as much per token.
  regionField: 'inference_geo',
  versions: { named: versionIn, isKnown: isKnownVersion },
  // @anthropic-ai/sdk 1.12.0, `_request_id` (internal/parse.ts).
  requestIdHeader: 'Request-Id',
  rateForm: 'times',
  withPreset,
  check,
  decodeRequest,
  gatewayFields,
  faultBody,
  open: openStream,
  opensLate: true,
  debug: debugEvent,
  streamEncoder: (ctx) => new MessagesStreamEncoder(ctx),
  encodeResult,
  // Its own tools are those of providers: `DialectAbility` finds endpoints that have them.
  clientTools: { areKnown: () => true, has: () => false, flatten: withFoundTools, clash: () => undefined },
}

function textBlocks({ kind, text, notes }: Block): JsonObject[] {
  const cited = kind === 'text' ? notes.filter(({ note }) => note === 'annotation') : []
  const citations = cited.map(({ data }) => citationOf(data)).filter((citation) => citation !== undefined)
  // Anthropic refuses a text of white space alone, and the caller sends back what it got.
  return text.trim() === '' && citations.length === 0 ? [] : [textBlock(text, citations)]
}

interface Shown {
  /** True where the caller excluded the text of thinking. */
  readonly hide: boolean
  /** Signatures of calls and texts, where the caller does not expect thinking and gets them there. */
  readonly signatures: CallSignatures | undefined
}

function thoughtBlocks({ kind, item, text, notes }: Block, { hide, signatures }: Shown): JsonObject[] {
  const thought = new Thought(kind, item)
  for (const { note, data } of notes) if (note !== 'encrypted' || !signatures?.take(data)) thought.note(note, data)
  if (hide) thought.hidden = text
  const shown = hide ? '' : text
  const blocks = shown !== '' || thought.signed ? [thinkingBlock(shown, thought.takeSignature())] : []
  return [...blocks, ...thought.takeRedacted().map(redactedBlock)]
}

function blocksOf(block: Block, shown: Shown, gatewayTools: number): JsonObject[] {
  const { kind, call, of, text } = block
  switch (kind) {
    case 'text':
    case 'refusal':
      return textBlocks(block)
    case 'reasoning':
    case 'summary':
      return thoughtBlocks(block, shown)
    case 'call':
      return [toolUseBlock({ call, of, extra: shown.signatures?.membersOf(call?.id) }, parsedInput(text))]
    case 'server':
      return of ? gatewayToolBlocks(of, gatewayTools) : []
    case 'opaque': {
      const own = ownBlock(of)
      return own ? [own] : []
    }
    case 'media':
      // This wire has no form for a picture or a sound in an answer.
      return []
  }
}

function contentOf({ blocks }: Folded, body: JsonObject): JsonObject[] {
  const shown: Shown = { hide: hidesThinking(body), signatures: expectsThinking(body) ? undefined : new CallSignatures() }
  const content: JsonObject[] = []
  let gatewayTools = 0
  for (const block of blocks) {
    content.push(...blocksOf(block, shown, gatewayTools))
    const signed = shown.signatures?.takeOfText()
    const last = content.at(-1)
    if (signed && last?.type === 'text') Object.assign(last, signed)
    if (block.kind === 'server') gatewayTools++
  }
  return withTextLast(content, shown.signatures === undefined)
}

/**
 * Folded events as a whole message (docs/contract.md#messages).
 * The whole reply as JSON text.
 */
function encodeResult(folded: Folded, ctx: ReplyContext, final: Final): string {
  const own = new OwnMembers()
  for (const of of folded.opaque) own.take(of)
  const refused = folded.blocks.some(({ kind, text }) => kind === 'refusal' && text !== '')
  const message: JsonObject = {
    ...messageHead(ctx),
    content: contentOf(folded, ctx.body),
    ...own.ending(final, refused),
    usage: own.usageOf(final),
  }
  const failure = failureIn(final)
  if (failure) message.error = errorOf(failure)
  if (final.metadata !== undefined) message[`${ctx.brand}_metadata`] = final.metadata
  return JSON.stringify(message)
}
