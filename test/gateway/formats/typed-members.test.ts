/**
 * Members of a chat reply without which typed clients throw a paid answer away: async-openai 0.43.0 demands `created`, and takes of
 * `service_tier` and of `finish_reason` the words of OpenAI alone. Whatever the provider writes there, callers get what they can read.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'

const FINISHES = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call', null]
const TIERS = ['auto', 'default', 'flex', 'scale', 'priority', null, undefined]
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

/** Members that providers were seen to write or to leave out. */
const ODD: readonly JsonObject[] = [
  {},
  { created: null },
  { created: '1764' },
  { created: 1764.5 },
  { service_tier: 'on_demand' },
  { service_tier: 'standard' },
  { service_tier: '' },
  { service_tier: 7 },
]

function readable(reply: JsonObject): string[] {
  const [choice] = reply.choices as JsonObject[]
  return [
    ...(Number.isInteger(reply.created) ? [] : [`created: ${JSON.stringify(reply.created)}`]),
    ...(TIERS.includes(reply.service_tier as string) ? [] : [`service_tier: ${JSON.stringify(reply.service_tier)}`]),
    ...(!choice || FINISHES.includes((choice.finish_reason ?? null) as string)
      ? []
      : [`finish_reason: ${JSON.stringify(choice.finish_reason)}`]),
  ]
}

t.test('whole replies', async (t) => {
  await every(t, 'every form', async (t) => {
    for (const members of ODD)
      for (const finish of ['stop', 'eos']) {
        const choices = [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: finish }]
        const scene = await startScene(t, { answer: () => jsonAnswer({ id: 'c', model: 'm', choices, usage, ...members }) })
        const reply = (await (await scene.ask()).json()) as JsonObject
        t.same(readable(reply), [], JSON.stringify(members))
      }
  })
})

t.test('streams', async (t) => {
  await every(t, 'every form', async (t) => {
    for (const members of ODD) {
      const frame = (delta: JsonObject, finish: string | null): string =>
        `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...members })}\n\n`
      const frames = [
        frame({ role: 'assistant', content: 'fi' }, null),
        frame({ content: 'ne' }, null),
        frame({}, 'eos'),
        'data: [DONE]\n\n',
      ]
      const scene = await startScene(t, { answer: () => sseAnswer(frames) })
      const text = await (await scene.ask({ stream: true })).text()
      const chunks = text.split('\n\n').filter((each) => each.startsWith('data: {'))
      t.ok(chunks.length > 2)
      for (const chunk of chunks) t.same(readable(JSON.parse(chunk.slice(6)) as JsonObject), [], JSON.stringify(members))
    }
  })
})
