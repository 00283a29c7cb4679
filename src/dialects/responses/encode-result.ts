/** Folded events as a whole reply: the same items that the stream would have ended with. */
import type { JsonObject } from '../../core/json.ts'
import type { Block, Folded } from '../canon/fold.ts'
import type { Final, ReplyContext } from '../types.ts'
import { spokenWords } from './output-item-forms.ts'
import { OutputItems } from './output-items.ts'
import { closingJson, finalEnding, restIn } from './reply.ts'

/** @returns the Response object as JSON text. */
export function encodeResult(folded: Folded, ctx: ReplyContext, final: Final): string {
  const items = new OutputItems(ctx)
  for (const folding of folded.blocks) {
    const words = spokenWords(folding)
    const block: Block = words === undefined ? folding : { ...folding, kind: 'text', of: undefined, text: words }
    const part = items.start(block)
    if (part === undefined) continue
    if (block.text !== '' && !part.begun) items.begin(part)
    part.text = part.input ? part.input.push(block.text) + part.input.end() : block.text
    for (const { note, data } of block.notes) items.note(part, note, data)
    if (block.closed) part.item.open--
  }
  const ending = finalEnding(final, items.all.length > 0)
  const last = items.all.at(-1)
  for (const item of items.all) {
    const cut = ending.status !== 'completed' && (item === last || item.open > 0)
    items.close(item, cut && item.type !== 'whole' ? 'incomplete' : 'completed')
  }
  let rest: JsonObject | undefined
  for (const of of folded.opaque) rest = { ...rest, ...restIn(of) }
  return closingJson(ctx, final, ending, { output: items.json(), rest })
}
