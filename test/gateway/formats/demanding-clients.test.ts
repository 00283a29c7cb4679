/** Clients of Mistral raise at a piece of a tool call without the name of the function; an empty one suits them and all others. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, streamAnswer } from '../../support/wire.ts'

const ARGS = ['{"pla', 'ce":"Ro', 'me"}']
const AGENTS: Readonly<Record<string, boolean>> = {
  'mistral-client-typescript/2.7.0': true,
  'mistral-client-python/3.7.0': true,
  'OpenAI/JS 7.59.0': false,
}
const BODY = { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Rome?' }] }

for (const wire of ['openai-chat', 'anthropic'] as const satisfies AnyWireName[])
  for (const lane of ['pass', 'translate'] as const)
    t.test(`pieces of calls of ${wire}, lane ${lane}`, async (t) => {
      const utterance = { calls: [{ id: 'call_1', name: 'look', args: ARGS }] }
      const upstream = await startUpstream(() => streamAnswer(ALL_WIRES[wire], ALL_WIRES[wire].frames(utterance)))
      t.teardown(() => upstream.close())
      const gateway = await startGateway(oneModel(upstream.url, wire), { lane })
      t.teardown(() => gateway.close())
      for (const [agent, isNamed] of Object.entries(AGENTS)) {
        const reply = await gateway.post('/v1/chat/completions', BODY, { 'user-agent': agent })
        const pieces = parseStream(await reply.text()).flatMap((event) =>
          list(event.choices).flatMap((choice) => list(object(object(choice).delta).tool_calls ?? [])),
        ) as JsonObject[]
        const [first, ...later] = pieces.map(({ function: spec }) => object(spec))
        t.equal(first.name, 'look')
        t.equal(pieces.map(({ function: spec }) => object(spec).arguments ?? '').join(''), ARGS.join(''))
        t.ok(later.length > 0)
        for (const { name } of later) t.equal(name, isNamed ? '' : undefined, agent)
      }
    })
