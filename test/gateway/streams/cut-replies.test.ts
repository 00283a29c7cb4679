/** A reply that breaks off is one that the provider has cut, whatever its head says of the connection. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { startRawUpstream } from '../../support/raw-upstream.ts'
import { startScene } from '../../support/scene.ts'

const CONNECTIONS = [[], ['Connection: close'], ['Keep-Alive: timeout=1'], ['Connection: close', 'Keep-Alive: timeout=1']]
const REPLIES = {
  'whole, by its length': ['Content-Type: application/json', 'Content-Length: 500', '', '{"id":"c"'],
  'in chunks': ['Content-Type: application/json', 'Transfer-Encoding: chunked', '', '9\r\n{"id":"c"\r\n'],
  'in the middle of a chunk': ['Content-Type: application/json', 'Transfer-Encoding: chunked', '', '40\r\n{"id":"c"'],
}

t.test('a reply that is cut before any content reports that the provider closed the connection', async (t) => {
  await every(t, 'every form of the reply and of its connection', async (t) => {
    for (const [name, [type, length, ...rest]] of Object.entries(REPLIES))
      for (const more of CONNECTIONS) {
        const provider = await startRawUpstream((_request, socket) => {
          socket.end(['HTTP/1.1 200 OK', type, length, ...more, ...rest].join('\r\n'), 'latin1')
          return undefined
        })
        t.teardown(() => provider.close())
        const price = 'price: { prompt: "1", completion: "2" }'
        const { ask } = await startScene(t, {
          config: () => `
providers: { first: { dialect: openai-chat, base_url: "${provider.url}", key: sk-provider } }
models: { acme/one: { context: 100000, endpoints: [ { provider: first, model: m, ${price} } ] } }
`,
        })
        const response = await ask()
        const { error } = (await response.json()) as JsonObject
        t.equal(object(error).message, 'Provider closed the connection early', `${name}, ${more.join(', ')}`)
      }
  })
})
