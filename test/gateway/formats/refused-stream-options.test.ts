/** An endpoint that refuses `stream_options` is called once more without it, and for an hour never with it. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'
import { PATHS, questionFor } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

/** As users report them; the comment above each is the place. */
const REFUSALS: readonly JsonObject[] = [
  // github.com/continuedev/continue/issues/12936
  { error_code: 'BAD_REQUEST', message: 'Bad request: json: unknown field "stream_options"\n' },
  // github.com/openai/openai-python/issues/2296
  { error: { requestid: '1', code: 400, message: 'Validation error at #/stream_options: Extra inputs are not permitted' } },
  // github.com/FlowiseAI/Flowise/issues/2866
  { error: { object: 'error', type: 'invalid_request_error', message: "Extra inputs are not permitted, field: 'stream_options'" } },
]

for (const [index, error] of REFUSALS.entries())
  t.test(`a stream whose options are refused is served without them (${index})`, async (t) => {
    const fine = says({ text: ['fine'], usage: { input: 10, output: 5 } })
    const { gateway, upstream, clock, rows } = await startScene(t, {
      answer: (request, count) => (object(request.json).stream_options === undefined ? fine(request, count) : jsonAnswer(error, 400)),
    })
    const sent = async (client: 'chat' | 'messages' | 'responses'): Promise<unknown[]> => {
      const before = upstream.requests.length
      const response = await gateway.post(PATHS[client], { ...questionFor(client), stream: true })
      const text = await response.text()
      t.equal(response.status, 200, text)
      t.match(text, 'fine', client)
      return upstream.requests.slice(before).map(({ json }) => object(json).stream_options)
    }
    t.same(await sent('chat'), [{ include_usage: true }, undefined], 'the first in two calls')
    t.same(await sent('messages'), [undefined])
    t.same(await sent('responses'), [undefined])
    t.equal(rows().length, 3, 'each is one row')
    await clock.advance(3_600_001)
    t.same(await sent('chat'), [{ include_usage: true }, undefined], 'an hour later it is tried again')
  })

t.test('words of a caller that a refusal repeats teach nothing', async (t) => {
  const error = { error: { message: 'Invalid name: json: unknown field "stream_options"' } }
  const { gateway, upstream } = await startScene(t, { answer: () => jsonAnswer(error, 400) })
  t.equal((await gateway.post(PATHS.chat, { ...questionFor('chat'), stream: true })).status, 400)
  t.equal(upstream.requests.length, 1)
})
