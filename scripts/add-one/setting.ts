/** A setting that the chain reads: how long the name of a session may be. */
import type { Addition } from './frame/addition.ts'

export const addition: Addition = {
  name: 'setting',
  change: 'a setting that requests are served by',
  recipe:
    'its entry with text and default in `src/config/schema/`; its reader, which has the configuration of the request as `exchange.head.config`; its test',
  most: 3,
  edits: [
    {
      file: 'src/config/schema/server.ts',
      find: '  silence: withDefault(\n',
      replace: `  session_name_length: withDefault(
    Type.Integer({ description: 'Characters that the header \`X-Session-Id\` may have.', minimum: 1, maximum: 4096 }),
    256,
  ),
  silence: withDefault(
`,
    },
    {
      file: 'src/pipeline/request/receive.ts',
      find: 'function checkSession({ head: { headers } }: Exchange): void {',
      replace: 'function checkSession({ head: { headers, config } }: Exchange): void {\n  const most = config.server.sessionNameLength',
    },
    {
      file: 'src/pipeline/request/receive.ts',
      find: 'if (session !== undefined && session.length > 256) {',
      replace: 'if (session !== undefined && session.length > most) {',
    },
    {
      file: 'src/pipeline/request/receive.ts',
      find: "message: 'x-session-id: must be at most 256 characters'",
      replace: 'message: `x-session-id: must be at most $' + '{most} characters`',
    },
    {
      file: 'test/gateway/limits/session-name-length.test.ts',
      text: `/** Length that the name of a session may have: by the configuration of the moment at which the request comes. */
import t from 'tap'
import { oneModel } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'

t.test('the limit is that of the configuration, and a reload changes it', async (t) => {
  const { ask, gateway, upstream } = await startScene(t, { directory: t.testdir() })
  const named = (length: number) => ask({}, 'chat', { 'x-session-id': 's'.repeat(length) })
  t.equal((await named(256)).status, 200, 'as long as the default allows')
  const refused = await named(257)
  t.equal(refused.status, 400)
  t.match(await refused.text(), 'at most 256 characters')
  const { kind } = await gateway.reconfigure(\`server: { host: 127.0.0.1, port: 0, session_name_length: 300 }\\n\${oneModel(upstream.url, 'openai-chat')}\`)
  t.equal(kind, 'applied')
  t.equal((await named(300)).status, 200)
  t.equal((await named(301)).status, 400)
})
`,
    },
  ],
  test: ['test/gateway/limits/session-name-length', 'test/config/documents'],
}
