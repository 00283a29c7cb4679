/** Connections of the control room to the public listener: a visitor with many requests at once does not take all that the process has. */
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { KEY } from '../support/gateway.ts'
import { RawClient } from '../support/raw.ts'
import { startScene } from '../support/scene.ts'
import { type Answer, jsonAnswer } from '../support/upstream.ts'

const MANAGER = 'sk-router-v1-fedcba9876543210fedcba9876543210'
const [MAX_AT_ONCE, REQUESTS] = [256, 300]

t.test('requests beyond the connections of the control room wait for one, and all are answered', async (t) => {
  const held: ((answer: Answer) => void)[] = []
  let open = 0
  let most = 0
  const { gateway } = await startScene(t, {
    answer: () => {
      most = Math.max(most, ++open)
      return new Promise<Answer>((resolve) => held.push(resolve))
    },
    config: (url) => `
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true }, { name: boss, key: "${MANAGER}", management: true } ] }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0" } } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`,
  })
  const signedIn = await fetch(`${gateway.admin}/control-room/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-control-room': '1' },
    body: JSON.stringify({ key: MANAGER }),
  })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const head = `Host: 127.0.0.1\r\nCookie: ${cookie}\r\nX-Control-Room: 1\r\nAuthorization: Bearer ${KEY}\r\n`
  const visitors = await Promise.all(Array.from({ length: REQUESTS }, () => RawClient.open(gateway.admin)))
  t.teardown(() => {
    for (const visitor of visitors) visitor.reset()
  })
  for (const visitor of visitors) visitor.send(`GET /v1/passage/first/models HTTP/1.1\r\n${head}Connection: close\r\n\r\n`)
  // Each answer lets one more come: that none comes beside it shows the bound, and that the last one comes that the others have waited.
  const answer = (): void => {
    open--
    held.shift()?.(jsonAnswer({ data: [] }))
  }
  await eventually('as many as there are connections', () => held.length >= MAX_AT_ONCE)
  for (let more = MAX_AT_ONCE + 1; more <= REQUESTS; more++) {
    answer()
    await eventually(`${more} requests at the provider`, () => held.length >= MAX_AT_ONCE)
  }
  t.equal(most, MAX_AT_ONCE)
  while (held.length > 0) answer()
  await eventually('every reply', () => visitors.every(({ ended }) => ended))
  t.ok(visitors.every(({ text }) => text.startsWith('HTTP/1.1 200')))
})
