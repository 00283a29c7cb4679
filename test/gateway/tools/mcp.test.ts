/** Remote MCP servers over HTTP: lists, calls, approval, limits, and addresses that are never asked. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { type McpServer, type McpServerOptions, startMcpServer, TOOLS } from '../../support/mcp-server.ts'
import { calls, FORMATS, formatRoutes, offered, ran, type ToolScene, told, toolScene } from '../../support/tool-scene.ts'
import type { Seen } from '../../support/upstream.ts'
import type { Utterance } from '../../support/wire.ts'

const READ = calls('router_notes_read_note', { id: '7' })
const script = (seen: Seen): Utterance => (ran(seen) ? { text: ['done'] } : { calls: READ })

async function serverFor(t: Test, options?: McpServerOptions): Promise<McpServer> {
  const server = await startMcpServer(options)
  t.teardown(() => server.close())
  return server
}

const settings = (server: McpServer, more = ''): string =>
  `plugins: { defaults: { mcp: { allow_private: ["127.0.0.1:${server.port}"]${more} } } }`

async function withServer(
  t: Test,
  options: McpServerOptions = {},
  more: { script?: (seen: Seen) => Utterance; settings?: string; dialect?: string } = {},
) {
  const server = await serverFor(t, options)
  const one = await toolScene(t, { script: more.script ?? script, dialect: more.dialect, more: settings(server, more.settings) })
  const tool = (own: JsonObject = {}): JsonObject => ({
    type: 'mcp',
    server_label: 'notes',
    server_url: server.url,
    require_approval: 'never',
    ...own,
  })
  return { server, one, tool }
}

const LISTED = TOOLS.map(({ name, inputSchema }) => ({ name, input_schema: inputSchema }))

t.test('tools of a server: listed, called, shown; over each transport, to each provider', async (t) => {
  const cases: [dialect: string, transport: NonNullable<McpServerOptions['transport']>][] = [
    ['openai-chat', 'http'],
    ['openai-chat', 'http-stream'],
    ['openai-chat', 'sse'],
    ['anthropic', 'http'],
    ['gemini', 'http'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [dialect, transport] of cases) {
      const { server, one, tool } = await withServer(t, { transport }, { dialect })
      for (const way of formatRoutes('responses')) {
        const name = `${dialect} over ${transport}${way.stream ? ', streamed' : ''}`
        const before = server.calls.length
        const { status, raw, output, events } = await one.ask(way, {
          tools: [tool({ authorization: 'secret-token', headers: { 'X-Own': 'a b' } })],
        })
        t.equal(status, 200, `${name}: ${raw}`)
        t.match(
          output,
          [
            { type: 'mcp_list_tools', server_label: 'notes', tools: LISTED, id: /^mcpl_/ },
            {
              type: 'mcp_call',
              server_label: 'notes',
              name: 'read_note',
              arguments: '{"id":"7"}',
              output: 'read_note did {"id":"7"}',
              error: null,
              approval_request_id: null,
            },
            { type: 'message' },
          ],
          name,
        )
        t.same(server.calls.slice(before), [{ name: 'read_note', args: { id: '7' } }], name)
        t.ok(
          server.heads.every(({ headers }) => headers.authorization === 'Bearer secret-token' && headers['x-own'] === 'a b'),
          name,
        )
        t.notMatch(raw, /secret-token/, 'what goes to the server is not shown again')
        if (dialect === 'openai-chat') t.same(told(one), ['read_note did {"id":"7"}'], name)
        if (way.stream) {
          const types = events.map(({ type }) => String(type))
          t.ok(types.indexOf('response.mcp_list_tools.completed') > 0, name)
          t.ok(types.indexOf('response.mcp_call.completed') > types.indexOf('response.mcp_call_arguments.done'), name)
          t.equal(types.filter((type) => type === 'response.created').length, 1)
        }
      }
      t.notMatch(one.gateway.logs.join('\n'), /secret-token/)
    }
  })
})

t.test('router:mcp is the same in every client format, where no approval is needed', async (t) => {
  const { server, one, tool } = await withServer(t)
  const { type: _, ...parameters } = tool()
  await every(t, 'every way', async (t) => {
    for (const way of formatRoutes('responses', 'chat', 'messages')) {
      const before = server.calls.length
      const { status, raw } = await one.ask(way, { tools: [{ type: 'router:mcp', parameters }] })
      t.equal(status, 200, raw)
      t.equal(server.calls.length, before + 1)
      t.match(
        raw,
        way.format === 'chat'
          ? /"tool_name":"router:mcp"/
          : way.format === 'messages'
            ? /router_mcp_tool_result.*serverLabel/
            : /"mcp_call"/,
      )
      t.same(offered(one.model.requests.at(-1)), ['router_notes_read_note', 'router_notes_delete_note'])
    }
  })
  for (const format of ['chat', 'messages'] as const) {
    const asked = await one.ask(
      { format, stream: false },
      { tools: [{ type: 'router:mcp', parameters: { ...parameters, require_approval: 'always' } }] },
    )
    t.equal(asked.status, 400)
    t.match(asked.message, /^tools\[0\]\.parameters\.require_approval: expected never/)
  }
})

t.test('which tools are offered, and which of them need approval', async (t) => {
  const { one, tool } = await withServer(t, {}, { script: () => ({ text: ['x'] }) })
  const cases: [own: JsonObject, names: string[]][] = [
    [{ allowed_tools: ['read_note'] }, ['router_notes_read_note']],
    [{ allowed_tools: { tool_names: ['delete.note', 'other'] } }, ['router_notes_delete_note']],
    [{ allowed_tools: { read_only: true } }, ['router_notes_read_note']],
    [{ allowed_tools: { read_only: true, tool_names: ['delete.note'] } }, []],
    [{ allowed_tools: null }, ['router_notes_read_note', 'router_notes_delete_note']],
  ]
  await every(t, 'every case', async (t) => {
    for (const [own, names] of cases) {
      t.equal((await one.ask({ format: 'responses', stream: false }, { tools: [tool(own)] })).status, 200)
      t.same(offered(one.model.requests.at(-1)), names, JSON.stringify(own))
    }
  })
  const allowed = (mode: string, ...tools: JsonObject[]): JsonObject => ({ type: 'allowed_tools', mode, tools })
  const own = { type: 'function', name: 'mine', parameters: { type: 'object' } }
  const choices: [choice: JsonObject, names: string[]][] = [
    [allowed('auto', { type: 'mcp', server_label: 'notes' }), ['router_notes_read_note', 'router_notes_delete_note']],
    [allowed('required', { type: 'mcp' }), ['router_notes_read_note', 'router_notes_delete_note']],
    [allowed('auto', { type: 'mcp', server_label: 'other' }, { type: 'function', name: 'mine' }), ['mine']],
  ]
  for (const [tool_choice, names] of choices) {
    const asked = await one.ask({ format: 'responses', stream: false }, { tools: [tool(), own], tool_choice })
    t.equal(asked.status, 200, asked.raw)
    t.same(offered(one.model.requests.at(-1)), names, JSON.stringify(tool_choice))
  }
  const forced = await one.ask(
    { format: 'responses', stream: false },
    { tools: [tool()], tool_choice: { type: 'mcp', server_label: 'notes' } },
  )
  t.equal(forced.status, 200, forced.raw)
  t.equal(one.model.requests.at(-1)?.json.tool_choice, 'required')
  const acting = await withServer(
    t,
    {},
    { script: (seen) => (ran(seen) ? { text: ['done'] } : { calls: [...READ, ...calls('router_notes_delete_note', { id: '8' })] }) },
  )
  const approvals: [approval: JsonObject | string | null | undefined, asked: string[], done: string[]][] = [
    ['never', [], ['read_note', 'delete.note']],
    ['always', ['read_note', 'delete.note'], []],
    [null, ['read_note', 'delete.note'], []],
    [undefined, ['read_note', 'delete.note'], []],
    [{ never: { tool_names: ['read_note'] } }, ['delete.note'], ['read_note']],
    [{ always: { tool_names: ['delete.note'] }, never: { tool_names: ['read_note', 'delete.note'] } }, ['delete.note'], ['read_note']],
  ]
  await every(t, 'every case', async (t) => {
    for (const [approval, asked, done] of approvals) {
      const before = acting.server.calls.length
      const { output } = await acting.one.ask(
        { format: 'responses', stream: true },
        { tools: [acting.tool({ require_approval: approval })] },
      )
      const name = JSON.stringify(approval)
      t.same(
        output.filter(({ type }) => type === 'mcp_approval_request').map(({ name }) => name),
        asked,
        name,
      )
      t.same(
        acting.server.calls.slice(before).map(({ name }) => name),
        done,
        name,
      )
    }
  })
})

t.test('approval: asked, given, refused, and carried on with', async (t) => {
  const { server, one, tool } = await withServer(t)
  const tools = [tool({ require_approval: 'always' })]
  await every(t, 'every way', async (t) => {
    for (const way of formatRoutes('responses')) {
      const before = { calls: server.calls.length, turns: one.model.requests.length }
      const first = await one.ask(way, { tools })
      t.equal(first.status, 200, first.raw)
      t.match(first.output, [
        { type: 'mcp_list_tools' },
        { type: 'mcp_approval_request', server_label: 'notes', name: 'read_note', arguments: '{"id":"7"}', id: /^mcpr_/ },
      ])
      t.equal(server.calls.length, before.calls, 'nothing is called')
      t.equal(one.model.requests.length, before.turns + 1, 'the turn ends')
      const request = first.output[1]
      const input = [{ role: 'user', content: 'Go.' }, ...first.output]
      const answer = (approve: boolean, reason?: string): JsonObject[] => [
        ...input,
        { type: 'mcp_approval_response', approval_request_id: String(request.id), approve, ...(reason ? { reason } : {}) },
      ]
      const lists = (): number => server.asked.filter((method) => method === 'tools/list').length
      const listed = lists()
      const yes = await one.ask(way, { tools, input: answer(true) })
      t.equal(yes.status, 200, yes.raw)
      t.equal(lists(), listed, 'the list that is sent back is not asked for again')
      t.match(yes.output, [
        { type: 'mcp_call', name: 'read_note', output: 'read_note did {"id":"7"}', approval_request_id: request.id },
        { type: 'message', content: [{ text: 'done' }] },
      ])
      t.equal(server.calls.length, before.calls + 1)
      t.match(one.model.requests.at(-1)?.json.messages, [
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ function: { name: 'router_notes_read_note', arguments: '{"id":"7"}' } }] },
        { role: 'tool', content: 'read_note did {"id":"7"}' },
      ])
      const later = await one.ask(way, { tools, input: [...answer(true), ...yes.output, { role: 'user', content: 'More.' }] })
      t.equal(later.status, 200, later.raw)
      t.equal(server.calls.length, before.calls + 1, 'what has been run is not run again')
      t.match(told(one), ['read_note did {"id":"7"}'])
      const no = await one.ask(way, { tools, input: answer(false, 'too secret') })
      t.equal(no.status, 200, no.raw)
      t.match(told(one)[0], /did not approve the call: too secret/)
      t.equal(server.calls.length, before.calls + 1)
      const silent = await one.ask(way, { tools, input: [...input, { role: 'user', content: 'And?' }] })
      t.equal(silent.status, 200, silent.raw)
      t.same(told(one), [])
    }
  })
})

t.test('a call of an earlier reply is a call to the model', async (t) => {
  const { one, tool } = await withServer(t)
  const first = await one.ask({ format: 'responses', stream: false }, { tools: [tool()] })
  const input = [{ role: 'user', content: 'Go.' }, ...first.output, { role: 'user', content: 'More.' }]
  t.equal((await one.ask({ format: 'responses', stream: false }, { tools: [tool()], input })).status, 200)
  t.match(one.model.requests.at(-1)?.json.messages, [
    {},
    { tool_calls: [{ function: { name: 'router_notes_read_note' } }] },
    { role: 'tool', content: 'read_note did {"id":"7"}' },
    { role: 'assistant', content: 'done' },
    { role: 'user' },
  ])
})

t.test('a server that fails is told of, and the answer goes on', async (t) => {
  const failing: [options: McpServerOptions, error: RegExp][] = [
    [{ status: 401 }, /refused the authorization, with status 401/],
    [{ status: 500 }, /answered with status 500/],
    [{ status: 302, headers: { location: 'http://127.0.0.1:1/' } }, /could not be reached|status 302/],
    [
      { instead: (_, response) => Boolean(response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":')) },
      /could not be reached/,
    ],
    [{ instead: (request) => Boolean(request.socket.destroy()) }, /could not be reached/],
    [{ instead: (_, response) => Boolean(response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')) }, /./],
  ]
  await every(t, 'every case', async (t) => {
    for (const [options, error] of failing) {
      const { one, tool } = await withServer(t, options, { script: () => ({ text: ['without'] }) })
      const { status, output, raw } = await one.ask({ format: 'responses', stream: true }, { tools: [tool()] })
      t.equal(status, 200, raw)
      t.match(output, [{ type: 'mcp_list_tools', tools: [], error }, { type: 'message' }], JSON.stringify(options))
    }
  })
  const answers: [answer: (name: string) => JsonObject | undefined, told: RegExp, item: JsonObject][] = [
    [() => ({ content: [{ type: 'text', text: 'no such note' }], isError: true }), /no such note/, { error: 'no such note', output: null }],
    [() => ({ code: -32602, message: 'bad id' }), /refused: .*bad id/, { output: null }],
    [() => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }), /^\[image\]$/, { output: '[image]' }],
    [() => ({ content: [], structuredContent: { a: 1 } }), /^\{"a":1\}$/, { error: null }],
    [() => ({ content: [{ type: 'text', text: 'x'.repeat(500) }] }), /^x{100}\n\[cut off after 100/, {}],
    [() => ({ content: [{ type: 'text', text: 'x'.repeat(3_000_000) }] }), /said too much|could not be reached/, { output: null }],
    [() => undefined, /did not answer in time/, { output: null }],
  ]
  await every(t, 'every case', async (t) => {
    for (const [answer, expected, item] of answers) {
      const { one, tool } = await withServer(t, { answer }, { settings: ', max_characters: 100, max_kb: 1000, seconds: 1' })
      const { status, output } = await one.ask({ format: 'responses', stream: false }, { tools: [tool()] })
      t.equal(status, 200)
      t.match(told(one)[0], expected)
      t.match(output[1], { type: 'mcp_call', ...item })
    }
  })
})

t.test('tools that a hostile server lists', async (t) => {
  const tools: JsonObject[] = [
    { name: 'x'.repeat(129), inputSchema: { type: 'object' } },
    { name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(70_000) } },
    { name: 'a b', description: 'y'.repeat(10_000), inputSchema: { type: 'object' } },
    { name: 'a-b', inputSchema: { type: 'object' } },
    { name: 'a.b', inputSchema: { type: 'object' } },
    { name: 'a.b', inputSchema: { type: 'object' } },
    { name: `long_${'z'.repeat(100)}`, inputSchema: { type: 'object' } },
    ...Array.from({ length: 300 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' } })),
  ]
  const { one, tool } = await withServer(t, { tools }, { script: () => ({ text: ['x'] }) })
  t.equal((await one.ask({ format: 'responses', stream: false }, { tools: [tool()] })).status, 200)
  const names = offered(one.model.requests[0])
  t.equal(names.length, 128)
  t.equal(new Set(names).size, 128)
  t.ok(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)))
  t.match(names.slice(0, 3), ['router_notes_a_b', 'router_notes_a-b', 'router_notes_a_b_2'])
  t.notMatch(one.model.requests[0].body, /y{5000}/)
})

t.test('refuses settings that do not fit', async (t) => {
  const { server, one, tool } = await withServer(t)
  const cases: [own: JsonObject, message: RegExp][] = [
    [{ server_label: 'a b' }, /^tools\[0\]\.server_label: /],
    [{ server_url: undefined }, /^tools\[0\]\.server_url: is required/],
    [{ connector_id: 'connector_gmail' }, /^tools\[0\]\.connector_id: connectors are not available here/],
    [{ server_url: 'ftp://mcp.example.com' }, /^tools\[0\]\.server_url: .*only http and https/],
    [{ server_url: 'https://user:pass@mcp.example.com' }, /^tools\[0\]\.server_url: .*credentials/],
    [{ headers: { Host: 'x' } }, /^tools\[0\]\.headers\.Host: /],
    [{ headers: { 'a b': 'x' } }, /^tools\[0\]\.headers\.\?: /],
    [{ headers: { a: 'x\r\ny: z' } }, /^tools\[0\]\.headers\.a: /],
    [{ authorization: 'a\nb' }, /^tools\[0\]\.authorization: /],
    [{ allowed_tools: 'all' }, /^tools\[0\]\.allowed_tools: /],
    [{ require_approval: 'sometimes' }, /^tools\[0\]\.require_approval: /],
    [{ require_approval: { never: 'x' } }, /^tools\[0\]\.require_approval\.never: /],
  ]
  await every(t, 'every case', async (t) => {
    for (const [own, message] of cases) {
      const asked = await one.ask({ format: 'responses', stream: false }, { tools: [tool(own)] })
      t.equal(asked.status, 400, asked.raw)
      t.match(asked.message, message)
      t.notMatch(asked.message, /pass@|y: z/)
    }
  })
  const twice = await one.ask({ format: 'responses', stream: false }, { tools: [tool(), tool()] })
  t.match(twice.message, /^tools\[0\]\.server_label: two servers/)
  const crowd = Array.from({ length: 33 }, (_, i) => tool({ server_label: `s${i}` }))
  t.match((await one.ask({ format: 'responses', stream: false }, { tools: crowd })).message, /^tools\[0\]\.type: .*at most 32 servers/)
  const asked = { type: 'mcp_approval_request', server_label: 'notes', name: 'read_note', arguments: '{}' }
  const approved = Array.from({ length: 65 }, (_, i): JsonObject[] => [
    { ...asked, id: `mcpr_${i}` },
    { type: 'mcp_approval_response', approval_request_id: `mcpr_${i}`, approve: true },
  ])
  const flood = await one.ask({ format: 'responses', stream: false }, { tools: [tool()], input: approved.flat() })
  t.match(flood.message, /^input: .*at most 64 approved calls/)
  const owned = await one.ask({ format: 'responses', stream: false }, { plugins: [{ id: 'mcp', allow_private: ['10.0.0.0/8'] }] })
  t.match(owned.message, /^plugins\[0\]\.allow_private: is set by the operator alone/)
  t.equal(server.heads.length, 0)
  const plan = await one.gateway.post('/v1/plan', { model: 'acme/one', input: 'Go.', tools: [tool()] })
  t.equal(plan.status, 200, await plan.text())
  t.equal(server.heads.length, 0, 'a plan asks nobody')
  const listed = await toolScene(t, { script, more: settings(server, ', servers: [mcp.example.com]') })
  t.match((await listed.ask({ format: 'responses', stream: false }, { tools: [tool()] })).message, /operator allows other servers only/)
  const off = await toolScene(t, { script, more: settings(server, ', enabled: false') })
  t.match(
    (await off.ask({ format: 'responses', stream: false }, { tools: [tool()] })).message,
    /^tools\[0\]\.type: the operator has switched/,
  )
  for (const bad of ['seconds: 0', 'allow_private: ["x y"]', 'servers: ["a b"]', 'unknown: 1'])
    await t.rejects(toolScene(t, { script, more: `plugins: { defaults: { mcp: { ${bad} } } }` }), bad)
})

t.test('a provider that has the tool keeps it', async (t) => {
  const { server, one, tool } = await withServer(t, {}, { script: () => ({ text: ['x'] }), dialect: 'openai-responses' })
  t.equal((await one.ask({ format: 'responses', stream: false }, { tools: [tool({ connector_id: 'connector_gmail' })] })).status, 200)
  t.match(one.model.requests[0].json.tools, [{ type: 'mcp', server_label: 'notes' }])
  t.equal(server.heads.length, 0)
})

/** Forms of addresses that lead into the machine or its neighbourhood. */
const hostile = (port: number): string[] => [
  `http://127.0.0.1:${port}/mcp`,
  `http://localhost:${port}/mcp`,
  `http://[::1]:${port}/mcp`,
  `http://[::ffff:127.0.0.1]:${port}/mcp`,
  `http://2130706433:${port}/mcp`,
  `http://0x7f.1:${port}/mcp`,
  `http://0.0.0.0:${port}/mcp`,
  `http://127.0.0.1.nip.io:${port}/mcp`,
  'http://169.254.169.254/latest/meta-data',
  'http://10.0.0.1/mcp',
  'http://metadata.internal/mcp',
  'file:///etc/passwd',
]

t.test('SSRF: no private address is asked, neither named, nor by redirect, nor by what a server says', async (t) => {
  let hits = 0
  const canary = createServer((_, response) => {
    hits++
    response.end('{}')
  })
  t.teardown(() => canary.close())
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
  const { port } = canary.address() as AddressInfo
  const one = await toolScene(t, { script: () => ({ text: ['x'] }) })
  await every(t, 'every server_url', async (t) => {
    for (const server_url of hostile(port)) {
      const asked = await one.ask({ format: 'responses', stream: false }, { tools: [{ type: 'mcp', server_label: 'a', server_url }] })
      t.ok(asked.status === 400 || /could not be reached/.test(asked.raw), `${server_url}: ${asked.raw}`)
    }
  })
  const lists = (scene: { one: ToolScene; tool(own?: JsonObject): JsonObject }) =>
    scene.one.ask({ format: 'responses', stream: false }, { tools: [scene.tool({ authorization: 'secret-token' })] })
  await every(t, 'every status', async (t) => {
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://127.0.0.1:${port}/mcp`
      const asked = await lists(await withServer(t, { status, headers: { location } }, { script: () => ({ text: ['x'] }) }))
      t.equal(asked.status, 200)
      t.match(asked.output[0], { type: 'mcp_list_tools', error: /./ })
    }
  })
  const misleading = (_: unknown, response: ServerResponse): boolean => {
    if (response.req.method === 'POST') response.writeHead(405).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`event: endpoint\ndata: http://127.0.0.1:${port}/x\n\n`)
    return true
  }
  const led = await lists(await withServer(t, { instead: misleading }, { script: () => ({ text: ['x'] }), settings: ', seconds: 1' }))
  t.match(led.output[0], { type: 'mcp_list_tools', error: /./ })
  t.equal(hits, 0)
})

t.test('a caller who leaves ends the call', async (t) => {
  const { server, one, tool } = await withServer(t, { answer: () => undefined })
  const leaving = new AbortController()
  const left = fetch(`${one.gateway.url}${FORMATS.responses}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', input: 'Go.', tools: [tool()] }),
    signal: leaving.signal,
  })
  left.catch(() => {})
  await eventually('the call', () => server.calls.length > 0)
  leaving.abort()
  await t.rejects(left)
  const last = server.heads.at(-1)
  await eventually('the end of its connection', () => last?.socket.destroyed)
  t.equal(one.model.requests.length, 1)
})

t.test('no connection outlives its request, whatever the server keeps open', async (t) => {
  const mute = (_: unknown, response: ServerResponse): boolean => {
    if (response.req.method === 'POST') response.writeHead(405).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
    return true
  }
  const deaf = (_: unknown, response: ServerResponse): boolean => response.req.method === 'DELETE'
  for (const instead of [mute, deaf]) {
    const { server, one, tool } = await withServer(t, { instead }, { settings: ', seconds: 1' })
    const { status } = await one.ask({ format: 'responses', stream: false }, { tools: [tool()] })
    t.equal(status, 200)
    await eventually('the end of all connections', () => server.heads.every(({ socket }) => socket.destroyed))
    t.ok(server.heads.length > 0)
  }
})

t.test('a request that is refused because of another tool leaves no connection open', async (t) => {
  const { server, one, tool } = await withServer(t, { transport: 'sse' })
  const { status, raw } = await one.ask({ format: 'responses', stream: false }, { tools: [tool(), { type: 'router:no_such_tool' }] })
  t.equal(status, 400)
  t.match(raw, /tools\[1\]\.type/)
  await eventually('the end of a connection', () => server.heads.length > 0 && server.heads.every(({ socket }) => socket.destroyed))
  t.same(one.model.requests, [])
})
