/** The requests of a probe: short ones, in the forms that agents send. */
import { crc32, deflateSync } from 'node:zlib'
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'

/** Reply of the gateway to a request. */
export interface Reply {
  readonly status: number
  /** Of a stream: its chunks as `data`. */
  readonly body: JsonObject
}

/** @throws Refused where the reply is an error. */
export type Send = (body: JsonObject) => Promise<Reply>

export interface Case {
  readonly name: string
  /** Output caps of its requests, in tokens: what it may cost at most. */
  readonly caps: readonly number[]
  /** Absent: always. */
  readonly applies?: (model: ProbedModel) => boolean
  /** Why it does not apply. */
  readonly otherwise?: string
  /** @returns what differs from what was requested; undefined where nothing does. @throws Refused */
  run(send: Send): Promise<string | undefined>
}

/** Facts that the configuration states of the model; undefined if it does not state one. */
export interface ProbedModel {
  readonly input: readonly string[] | undefined
  readonly parameters: readonly string[] | undefined
}

/** Tokens. Models that reason do so within the cap. */
const SHORT = 600
const LONG = 1500

const user = (content: string | JsonObject[]): JsonObject => ({ role: 'user', content })

/** A red square, large enough for providers that refuse the smallest pictures. */
const SIDE = 64
const RED = [255, 0, 0]

/** PNG (W3C, third edition): signature, then IHDR, IDAT and IEND, each with its length, type and CRC-32. */
function png(): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(SIDE, 0)
  header.writeUInt32BE(SIDE, 4)
  // 8 bits of colour type 2: red, green and blue.
  header.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.from([0, ...Array.from({ length: SIDE }, () => RED).flat()])
  const data = deflateSync(Buffer.concat(Array.from({ length: SIDE }, () => row)))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

const PICTURE = `data:image/png;base64,${png().toString('base64')}`

const WEATHER: JsonObject = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Returns the weather of one city.',
    parameters: { type: 'object', properties: { city: { type: 'string', description: 'Name of the city.' } }, required: ['city'] },
  },
}
const CITIES = user('What is the weather in Paris and in Oslo? Call get_weather for both cities at once, then answer in one sentence.')

const ANSWER: JsonObject = {
  type: 'json_schema',
  json_schema: {
    name: 'city',
    strict: true,
    schema: {
      type: 'object',
      properties: { name: { type: 'string' }, country: { type: 'string' } },
      required: ['name', 'country'],
      additionalProperties: false,
    },
  },
}

const takes =
  (name: string) =>
  ({ parameters }: ProbedModel) =>
    parameters === undefined || parameters.includes(name)
const NO_TOOLS = 'the configuration lists no tools for this model'

export const CASES: readonly Case[] = [
  {
    name: 'text',
    caps: [SHORT],
    run: async (send) => saysSomething(await send({ messages: [user('Reply with one word.')], max_tokens: SHORT })),
  },
  { name: 'streamed text', caps: [SHORT], run: streamed },
  { name: 'tool loop of two turns', caps: [LONG, LONG], applies: takes('tools'), otherwise: NO_TOOLS, run: (send) => toolLoop(send, {}) },
  { name: 'forced tool', caps: [SHORT], applies: takes('tool_choice'), otherwise: NO_TOOLS, run: forcedTool },
  {
    name: 'structured output',
    caps: [SHORT],
    applies: takes('structured_outputs'),
    otherwise: 'the configuration lists no structured output for this model',
    run: structured,
  },
  {
    name: 'smallest cap',
    caps: [16],
    run: async (send) => {
      await send({ messages: [user('Reply with one word.')], max_tokens: 1 })
      return undefined
    },
  },
  {
    name: 'image input',
    caps: [SHORT],
    applies: ({ input }) => input?.includes('image') === true,
    otherwise: 'the configuration does not say that this model reads images',
    run: async (send) =>
      saysSomething(
        await send({
          messages: [
            user([
              { type: 'text', text: 'Which colour is it? One word.' },
              { type: 'image_url', image_url: { url: PICTURE } },
            ]),
          ],
          max_tokens: SHORT,
        }),
      ),
  },
  {
    name: 'reasoning kept across turns',
    caps: [LONG, LONG],
    applies: (model) => takes('reasoning')(model) && takes('tools')(model),
    otherwise: 'the configuration lists no reasoning or no tools for this model',
    run: (send) => toolLoop(send, { reasoning: { effort: 'low' } }),
  },
]

function replyMessage({ body }: Reply): JsonObject {
  const [choice] = asObjects(body.choices)
  return isObject(choice?.message) ? choice.message : {}
}

function saysSomething(reply: Reply): string | undefined {
  const { content } = replyMessage(reply)
  return typeof content === 'string' && content.trim() !== '' ? undefined : 'the reply has no text'
}

async function streamed(send: Send): Promise<string | undefined> {
  const { body } = await send({ messages: [user('Count from one to five.')], max_tokens: SHORT, stream: true })
  const texts = asObjects(body.data).flatMap((chunk) => asObjects(chunk.choices).map(({ delta }) => (isObject(delta) ? delta.content : '')))
  return texts.some((text) => typeof text === 'string' && text !== '') ? undefined : 'the stream has no text'
}

/** The second turn sends everything back that the first one brought: calls with their ids, reasoning with its signatures. */
async function toolLoop(send: Send, more: JsonObject): Promise<string | undefined> {
  const request = { ...more, tools: [WEATHER], max_tokens: LONG }
  const message = replyMessage(await send({ ...request, messages: [CITIES] }))
  const calls = asObjects(message.tool_calls)
  if (calls.length === 0) return 'the model made no call'
  const results = calls.map(({ id }): JsonObject => ({ role: 'tool', tool_call_id: id ?? '', content: '{"sky":"clear","celsius":18}' }))
  const answer = await send({ ...request, messages: [CITIES, message, ...results] })
  const shown = more.reasoning === undefined || asObjects(message.reasoning_details).length > 0 || typeof message.reasoning === 'string'
  const notes = [
    ...(calls.length === 1 ? ['one call instead of two'] : []),
    ...(shown ? [] : ['the first turn showed no reasoning']),
    ...(asObjects(replyMessage(answer).tool_calls).length > 0 ? [] : (saysSomething(answer) ?? [])),
  ]
  return notes.length === 0 ? undefined : [notes].flat().join('; ')
}

async function forcedTool(send: Send): Promise<string | undefined> {
  const choice = { type: 'function', function: { name: 'get_weather' } }
  const reply = await send({ messages: [user('Hello. I am in Paris.')], tools: [WEATHER], tool_choice: choice, max_tokens: SHORT })
  return asObjects(replyMessage(reply).tool_calls).length > 0 ? undefined : 'the model did not make the forced call'
}

async function structured(send: Send): Promise<string | undefined> {
  const reply = await send({ messages: [user('Name one city with its country.')], response_format: ANSWER, max_tokens: SHORT })
  try {
    const value: unknown = JSON.parse(String(replyMessage(reply).content))
    return isObject(value) && typeof value.name === 'string' && typeof value.country === 'string'
      ? undefined
      : 'the reply does not fit the schema'
  } catch {
    return 'the reply is no JSON'
  }
}
