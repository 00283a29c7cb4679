/**
 * POST /v1/completions: the legacy form of chat (`resources/completions.ts` of the package openai 7.55.0). The prompt becomes one user
 * message, and the text of the answer the text of the choice; all else is as in chat.
 */
import { type TSchema, Type } from 'typebox'
import { badField, faultBody } from '../../core/faults.ts'
import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { quote } from '../../core/quote.ts'
import type { StreamEvent } from '../canon/events.ts'
import type { Folded } from '../canon/fold.ts'
import { shownTier } from '../canon/served-tier.ts'
import type { ClientDialect, Final, ReplyContext, StreamEncoder } from '../types.ts'
import { check } from './check.ts'
import { decodeRequest } from './decode-request.ts'
import { chatFields } from './parameters.ts'
import { withPreset } from './preset.ts'
import { encodeFinish } from './reply.ts'
import { chatRequest } from './schema.ts'
import { usageText } from './usage.ts'

const DONE = 'data: [DONE]\n\n'

/** Fields that this form alone has. */
const OWN = ['echo', 'suffix', 'best_of'] as const
/** Fields of chat that need messages, or a place in the reply that this form does not have. */
const CHAT_ONLY = ['messages', 'tools', 'tool_choice', 'modalities', 'audio'] as const

const { messages: _, tools: _tools, tool_choice: _choice, ...shared } = chatRequest.properties

/** Describes the body: the rules are those below and those of chat. */
export const completionsRequest: TSchema = Type.Object({
  ...shared,
  prompt: Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 1 })], {
    description: 'One text, or an array of one.',
  }),
  echo: Type.Optional(Type.Union([Type.Boolean(), Type.Null()], { description: 'The text begins with the prompt.' })),
})

const isSet = (value: Json | undefined): boolean => value !== undefined && value !== null

/** @throws Fault 400. */
function promptIn(prompt: Json | undefined): string {
  const first = Array.isArray(prompt) ? prompt[0] : prompt
  if (Array.isArray(prompt) && prompt.length > 1 && typeof first === 'string')
    throw badField('prompt', 'expected one text: send a request for each')
  if (typeof first === 'number' || Array.isArray(first)) throw badField('prompt', 'expected text: token ids are not supported')
  if (typeof first !== 'string' || first === '') throw badField('prompt', 'expected a text that is not empty, or an array of one')
  return first
}

/** The body as chat has it. @throws Fault 400 for what only the legacy form has and chat models cannot do. */
function asChat(body: JsonObject): JsonObject {
  for (const field of CHAT_ONLY) if (isSet(body[field])) throw badField(field, 'is not available on completions')
  if (isSet(body.suffix) && body.suffix !== '') throw badField('suffix', 'is not supported: chat models write no text between others')
  if (isSet(body.logprobs)) throw badField('logprobs', 'is not supported on completions')
  if (isSet(body.echo) && typeof body.echo !== 'boolean') throw badField('echo', 'expected true or false')
  const { logprobs: _unset, ...rest } = body
  return { ...rest, prompt: promptIn(body.prompt) }
}

/** The prompt as a preset may have left it: behind a system message. */
function echoText({ echo, prompt, messages }: JsonObject): string {
  return echo === true ? (asString(prompt) ?? asString(asObjects(messages).at(-1)?.content) ?? '') : ''
}

/** A body or chunk with one choice. @param members JSON text behind the choices. */
function envelope(ctx: ReplyContext, final: Final | undefined, choices: string, members = ''): string {
  const provider = ctx.provider === '' ? '' : `,"provider":${JSON.stringify(ctx.provider)}`
  const shown = shownTier(final?.end.tier)
  const tier = shown === undefined ? '' : `,"service_tier":${JSON.stringify(shown)}`
  const metadata = final?.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  const head = `{"id":${JSON.stringify(ctx.id)},"object":"text_completion","created":${ctx.created},"model":${JSON.stringify(ctx.model)}${provider}`
  return `${head},"choices":${choices}${members}${tier}${metadata}}`
}

function choice(text: string, final: Final | undefined): string {
  const reason = final === undefined ? null : (encodeFinish({}, final).finish_reason ?? null)
  return `[{"text":${quote(text)},"index":0,"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]`
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'refusal'])

class CompletionStreamEncoder implements StreamEncoder {
  private readonly ctx: ReplyContext
  private readonly texts = new Set<number>()
  private before: string

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
    this.before = echoText(ctx.body)
  }

  push(events: readonly StreamEvent[]): string {
    let out = ''
    for (const event of events) {
      if (event.type === 'block-start' && TEXTS.has(event.kind)) this.texts.add(event.block)
      else if (event.type === 'block-delta' && event.text !== '' && this.texts.has(event.block)) out += this.chunk(event.text)
    }
    return out
  }

  finish(final: Final): string {
    const { ctx } = this
    const usage = `,"usage":${usageText(final)}`
    if (final.fault) {
      // As of chat (`closingChunks`).
      const error = `{"error":${JSON.stringify(faultBody(final.fault, ctx).error)},`
      return `data: ${error}${envelope(ctx, final, choice(this.echo(), final), usage).slice(1)}\n\n`
    }
    const { stream_options: options } = ctx.body
    // A chunk without a choice comes to those alone that request it: many callers read `choices[0]` of each.
    const apart = isObject(options) && options.include_usage === true
    const last = `data: ${envelope(ctx, apart ? undefined : final, choice(this.echo(), final), apart ? '' : usage)}\n\n`
    return `${last}${apart ? `data: ${envelope(ctx, final, '[]', usage)}\n\n` : ''}${DONE}`
  }

  private chunk(text: string): string {
    return `data: ${envelope(this.ctx, undefined, choice(this.echo() + text, undefined))}\n\n`
  }

  private echo(): string {
    const { before } = this
    this.before = ''
    return before
  }
}

function encodeResult(folded: Folded, ctx: ReplyContext, final: Final): string {
  const blockTexts = folded.blocks.filter(({ kind }) => TEXTS.has(kind)).map(({ text }) => text)
  const error = final.fault ? `,"error":${JSON.stringify(faultBody(final.fault, ctx).error)}` : ''
  return envelope(ctx, final, choice(echoText(ctx.body) + blockTexts.join(''), final), `${error},"usage":${usageText(final)}`)
}

export const completionsClient: ClientDialect = {
  id: 'completions',
  cutsFailures: true,
  fields: new Map([...chatFields, ['conversation', ['prompt']]]),
  capFields: ['max_completion_tokens', 'max_tokens'],
  expand: asChat,
  withPreset,
  check,
  decodeRequest: (body) => decodeRequest(Object.fromEntries(Object.entries(body).filter(([name]) => !OWN.some((own) => own === name)))),
  debug: (ctx, upstreamBody) =>
    `data: ${envelope(ctx, undefined, '[]', `,"debug":${JSON.stringify({ echo_upstream_body: upstreamBody })}`)}\n\n`,
  streamEncoder: (ctx) => new CompletionStreamEncoder(ctx),
  encodeResult,
}
