/**
 * MCP servers that requests name take no proxy, neither that of the environment nor that of the provider, while calls of the same request
 * to the provider do: the guard must see where a connection leads, and a proxy would lead to what only it can reach.
 */
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { withVariables } from '../../support/aws.ts'
import { namesOnly } from '../../support/canary.ts'
import { type ConnectProxy, startProxy } from '../../support/connect-proxy.ts'
import { every } from '../../support/every.ts'
import { KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { type McpServerOptions, startMcpServer } from '../../support/mcp-server.ts'
import { serveProgram } from '../../support/program.ts'
import { calls, parseAsked, ran } from '../../support/tool-scene.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const PROVIDER = 'provider.test'
const SERVER = 'mcp.test'

/** Every variable by which a program may find a proxy, Node's own switch for it included. */
const variables = ({ url }: ConnectProxy): Record<string, string> => ({
  HTTP_PROXY: url,
  HTTPS_PROXY: url,
  http_proxy: url,
  https_proxy: url,
  ALL_PROXY: url,
  all_proxy: url,
  NODE_USE_ENV_PROXY: '1',
})

async function startModel(t: Test): Promise<Upstream> {
  const model = await startUpstream((seen) =>
    answerFor(seen, ran(seen) ? { text: ['done'] } : { calls: calls('router_notes_read_note', { id: '7' }) }),
  )
  t.teardown(() => model.close())
  return model
}

const urlPort = (url: string): string => new URL(url).port
const tunnelHosts = ({ tunnels }: ConnectProxy): string[] => [...new Set(tunnels.map(({ target }) => target))]

const question = (url: string): JsonObject => ({
  model: 'acme/one',
  input: 'Go.',
  tools: [{ type: 'mcp', server_label: 'notes', server_url: url, require_approval: 'never' }],
})

/** A gateway whose provider only a proxy finds; the names of servers lead where the test says. */
async function scene(t: Test, { way, allow }: { way: 'environment' | 'provider'; allow: string }) {
  const proxy = await startProxy(t)
  const model = await startModel(t)
  const isOwn = way === 'provider'
  const env = isOwn ? {} : variables(proxy)
  withVariables(t, env)
  const provider = isOwn ? `connection: { proxy: "${proxy.url}" }` : ''
  const url = `http://${PROVIDER}:${urlPort(model.url)}`
  const gateway = await startGateway(
    `auth: { keys: [ { name: test, key: "${KEY}" } ] }
plugins: { defaults: { mcp: { allow_private: ["${allow}"] } } }
${oneModel(url, 'openai-chat', { provider })}`,
    { env },
  )
  t.teardown(() => gateway.close())
  const ask = async (server: string) => {
    const response = await gateway.post('/v1/responses', question(server))
    return parseAsked(response.status, await response.text())
  }
  return { proxy, ask, provider: `${PROVIDER}:${urlPort(model.url)}` }
}

const WAYS = ['environment', 'provider'] as const

t.test('a server is called directly, over each transport, where the provider is behind a proxy', async (t) => {
  await namesOnly(t, { [SERVER]: ['127.0.0.1'] })
  await every(t, 'every way and transport', async (t) => {
    for (const way of WAYS)
      for (const transport of ['http', 'http-stream', 'sse'] satisfies McpServerOptions['transport'][]) {
        const server = await startMcpServer({ transport })
        t.teardown(() => server.close())
        const { proxy, ask, provider } = await scene(t, { way, allow: `${SERVER}:${server.port}` })
        const { status, raw, output } = await ask(server.url.replace('127.0.0.1', SERVER))
        t.equal(status, 200, `${way}, ${transport}: ${raw}`)
        t.match(output[1], { type: 'mcp_call', output: 'read_note did {"id":"7"}', error: null }, raw)
        t.ok(server.calls.length === 1 && server.heads.every(({ headers }) => headers.host === `${SERVER}:${server.port}`))
        t.same(tunnelHosts(proxy), [provider], `${way}, ${transport}: the provider alone`)
      }
  })
})

t.test('what only a proxy would find or reach is not looked for there', async (t) => {
  const server = await startMcpServer()
  t.teardown(() => server.close())
  await namesOnly(t, { 'inner.example': ['10.1.2.3'] })
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      // A name that no name server knows, one that has a private address, and one that only the proxy leads home.
      const { proxy, ask, provider } = await scene(t, { way, allow: `unknown.test:${server.port}` })
      for (const url of [`http://unknown.test:${server.port}/mcp`, 'http://inner.example/mcp', 'http://nowhere.example/mcp']) {
        const { status, raw } = await ask(url)
        t.notMatch(raw, /read_note did/, url)
        t.ok(status === 502 || /could not be reached/.test(raw), `${way}, ${url}: ${status} ${raw}`)
      }
      for (const url of ['http://10.1.2.3/mcp', `http://127.0.0.1:${server.port}/mcp`, 'http://[fd00::1]/mcp'])
        t.equal((await ask(url)).status, 400, `${way}, ${url}`)
      t.ok(
        tunnelHosts(proxy).every((host) => host === provider),
        `${way}: ${tunnelHosts(proxy)}`,
      )
      t.same(server.asked, [])
    }
  })
})

t.test('a redirect of a server leads through no proxy either', async (t) => {
  await namesOnly(t, { [SERVER]: ['127.0.0.1'] })
  const target = await startMcpServer()
  t.teardown(() => target.close())
  const server = await startMcpServer({ status: 307, headers: { location: `http://elsewhere.test:${target.port}/mcp` } })
  t.teardown(() => server.close())
  const { proxy, ask } = await scene(t, { way: 'environment', allow: `${SERVER}:${server.port}` })
  const { raw } = await ask(server.url.replace('127.0.0.1', SERVER))
  t.notMatch(raw, /read_note did/)
  t.ok(server.heads.length > 0)
  t.same(target.heads, [])
  t.notMatch(tunnelHosts(proxy).join(), /elsewhere|mcp/)
})

/** One of this machine that is no loopback address, which no proxy is ever used for. */
const outer = Object.values(networkInterfaces())
  .flat()
  .find((one) => one && !one.internal && one.family === 'IPv4')?.address

t.test(
  'a process that Node itself has take the proxy of the environment',
  { skip: outer ? false : 'no address but loopback' },
  async (t) => {
    const proxy = await startProxy(t)
    const model = await startModel(t)
    const server = await startMcpServer({ host: outer })
    t.teardown(() => server.close())
    const folder = t.testdir({
      'headgate.yaml': `server: { host: 127.0.0.1, port: 0 }
admin: { port: 0 }
store: { url: "sqlite:${t.testdirName}/store.db" }
auth: { keys: [ { name: test, key: "${KEY}" } ] }
plugins: { defaults: { mcp: { allow_private: ["${outer}:${server.port}"] } } }
${oneModel(`http://${PROVIDER}:${urlPort(model.url)}`, 'openai-chat')}`,
    })
    const program = await serveProgram(['serve', '--config', `${folder}/headgate.yaml`], { env: variables(proxy) })
    t.teardown(async () => {
      program.child.kill()
      await program.exited
    })
    const response = await fetch(`${program.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: JSON.stringify(question(server.url)),
    })
    const { status, raw, output } = parseAsked(response.status, await response.text())
    t.equal(status, 200, raw)
    t.match(output[1], { type: 'mcp_call', output: 'read_note did {"id":"7"}' }, raw)
    t.same(tunnelHosts(proxy), [`${PROVIDER}:${urlPort(model.url)}`])
  },
)
