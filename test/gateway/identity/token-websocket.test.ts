/** Responses over WebSocket with a token: it opens the connection, and each response needs one that has not expired. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { RawClient } from '../../support/raw.ts'
import { lastEvent, openSocket, refusedSocket } from '../../support/responses-socket.ts'
import { startScene } from '../../support/scene.ts'
import { issuerConfig, startIssuer } from '../../support/token-issuer.ts'

const QUESTION = { model: 'acme/one', input: 'Hello' }

t.test('a token opens a WebSocket, until it expires', async (t) => {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const { gateway } = await startScene(t, { clock, config: issuerConfig(issuer), dialect: 'openai-chat' })
  const socket = await openSocket({ url: gateway.url, key: await issuer.token() })
  t.equal(lastEvent(await socket.respond(QUESTION)).type, 'response.completed')
  await clock.advance(331_000)
  const refused = lastEvent(await socket.respond(QUESTION))
  t.match(refused, { type: 'error', status: 401 })
  t.match((refused.error as JsonObject).message, 'The token has expired')
  socket.ws.close()
  const handshake = await refusedSocket({ url: gateway.url, key: await issuer.token({ aud: 'another' }) })
  t.equal(handshake.status, 401)
  t.match(handshake.headers['www-authenticate'], 'for another audience')
})

t.test('a token that expires while its request is read ends it before money is taken', async (t) => {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const { gateway, rows } = await startScene(t, { clock, config: issuerConfig(issuer, { more: '      leeway: 0s' }) })
  const token = await issuer.token({ exp: Math.floor(clock.now() / 1000) + 5 })
  const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] })
  const client = await RawClient.open(gateway.url)
  t.teardown(() => client.close())
  client.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  )
  await client.until(/^HTTP\/1\.1 100 /)
  await clock.advance(6_000)
  client.send(body)
  t.match(await client.until(/has expired/), /HTTP\/1\.1 401/)
  t.equal(rows().length, 0)
})
