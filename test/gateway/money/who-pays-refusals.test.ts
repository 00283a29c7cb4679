/** Charge where a provider refuses a later call of a request as wrong: the usage of earlier calls stays charged. Runs with `npm run test:servers`. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type AskedModelsOptions, type Name, PRICES, ran, startAskedModels, WAYS, wayName } from '../../support/asked-models.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'
import type { Utterance } from '../../support/wire.ts'

const TURN_1 = { input: 100, output: 10 }
const INNER = { input: 1000, output: 50 }
const CALL: Utterance = { text: ['Let me see. '], calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }], usage: TURN_1 }
const ASKS: Utterance = {
  text: ['Hm. '],
  calls: [{ id: 'call_1', name: 'router_subagent', args: ['{"task_description":"think"}'] }],
  usage: TURN_1,
}
const nano = (name: Name, { input, output }: typeof TURN_1): number => 1000 * (input * PRICES[name][0] + output * PRICES[name][1])

const rejected = (message: string): JsonObject => ({ error: { message, type: 'invalid_request_error', code: 'invalid_value' } })
/** As a status of its own, and inside a reply with status 200, as whole replies and as streams have it. */
const REFUSALS: Record<string, Record<string, (seen: Seen) => Answer>> = {
  'openai-chat': {
    'a status': () => jsonAnswer(rejected('no'), 400),
    'an error in a 200': () => jsonAnswer({ error: { message: 'no', code: 400 } }),
  },
  'openai-responses': {
    'a status': () => jsonAnswer(rejected('no'), 400),
    'a failed response': (seen) => {
      const response = { id: 'resp_1', object: 'response', status: 'failed', output: [], error: { code: 'invalid_prompt', message: 'no' } }
      const event = { type: 'response.failed', sequence_number: 0, response }
      return seen.json.stream === true ? sseAnswer([`event: response.failed\ndata: ${JSON.stringify(event)}\n\n`]) : jsonAnswer(response)
    },
  },
  anthropic: {
    'a status': () => jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }, 400),
    'an error in a 200': () => jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }),
  },
  gemini: {
    'a status': () => jsonAnswer({ error: { code: 400, message: 'no', status: 'INVALID_ARGUMENT' } }, 400),
    'a blocked prompt': (seen) => {
      const body = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 99, totalTokenCount: 99 } }
      return seen.path.includes('stream') ? sseAnswer([`data: ${JSON.stringify(body)}\n\n`]) : jsonAnswer(body)
    },
  },
}

t.test('a turn of a tool loop that the provider refuses costs nothing itself, and earlier turns stay charged', async (t) => {
  for (const [dialect, ways] of Object.entries(REFUSALS))
    for (const [how, refusal] of Object.entries(ways)) {
      const scene = await startAskedModels(t, { script: (_, seen) => (ran(seen) ? refusal(seen) : CALL), dialect })
      for (const way of WAYS) {
        const name = `${dialect}, ${how}, to ${wayName(way)}`
        await scene.ask(way, { tools: [{ type: 'router:datetime' }] })
        const { id, settled } = scene.last()
        t.match(settled, { status: 'failed', cost: nano('one', TURN_1), ...TURN_1, estimated: false }, name)
        const { data } = (await (await scene.gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
        t.equal(data.charge_reason, 'caller/not_sent/nothing', `${name}: the reason is that of the last turn`)
        t.equal(scene.held(), 0, name)
      }
    }
})

t.test('a refused turn of a model that a tool calls costs nothing itself, and earlier turns stay charged', async (t) => {
  for (const [dialect, ways] of Object.entries(REFUSALS))
    for (const [how, refusal] of Object.entries(ways)) {
      const script: AskedModelsOptions['script'] = (name, seen) => {
        if (name === 'one') return ran(seen) ? { text: ['So be it.'], usage: TURN_1 } : ASKS
        return ran(seen) ? refusal(seen) : { ...CALL, usage: INNER }
      }
      const scene = await startAskedModels(t, { script, dialect })
      const parameters = { model: 'acme/two', tools: [{ type: 'router:datetime' }] }
      for (const way of WAYS.filter(({ format }) => format === 'chat')) {
        const name = `${dialect}, ${how}, to ${wayName(way)}`
        const { status, raw } = await scene.ask(way, { tools: [{ type: 'router:subagent', parameters }] })
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(scene.seen('two').filter(ran).length > 0, true, `${name}: the tool's model had a second turn`)
        t.match(scene.last().settled, { cost: 2 * nano('one', TURN_1) + nano('two', INNER), input: 1200, output: 70 }, name)
      }
    }
})
