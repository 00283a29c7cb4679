/** Folded events as a whole message (docs/contract.md#messages). */
import type { JsonObject } from '../../core/json.ts'
import { CallSignatures } from '../canon/call-signature.ts'
import type { Block, Folded } from '../canon/fold.ts'
import type { Final, ReplyContext } from '../types.ts'
import { toCitation } from './citations.ts'
import { expectsThinking, hidesThinking } from './decode-request.ts'
import { encodeError } from './fault-body.ts'
import { gatewayToolBlocks } from './gateway-tools.ts'
import { Thought } from './reasoning-block.ts'
import { failureIn, messageHead, OwnMembers } from './reply.ts'
import { ownBlock, redactedBlock, textBlock, thinkingBlock, toolUseBlock, withTextLast } from './reply-blocks.ts'
import { parsedInput } from './tool-input.ts'

function textBlocks({ kind, text, notes }: Block): JsonObject[] {
  const cited = kind === 'text' ? notes.filter(({ note }) => note === 'annotation') : []
  const citations = cited.map(({ data }) => toCitation(data)).filter((citation) => citation !== undefined)
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

function readBlocks(block: Block, shown: Shown, gatewayTools: number): JsonObject[] {
  const { kind, call, of, text } = block
  switch (kind) {
    case 'text':
    case 'refusal':
      return textBlocks(block)
    case 'reasoning':
    case 'summary':
      return thoughtBlocks(block, shown)
    case 'call':
      return [toolUseBlock({ call, of, extra: shown.signatures?.signedMembers(call?.id) }, parsedInput(text))]
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

function foldedContent({ blocks }: Folded, body: JsonObject): JsonObject[] {
  const shown: Shown = { hide: hidesThinking(body), signatures: expectsThinking(body) ? undefined : new CallSignatures() }
  const content: JsonObject[] = []
  let gatewayTools = 0
  for (const block of blocks) {
    content.push(...readBlocks(block, shown, gatewayTools))
    const signed = shown.signatures?.takeOfText()
    const last = content.at(-1)
    if (signed && last?.type === 'text') Object.assign(last, signed)
    if (block.kind === 'server') gatewayTools++
  }
  return withTextLast(content, shown.signatures === undefined)
}

/** The reply as JSON text. */
export function encodeResult(folded: Folded, ctx: ReplyContext, final: Final): string {
  const own = new OwnMembers()
  for (const of of folded.opaque) own.take(of)
  const refused = folded.blocks.some(({ kind, text }) => kind === 'refusal' && text !== '')
  const message: JsonObject = {
    ...messageHead(ctx),
    content: foldedContent(folded, ctx.body),
    ...own.ending(final, refused),
    usage: own.finalUsage(final),
  }
  const failure = failureIn(final)
  if (failure) message.error = encodeError(failure)
  if (final.metadata !== undefined) message[`${ctx.brand}_metadata`] = final.metadata
  return JSON.stringify(message)
}
