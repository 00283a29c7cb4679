/**
 * Content that wants to harm: results of tools, and servers of tools. Each request has its documented
 * outcome, others are served meanwhile, and the process does not grow. Runs with `npm run test:servers`.
 */
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Serve } from '../../support/canary.ts'
import { FakeClock, turns } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { MACHINERY } from '../../support/hostile-documents.ts'
import { type HostileScene, hostileScene, MB, memory, pours, SSE, siteTools as tool } from '../../support/hostile-scene.ts'
import { deep, lines, remote, result, says } from '../../support/hostile-tools.ts'
import { calls, type Format, formatRoutes, offered, ran } from '../../support/tool-scene.ts'

t.setTimeout(300_000)

t.test('results of tools are words, whatever they look like', async (t) => {
  for (const dialect of ['openai-chat', 'openai-responses', 'anthropic', 'gemini']) {
    const one = await hostileScene(t, { dialect })
    one.here.serve = (_request, response) => void response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(MACHINERY)
    one.script((seen) => (ran(seen) ? { text: ['done'] } : { calls: calls('router_web_fetch', { url: one.here.at() }) }))
    for (const { format, stream } of formatRoutes('chat', 'responses', 'messages')) {
      const name = `${dialect} to ${format}${stream ? ', streamed' : ''}`
      const [fetched, asked] = [one.here.seen.length, one.model.requests.length]
      const own: JsonObject = format === 'responses' ? { input: 'Go.' } : { messages: [{ role: 'user', content: 'Go.' }], max_tokens: 99 }
      const { status, raw, events } = await one.ask(format, { ...own, stream, tools: [{ type: 'router:web_fetch' }] })
      t.equal(status, 200, raw)
      t.same([one.here.seen.length - fetched, one.model.requests.length - asked], [1, 2], `${name}: one fetch, two turns`)
      t.match(one.model.requests.at(-1)?.body, /im_start/, name)
      const ends = events.filter(({ type }) => type === 'response.completed' || type === 'message_stop').length
      if (stream)
        t.equal(format === 'chat' ? raw.split('\n').filter((line) => line === 'data: [DONE]').length : ends, 1, `${name}: one end`)
    }
    // A function of the caller has the same right to say anything.
    for (const words of [`${MACHINERY}\0\x07\ufffe`, `${'\ud800'.repeat(1000)}x\udc00`, 'x'.repeat(10 * MB)]) {
      const before = one.model.requests.length
      const call = { id: 'call_1', type: 'function', function: { name: 'own', arguments: '{}' } }
      const input: [Format, JsonObject][] = [
        [
          'chat',
          {
            messages: [
              { role: 'user', content: 'Go.' },
              { role: 'assistant', tool_calls: [call] },
              { role: 'tool', tool_call_id: 'call_1', content: words },
            ],
          },
        ],
        [
          'responses',
          {
            input: [
              { type: 'function_call', call_id: 'call_1', name: 'own', arguments: '{}' },
              { type: 'function_call_output', call_id: 'call_1', output: words },
            ],
          },
        ],
        [
          'messages',
          {
            max_tokens: 99,
            messages: [
              { role: 'user', content: 'Go.' },
              { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'own', input: {} }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: words }] },
            ],
          },
        ],
      ]
      for (const [format, body] of input) {
        const { status, raw } = await one.ask(format, body)
        t.equal(status, 200, `${dialect}, ${format}: ${raw.slice(0, 300)}`)
      }
      const sent = one.model.requests.slice(before)
      t.equal(sent.length, 3)
      for (const { json } of sent) t.ok(JSON.stringify(json).length > words.length, 'it arrives as it is')
    }
    t.equal(one.here.hits, 0)
  }
})

/** Asks with each of these as a server of tools, and asks something else beside it. */
async function asking(t: Test, settings: string): Promise<Asking> {
  const one = await hostileScene(t, { mcp: settings })
  one.script((seen) => (ran(seen) || !seen.body.includes('far_look') ? { text: ['done'] } : { calls: calls('router_far_look', {}) }))
  // Each case has a server of its own: several are asked at a time.
  const servers: Serve[] = []
  one.here.serve = (request, response) => servers[Number(request.url?.slice(1))](request, response)
  const ask = async (serve: Serve, what: string): Promise<JsonObject[]> => {
    const path = `/${servers.push(serve) - 1}`
    const answer = one.ask('responses', { input: 'Go.', tools: [tool(one, path)] })
    t.equal((await one.ask('chat', { messages: [{ role: 'user', content: 'Meanwhile.' }] })).status, 200, `${what}: others are served`)
    const { status, output, raw } = await answer
    t.equal(status, 200, `${what}: ${raw.slice(0, 300)}`)
    t.match(output.at(-1), { type: 'message', content: [{ text: 'done' }] }, what)
    return output
  }
  return { one, ask }
}

interface Asking {
  one: HostileScene
  ask(serve: Serve, what: string): Promise<JsonObject[]>
}

t.test('servers of tools: junk, floods and streams without end', async (t) => {
  const { ask } = await asking(t, 'seconds: 20, max_kb: 500')
  t.match(
    await ask(
      remote('none', () => undefined),
      'the way it should be',
    ),
    [{ tools: [{ name: 'look' }] }, { type: 'mcp_call', output: 'seen' }, {}],
  )

  const junk: Record<string, () => Serve> = {
    'no JSON': () => says(Buffer.from([0, 255, 254, 1, 2])),
    nothing: () => says(''),
    null: () => says('null'),
    'a number': () => says('1e999'),
    'a list of junk': () => says(`[${'null,'.repeat(1000)}1]`),
    'deep brackets': () => says('['.repeat(300_000)),
    'deep objects': () => says(`{"jsonrpc":"2.0","id":1,"result":${deep(100_000)}}`),
    'an endless line': () => pours(SSE, 'x'.repeat(65_536)),
    'endless blanks': () => pours(SSE, ': \n\n'.repeat(16_384)),
    'endless fields': () => pours(SSE, 'data: x\n'.repeat(8192)),
    'endless JSON': () => pours({ 'content-type': 'application/json' }, '[1,'.repeat(20_000)),
    'endless notices': () => pours(SSE, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`.repeat(500)),
    '100 MB': () => says(Buffer.alloc(100 * MB, ' ')),
    'a packed bomb': () => (_request, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(100 * MB, ' '))),
    'a broken head': () => (request) => void request.socket.end('HTTP/1.1 200 OK\r\nmcp-session-id: \0\r\n\r\n'),
    'another protocol': () => says('<html>', 'text/html'),
  }
  const cases = Object.entries(junk).flatMap(([what, make]) =>
    ['initialize', 'tools/list', 'tools/call'].map((method) => async () => {
      const name = `${what} for ${method}`
      const [list, call] = await ask(remote(method, make), name)
      if (method === 'tools/call') t.match(call, { type: 'mcp_call', output: null, error: /^the server / }, name)
      else t.match(list, { type: 'mcp_list_tools', tools: [], error: /^the server / }, name)
    }),
  )
  for (let at = 0; at < cases.length; at += 6) await Promise.all(cases.slice(at, at + 6).map((one) => one()))

  const methods: string[] = []
  const counted =
    (serve: Serve): Serve =>
    (request, response) => {
      methods.push(request.method ?? '')
      serve(request, response)
    }

  // A list that never ends.
  methods.length = 0
  let page = 0
  const [endless] = await ask(
    counted(
      remote('tools/list', () => ({
        result: { tools: [{ name: `t${++page}`, inputSchema: { type: 'object' } }], nextCursor: `p${page}` },
      })),
    ),
    'a list without end',
  )
  t.equal(endless.type, 'mcp_list_tools')
  t.ok(methods.length < 20_000, `${methods.length} questions`)
})

t.test('servers of tools: odd tools and odd results', async (t) => {
  const { one, ask } = await asking(t, 'seconds: 20')
  const before = await memory()
  const names = [
    '',
    ' ',
    '__proto__',
    'constructor',
    'toString',
    'a\u0000b',
    'a\nb',
    '"',
    '</tool>',
    '😀',
    '\ud800',
    '‮abc',
    'x'.repeat(200),
    '../..',
    'look',
    'look',
  ]
  const schemas: unknown[] = [
    {},
    [],
    null,
    'x',
    { type: 'array' },
    { type: 'object', properties: { ['__proto__']: {} } },
    JSON.parse(deep(500)),
    { type: 'object', $ref: '#' },
  ]
  const tools = [
    ...names.map((name) => ({ name, description: MACHINERY, inputSchema: { type: 'object' } })),
    ...schemas.map((inputSchema, i) => ({ name: `s${i}`, inputSchema })),
    ...[
      null,
      5,
      'x',
      [],
      { name: 5, inputSchema: { type: 'object' } },
      { name: 'noschema' },
      { name: 'd', description: {}, inputSchema: { type: 'object' } },
    ],
  ]
  await Promise.all(tools.map((each, i) => ask(remote('tools/list', result(JSON.stringify({ tools: [each] }))), `odd tool ${i}`)))
  const listed = async (given: unknown[]): Promise<string[]> => {
    await ask(
      remote('tools/list', (id) => ({ id: id ?? null, result: { tools: given } as unknown as JsonObject })),
      'odd tools',
    )
    return offered(one.model.requests.findLast((seen) => seen.json.tools !== undefined))
  }
  const plain = await listed(names.map((name) => ({ name, description: MACHINERY, inputSchema: { type: 'object' } })))
  t.ok(
    plain.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)),
    plain.join(' '),
  )
  const many = await listed(Array.from({ length: 10_000 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' } })))
  t.equal(many.length, 128)

  const results: Record<string, [result: unknown, told: RegExp]> = {
    'words like machinery': [{ content: [{ type: 'text', text: MACHINERY }] }, /im_start/],
    'half characters': [{ content: [{ type: 'text', text: '\ud800 and \udc00' }] }, /and/],
    'many blocks': [{ content: Array.from({ length: 10_000 }, () => ({ type: 'text', text: 'x' })) }, /x/],
    'blocks of nothing': [{ content: [null, 5, {}, { type: 'text' }, { type: '__proto__' }, { type: 'resource', resource: null }] }, /./],
    'no content': [{ content: 'x' }, /./],
    nothing: [null, /./],
  }
  for (const [what, json] of Object.entries({
    'a million blocks of nothing': `{"content":[${'{},'.repeat(1_000_000)}{"type":"text","text":"x"}]}`,
    'a hundred thousand keys': `{"content":[],"structuredContent":{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join(',')}}}`,
    'a hundred thousand readers': `{"content":[{"type":"text","text":"x","annotations":{"audience":[${'1,'.repeat(100_000)}1]}}]}`,
  })) {
    const [, call] = await ask(remote('tools/call', result(json)), what)
    t.match(call, { type: 'mcp_call' }, what)
  }
  const notes = Array.from({ length: 50_000 }, () => '{"jsonrpc":"2.0","method":"notifications/message"}')
  const [, together] = await ask(
    remote('tools/call', () => says(`[${notes.join(',')}]`)),
    'many messages in one answer',
  )
  t.match(together, { type: 'mcp_call', error: /^the server / })
  const [, odd] = await ask(remote('tools/call', result(`{"content":[],"structuredContent":${deep(100_000)}}`)), 'a deep structure')
  t.match(odd, { type: 'mcp_call', error: /^the server / })
  for (const [what, [given, told]] of Object.entries(results)) {
    const output = await ask(
      remote('tools/call', () => ({ result: given as JsonObject })),
      what,
    )
    t.match(output[1], { type: 'mcp_call' }, what)
    t.match(String(output[1].output ?? output[1].error), told, what)
  }
  const grown = (await memory()) - before
  t.ok(grown < 600 * MB, `${Math.round(grown / MB)} MB more`)
  t.equal(one.here.hits, 0)
})

t.test('servers of tools that say nothing to the point are not waited for', async (t) => {
  const clock = new FakeClock()
  const one = await hostileScene(t, { mcp: 'seconds: 60', clock })
  one.script((seen) => (ran(seen) || !seen.body.includes('far_look') ? { text: ['done'] } : { calls: calls('router_far_look', {}) }))
  const junk: Record<string, Serve> = {
    'an empty list': says('[]'),
    'an answer to nobody': lines({ jsonrpc: '2.0', id: 'other', result: {} }),
    'both kinds of answer': lines({ jsonrpc: '2.0', id: 0, result: 5, error: 'x' }),
    'other kinds of events': says('event: nothing\nid: \0\nretry: -1\ndata: x\n\n'.repeat(1000), 'text/event-stream'),
    'a page as an event stream': says('<html>', 'text/event-stream'),
    silence: () => {},
    'a drip': (_request, response) => void response.writeHead(200, SSE).write(': x\n\n'),
  }
  for (const [what, serve] of Object.entries(junk))
    for (const method of ['initialize', 'tools/list', 'tools/call']) {
      const name = `${what} for ${method}`
      const served = Promise.withResolvers<void>()
      one.here.serve = remote(method, () => (request, response) => {
        serve(request, response)
        served.resolve()
      })
      const asking = one.ask('responses', { input: 'Go.', tools: [tool(one)] })
      await served.promise
      t.equal((await one.ask('chat', { messages: [{ role: 'user', content: 'Meanwhile.' }] })).status, 200, `${name}: others are served`)
      await clock.advance(60_000)
      const { status, output } = await asking
      // Open calls are released.
      await clock.advance(1000)
      t.equal(status, 200, name)
      if (method === 'tools/call') t.match(output[1], { type: 'mcp_call', output: null, error: 'the server did not answer in time' }, name)
      else t.match(output[0], { type: 'mcp_list_tools', tools: [], error: 'the server did not answer in time' }, name)
    }
})

t.test('a server of tools cannot make the gateway open connections without end', async (t) => {
  for (const method of ['GET', 'tools/list']) {
    const clock = new FakeClock()
    const one = await hostileScene(t, { mcp: 'seconds: 60', clock })
    // Every ping wants an answer of its own, and none of these is taken.
    const pings = Array.from({ length: 8000 }, (_, id) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n\n`).join('')
    let flooded = false
    const usually = remote(method, () => (_request, response) => {
      flooded = true
      response.writeHead(200, SSE).write(pings)
    })
    const open = new Set<unknown>()
    let most = 0
    one.here.serve = (request, response) => {
      open.add(request.socket)
      most = Math.max(most, open.size)
      request.socket.once('close', () => open.delete(request.socket))
      if (!flooded) usually(request, response)
    }
    const asking = one.ask('responses', { input: 'Go.', tools: [tool(one)] })
    await eventually('ten connections', () => most >= 10)
    t.equal((await one.ask('chat', { messages: [{ role: 'user', content: 'Meanwhile.' }] })).status, 200, `${method}: others are served`)
    await turns(200)
    await clock.advance(60_000)
    t.equal((await asking).status, 200, method)
    await clock.advance(1000)
    t.ok(most <= 20, `${method}: ${most} connections at once`)
  }
})
