/** The reply: the vectors' own bytes with the envelope of the contract around them. */

import { usd } from '../../core/money.ts'
import type { WrittenVector } from '../../machines/vectors/written.ts'
import { INPUT_KINDS, type InputSplit } from '../canon/usage.ts'
import type { Final, ReplyContext } from '../types.ts'

const text = (value: string): Buffer => Buffer.from(value, 'utf8')

export function encodeReply(vectors: readonly WrittenVector[], ctx: ReplyContext, final: Final): Buffer[] {
  const reply: Buffer[] = []
  let before = '{"object":"list","data":['
  for (const [index, { pieces }] of vectors.entries()) {
    reply.push(text(`${before}{"object":"embedding","index":${index},"embedding":`))
    for (const piece of pieces) reply.push(piece)
    before = '},'
  }
  reply.push(text(`${vectors.length === 0 ? before : '}'}],${members(ctx, final)}}`))
  return reply
}

function members(ctx: ReplyContext, final: Final): string {
  const provider = ctx.provider === '' ? '' : `,"provider":${JSON.stringify(ctx.provider)}`
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return `"model":${JSON.stringify(ctx.model)},"id":${JSON.stringify(ctx.id)}${provider},"usage":${usageText(final)}${metadata}`
}

/** Cost that the ledger charged; a vector has no output tokens. */
function usageText({ usage, cost, inputCost, outputCost, isByok }: Final): string {
  return (
    `{"prompt_tokens":${usage.input},"total_tokens":${usage.input},"cost":${usd(cost)},` +
    `${splitText(usage.estimated ? undefined : usage.inputSplit)}"cost_details":{"upstream_inference_cost":${usd(inputCost + outputCost)},"upstream_inference_prompt_cost":${usd(inputCost)},` +
    `"upstream_inference_completions_cost":${usd(outputCost)}},"is_byok":${isByok === true}}`
  )
}

/** Empty where all inputs are of one kind, and where the counts are an estimate, which has no split. */
function splitText(split: InputSplit = {}): string {
  const counted = INPUT_KINDS.filter((kind) => split[kind] !== undefined)
  if (counted.length < 2) return ''
  return `"prompt_tokens_details":${JSON.stringify(Object.fromEntries(counted.map((kind) => [`${kind}_tokens`, split[kind]])))},`
}
