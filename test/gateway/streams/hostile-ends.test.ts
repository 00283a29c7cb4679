/**
 * Ends that no service should write, and that a broken or hostile one does: exceptions in the middle of a stream of Amazon Bedrock under
 * any of the names that a frame has for them, feedback on the prompt in a later chunk of Gemini, end words that are no text, and a word of
 * failure that a word of success follows. In the format of each client, none reads as a success, and no call of it is one to be run.
 */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { readBody } from '../../support/body-text.ts'
import { editFrames, endedFrames, endedReply } from '../../support/ended.ts'
import { event, exception, message } from '../../support/event-stream.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import type { Lane } from '../../support/lanes.ts'
import { CLIENTS, PATHS, questionFor } from '../../support/providers.ts'
import { shownEnd } from '../../support/shown-end.ts'
import { type Answer, jsonAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, streamAnswer, type Utterance } from '../../support/wire.ts'
import { chunk } from '../../support/wire-bedrock-claude.ts'

const TEXT: Utterance = { text: ['one ', 'two'] }
const CALL: Utterance = { text: ['I look.'], calls: [{ id: 'call_1', name: 'look', args: ['{"path":"/srv/', 'data","dry_run":true}'] }] }
const NAMES = Object.keys(ALL_WIRES) as AnyWireName[]
const latin1 = (bytes: Buffer): string => bytes.toString('latin1')

interface Scene {
  readonly gateways: ReadonlyMap<Lane, Gateway>
  readonly upstream: Upstream
}

async function startLanes(t: Test): Promise<Scene> {
  const upstream = await startUpstream(() => jsonAnswer({}))
  t.teardown(() => upstream.close())
  const providers = NAMES.map((name) => `${name}: { dialect: ${name}, base_url: "${upstream.url}/v1", key: "sk-secret" }`)
  const models = NAMES.map((name) => `m/${name}: { context: 128000, endpoints: [ { provider: ${name}, model: up, price: free } ] }`)
  const gateways = new Map<Lane, Gateway>()
  for (const lane of ['pass', 'translate'] as const) {
    const gateway = await startGateway(`providers:\n  ${providers.join('\n  ')}\nmodels:\n  ${models.join('\n  ')}\n`, { lane })
    t.teardown(() => gateway.close())
    gateways.set(lane, gateway)
  }
  return { gateways, upstream }
}

const TOOLS = {
  chat: { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] },
  responses: { tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }] },
  messages: { tools: [{ name: 'look', input_schema: { type: 'object' } }] },
}

/** Reading of each client for an answer of this wire, in each lane; fails where it is a success. */
async function noSuccess(t: Test, { gateways, upstream }: Scene, wire: AnyWireName, [what, stream, answer]: Case): Promise<void> {
  for (const [lane, gateway] of gateways)
    for (const client of CLIENTS) {
      upstream.script = () => answer
      const response = await gateway.post(PATHS[client], { ...questionFor(client), ...TOOLS[client], model: `m/${wire}`, stream })
      const { text, isCut } = await readBody(response)
      const shown = shownEnd(client, { stream, status: response.status, text, isCut })
      t.not(
        shown.kind,
        'finished',
        `${client} → ${wire} in ${lane}, ${stream ? 'streamed' : 'whole'}: ${what}: ${shown.word} ${shown.calls}`,
      )
    }
}

type Case = readonly [what: string, stream: boolean, answer: Answer]

const streamed = (what: string, wire: AnyWireName, frames: readonly string[]): Case => [what, true, streamAnswer(ALL_WIRES[wire], frames)]

/** The frames of a good answer with others before its end, and all of the rest behind them. */
const within = (wire: AnyWireName, utterance: Utterance, others: readonly string[]): string[] => {
  const good = endedFrames(wire, utterance, undefined)
  const bad = endedFrames(wire, utterance, 'a_new_word')
  const at = good.findIndex((frame, index) => frame !== bad[index])
  return [...good.slice(0, at), ...others, ...good.slice(at)]
}

/** Names of `ConverseStreamOutput` and `ResponseStream` (npm @aws-sdk/client-bedrock-runtime 3.1164.0), and some of none. */
const EXCEPTIONS = [
  ...['internalServerException', 'modelStreamErrorException', 'validationException', 'throttlingException', 'serviceUnavailableException'],
  ...['modelTimeoutException', 'aNewException', ''],
]
const JSON_TYPE = { ':content-type': 'application/json' }
const WORDS = Buffer.from(JSON.stringify({ message: 'the model broke' }))

/** An exception as the specification of event streams has it, and in forms that a proxy or another implementation may make of it. */
const exceptions = (name: string): readonly (readonly [what: string, bytes: Buffer])[] => [
  ['an exception', exception(name, 'the model broke')],
  ['an error', message({ ':message-type': 'error', ':error-code': name, ':error-message': 'the model broke' }, Buffer.alloc(0))],
  ['an exception without a type of the message', message({ ':exception-type': name, ...JSON_TYPE }, WORDS)],
  ['an exception of another type of message', message({ ':message-type': 'fault', ':exception-type': name, ...JSON_TYPE }, WORDS)],
  ['an exception as an event', message({ ':message-type': 'event', ':exception-type': name, ...JSON_TYPE }, WORDS)],
  ['a message that is nothing', message({}, WORDS)],
  ['an event without a name', message({ ':message-type': 'event', ...JSON_TYPE }, WORDS)],
  ['an error without a type of the message', message({ ':error-code': name, ':error-message': 'no' }, Buffer.alloc(0))],
  ...(name === '' ? [] : ([['an event with the name of an exception', event(name, { message: 'the model broke' })]] as const)),
]

t.test('exceptions in the middle of a stream of Bedrock, in any form', async (t) => {
  const scene = await startLanes(t)
  await every(t, 'every exception', async (t) => {
    for (const wire of ['bedrock-converse', 'bedrock-anthropic'] as const)
      for (const name of EXCEPTIONS)
        for (const [what, bytes] of exceptions(name))
          for (const utterance of name === 'throttlingException' ? [TEXT, CALL] : [CALL])
            await noSuccess(t, scene, wire, streamed(`${what}, ${name}`, wire, within(wire, utterance, [latin1(bytes)])))
  })
})

/** Reasons of npm @google/genai 3.3.0 (`BlockedReason`), one of none, and forms that are no text. */
const BLOCKS: readonly Json[] = [
  'SAFETY',
  'PROHIBITED_CONTENT',
  'OTHER',
  'A_NEW_REASON',
  'a reason',
  4,
  { reason: 'SAFETY' },
  ['SAFETY'],
  true,
]

t.test('feedback on the prompt in any chunk of Gemini', async (t) => {
  const scene = await startLanes(t)
  const frame = (body: JsonObject): string => `data: ${JSON.stringify(body)}\n\n`
  await every(t, 'every feedback', async (t) => {
    for (const blockReason of BLOCKS)
      for (const utterance of [TEXT, CALL]) {
        const name = JSON.stringify(blockReason)
        const promptFeedback = { blockReason, safetyRatings: [] }
        const good = endedFrames('gemini', utterance, undefined)
        const beside = (index: number): string[] =>
          good.map((each, at) => (at === index ? editFrames([each], (body) => Object.assign(body, { promptFeedback }))[0] : each))
        const cases: Case[] = [
          streamed(`${name} alone, before the end`, 'gemini', within('gemini', utterance, [frame({ promptFeedback })])),
          streamed(`${name} alone, behind the end`, 'gemini', [...good, frame({ promptFeedback })]),
          streamed(`${name} beside the first part`, 'gemini', beside(0)),
          streamed(`${name} beside the end`, 'gemini', beside(good.length - 1)),
          [`${name} beside a whole answer`, false, jsonAnswer({ ...endedReply('gemini', utterance, undefined), promptFeedback })],
        ]
        for (const one of cases) await noSuccess(t, scene, 'gemini', one)
      }
  })
})

/** None is a word of any wire. */
const NO_TEXTS: readonly Json[] = [7, true, { type: 'abort' }, ['stop'], {}]

t.test('an end that is no text', async (t) => {
  const scene = await startLanes(t)
  await every(t, 'every wire and value', async (t) => {
    for (const wire of NAMES)
      for (const word of NO_TEXTS)
        for (const utterance of [TEXT, CALL]) {
          const name = JSON.stringify(word)
          await noSuccess(t, scene, wire, streamed(name, wire, endedFrames(wire, utterance, word)))
          await noSuccess(t, scene, wire, [name, false, jsonAnswer(endedReply(wire, utterance, word))])
        }
  })
})

const BAD: Readonly<Record<AnyWireName, readonly string[]>> = {
  'openai-chat': ['content_filter', 'length', 'a_new_word'],
  'openai-responses': ['content_filter', 'a_new_word'],
  anthropic: ['refusal', 'max_tokens', 'a_new_word'],
  'bedrock-anthropic': ['refusal', 'max_tokens', 'a_new_word'],
  gemini: ['SAFETY', 'MALFORMED_FUNCTION_CALL', 'A_NEW_WORD'],
  'bedrock-converse': ['guardrail_intervened', 'malformed_tool_use', 'a_new_word'],
}

/** The frame in which an answer ends so. */
function endFrame(wire: AnyWireName, utterance: Utterance, word: string): string {
  const good = endedFrames(wire, utterance, undefined)
  return endedFrames(wire, utterance, word).find((frame, at) => frame !== good[at]) ?? ''
}

t.test('a word of success behind one of failure', async (t) => {
  const scene = await startLanes(t)
  await every(t, 'every wire and word', async (t) => {
    for (const wire of NAMES)
      for (const word of BAD[wire])
        for (const utterance of [TEXT, CALL])
          await noSuccess(t, scene, wire, streamed(word, wire, within(wire, utterance, [endFrame(wire, utterance, word)])))
  })
})

t.test('the end of a message of Claude that is none', async (t) => {
  const scene = await startLanes(t)
  const bodies = (stop: Json | undefined): JsonObject[] => [
    {
      type: 'message_start',
      message: { id: 'm1', type: 'message', role: 'assistant', content: [], model: 'm', usage: { input_tokens: 1, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stop ?? null }, usage: { output_tokens: 2 } },
  ]
  await every(t, 'every end', async (t) => {
    for (const stop of [7, {}, 'a_new_word'] satisfies Json[]) {
      const events = bodies(stop)
      const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
      for (const last of [{ type: 'message_stop' }, error]) {
        const all = [...events, last]
        await noSuccess(
          t,
          scene,
          'anthropic',
          streamed(
            `${JSON.stringify(stop)}, ${last.type}`,
            'anthropic',
            all.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`),
          ),
        )
        await noSuccess(
          t,
          scene,
          'bedrock-anthropic',
          streamed(
            `${JSON.stringify(stop)}, ${last.type}`,
            'bedrock-anthropic',
            all.map((each) => latin1(chunk(JSON.stringify(each)))),
          ),
        )
      }
    }
  })
})
