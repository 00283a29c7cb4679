/** The pieces of text that every chunk of a stream to the client is made of. */
import { faultBody } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Final, ReplyContext } from '../types.ts'
import { usageText } from './usage.ts'

/** `data: {"id":…,"provider":…` of a chunk: an open object, without the comma that follows. */
export function chunkHead(ctx: ReplyContext, created: number): string {
  const provider = ctx.provider === '' ? '' : `,"provider":${JSON.stringify(ctx.provider)}`
  return `data: {"id":${JSON.stringify(ctx.id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(ctx.model)}${provider}`
}

const DONE = 'data: [DONE]\n\n'

/** Members that only the last chunk has. */
function lastMembers(ctx: ReplyContext, final: Final): string {
  const tier = final.end.tier === undefined ? '' : `,"service_tier":${JSON.stringify(final.end.tier)}`
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return `,"usage":${usageText(final)}${tier}${metadata}}\n\n`
}

/**
 * The end of a stream: finish chunk, usage chunk, `[DONE]`; or one error chunk, `[DONE]`.
 * @param head from `chunkHead`.
 * @param delta JSON text of the finish chunk's delta.
 * @param rest further members of its choice, such as `,"logprobs":{…}`.
 */
export function closingChunks(ctx: ReplyContext, final: Final, head: string, closing: { delta: string; rest: string }): string {
  const { reason, raw } = final.end
  const native = JSON.stringify(raw ?? (final.fault ? null : reason))
  if (final.fault) {
    const error = JSON.stringify((faultBody(final.fault) as { error: JsonObject }).error)
    const choice = `{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":${native}}`
    return `${head},"error":${error},"choices":[${choice}]${lastMembers(ctx, final)}${DONE}`
  }
  const choice = `{"index":0,"delta":${closing.delta},"finish_reason":${JSON.stringify(reason)},"native_finish_reason":${native}${closing.rest}}`
  return `${head},"choices":[${choice}]}\n\n${head},"choices":[]${lastMembers(ctx, final)}${DONE}`
}

/** The chunk that shows what is about to go upstream. */
export function debugChunk(ctx: ReplyContext, upstreamBody: JsonObject): string {
  return `${chunkHead(ctx, ctx.created)},"choices":[],"debug":{"echo_upstream_body":${JSON.stringify(upstreamBody)}}}\n\n`
}
