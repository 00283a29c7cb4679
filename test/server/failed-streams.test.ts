/** End of the body of a stream that has failed, on the connection, on both ways through the server. */
import t, { type Test } from 'tap'
import { READING_TIME } from '../../src/server/lingering-close.ts'
import { every } from '../support/every.ts'
import { KEY } from '../support/gateway.ts'
import { type Client, PATHS, questionFor } from '../support/providers.ts'
import { RawClient } from '../support/raw.ts'
import { type Scene, startScene } from '../support/scene.ts'
import { sseAnswer } from '../support/upstream.ts'
import { framesFor } from '../support/wire.ts'

/** The plain form, and one that Node's server reads. */
const WAYS: readonly (readonly [name: string, header: string])[] = [
  ['plain', 'Accept: text/event-stream'],
  ["Node's server", 'TE: trailers'],
]

function request(client: Client, header: string): string {
  const body = JSON.stringify({ ...questionFor(client), stream: true })
  const lines = [
    `POST ${PATHS[client]} HTTP/1.1`,
    'Host: a.example',
    `Authorization: Bearer ${KEY}`,
    header,
    `Content-Length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** A provider that breaks off in the middle. */
function breaking(t: Test): Promise<Scene> {
  return startScene(t, {
    answer: ({ path }) =>
      sseAnswer([...framesFor(path, { text: ['one ', 'two'] }).slice(0, 2), 'data: {"error":{"message":"it broke"}}\n\n']),
  })
}

const LAST_CHUNK = '\r\n0\r\n\r\n'

t.test('a failed chat stream ends without its last chunk, behind its error, by a FIN', async (t) => {
  const scene = await breaking(t)
  await every(t, 'every way', async (t) => {
    for (const [name, header] of WAYS)
      for (const behind of ['', 'nothing that is a request', request('chat', header)]) {
        const at = `${name}${behind === '' ? '' : `, with ${behind.slice(0, 4)} behind it`}`
        const before = scene.upstream.requests.length
        const client = await RawClient.open(scene.gateway.url)
        client.send(request('chat', header))
        const text = await client.until(/data: \{"error":\{[^\n]*\n\n\r\n$/)
        client.send(behind)
        t.notOk(client.ended, `${at}: callers have time to read it`)
        t.notMatch(text, '[DONE]', at)
        await scene.clock.advance(READING_TIME)
        const all = await client.closed()
        t.notOk(client.wasReset, `${at}: no reset`)
        t.equal(all, text, `${at}: nothing follows, neither the last chunk nor a reply`)
        t.equal(scene.upstream.requests.length, before + 1, `${at}: what came behind is not read`)
      }
  })
})

t.test('releases the connection at once when the caller closes first', async (t) => {
  const scene = await breaking(t)
  await every(t, 'every way', async (t) => {
    for (const [name, header] of WAYS) {
      const client = await RawClient.open(scene.gateway.url)
      client.send(request('chat', header))
      await client.until(/data: \{"error":\{[^\n]*\n\n\r\n$/)
      await client.halfClose().closed()
      t.notOk(client.wasReset, name)
    }
  })
})

t.test('failed streams of the other formats end as they should, and the connection stays', async (t) => {
  const scene = await breaking(t)
  await every(t, 'every way', async (t) => {
    for (const [name, header] of WAYS)
      for (const client of ['responses', 'messages'] as const) {
        const at = `${client}, ${name}`
        const caller = await RawClient.open(scene.gateway.url)
        const text = await caller.send(request(client, header)).until(/\r\n0\r\n\r\n$/)
        t.match(
          text,
          client === 'responses' ? /event: error\n[\s\S]*event: response\.failed\n[\s\S]*data: \[DONE\]\n\n/ : /event: error\n/,
          at,
        )
        t.equal(text.slice(-LAST_CHUNK.length), LAST_CHUNK, at)
        const again = await caller.send(request(client, header)).until(/\r\n0\r\n\r\nHTTP[\s\S]*\r\n0\r\n\r\n$/)
        t.equal(again.match(/HTTP\/1\.1 200/g)?.length, 2, `${at}: kept`)
        caller.close()
      }
  })
})
