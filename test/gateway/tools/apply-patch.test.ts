/** `router:apply_patch` over HTTP: patches are checked, handed to the caller, and never applied. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { calls, formatRoutes, offered, ran, told, toolScene } from '../../support/tool-scene.ts'
import type { Utterance } from '../../support/wire.ts'

const UPDATE = '@@ function main() {\n-  old()\n+  new()\n }\n'
const TOOLS = { tools: [{ type: 'router:apply_patch' }] }
const patch = (args: JsonObject): Utterance => ({ calls: calls('router_apply_patch', args) })

t.test('a valid patch ends the turn as an apply_patch_call, and what became of it goes to the model', async (t) => {
  const operation = { type: 'update_file', path: 'src/main.ts', diff: UPDATE }
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'anthropic', 'openai-responses', 'gemini']) {
      const one = await toolScene(t, { dialect, script: (seen) => (ran(seen) ? { text: ['done'] } : patch(operation)) })
      for (const way of formatRoutes('responses')) {
        const name = `${dialect}${way.stream ? ', streamed' : ''}`
        const before = one.model.requests.length
        const { status, raw, output, events, body } = await one.ask(way, TOOLS)
        t.equal(status, 200, `${name}: ${raw}`)
        t.equal(body.status, 'completed', name)
        t.equal(one.model.requests.length, before + 1, `${name}: the turn ends`)
        t.equal(output.length, 1, name)
        const [item] = output
        t.match(item, { type: 'apply_patch_call', operation, status: 'completed', id: /^apc_/ }, name)
        if (way.stream) {
          const types = events.map(({ type }) => String(type)).filter((type) => type.startsWith('response.'))
          t.same(
            types.slice(2),
            [
              'response.output_item.added',
              'response.apply_patch_call_operation_diff.delta',
              'response.apply_patch_call_operation_diff.done',
              'response.output_item.done',
              'response.completed',
            ],
            name,
          )
          t.match(
            events.filter(({ type }) => String(type).includes('operation_diff')),
            [
              { item_id: item.id, output_index: 0, delta: UPDATE },
              { item_id: item.id, output_index: 0, diff: UPDATE },
            ],
            name,
          )
          t.match(events[2].item, { status: 'in_progress', operation: { diff: '' } }, name)
        }
        for (const outcome of ['completed', 'failed']) {
          const result = { type: 'apply_patch_call_output', call_id: item.call_id, status: outcome, output: `It ${outcome}.` }
          const next = await one.ask(way, { ...TOOLS, input: [{ role: 'user', content: 'Go.' }, item, result] })
          t.equal(next.status, 200, `${name}: ${next.raw}`)
          const sent = one.model.requests.at(-1)?.body ?? ''
          t.match(sent, new RegExp(`It ${outcome}`), name)
          t.match(sent, /router_apply_patch.*src\/main\.ts/, name)
          t.notMatch(sent, /apply_patch_call/, name)
          t.match(next.raw, /done/, name)
        }
      }
    }
  })
})

t.test('an invalid patch goes back to the model', async (t) => {
  const bad: [args: JsonObject, error: RegExp][] = [
    [{ type: 'rename', path: 'a' }, /type: expected create_file/],
    [{ type: 'create_file', diff: '+a' }, /path: is missing/],
    [{ type: 'create_file', path: '/etc/passwd', diff: '+a' }, /path: expected one relative/],
    [{ type: 'create_file', path: 'C:\\x', diff: '+a' }, /path: expected one relative/],
    [{ type: 'create_file', path: '~/x', diff: '+a' }, /path: expected one relative/],
    [{ type: 'delete_file', path: 'a/../../b' }, /path: must not lead out/],
    [{ type: 'delete_file', path: 'a\\..\\b' }, /path: must not lead out/],
    [{ type: 'delete_file', path: 'a\u0000b' }, /control characters/],
    [{ type: 'create_file', path: 'a', diff: '+a\nb' }, /line 2: each line of a new file begins with \+/],
    [{ type: 'create_file', path: 'a' }, /diff: is missing/],
    [{ type: 'update_file', path: 'a', diff: '@@\n' }, /without lines/],
    [{ type: 'update_file', path: 'a', diff: ' a\n b' }, /nothing is added/],
    [{ type: 'update_file', path: 'a', diff: '@@x\n+a' }, /line 1: expected @@ alone/],
    [{ type: 'update_file', path: 'a', diff: '*** Begin Patch\n+a' }, /line 1: expected a line that begins/],
    [{ type: 'update_file', path: 'a', diff: '+a\n*** End of File\n+b' }, /line 3: after/],
    [{ type: 'update_file', path: 'a', diff: 'diff --git a b\n+b' }, /line 1/],
  ]
  let args: JsonObject = {}
  const one = await toolScene(t, { script: (seen) => (ran(seen) ? { text: ['sorry'] } : patch(args)) })
  await every(t, 'every case', async (t) => {
    for (const [wrong, error] of bad) {
      args = wrong
      const { output, raw } = await one.ask({ format: 'responses', stream: false }, TOOLS)
      t.match(told(one)[0], error, JSON.stringify(wrong))
      t.match(output, [{ type: 'router:apply_patch', status: 'incomplete' }, { type: 'message' }], raw)
    }
  })
  const good: JsonObject[] = [
    { type: 'create_file', path: 'a/b.txt', diff: '+one\n+\n+two\n' },
    { type: 'delete_file', path: 'a..b/c' },
    { type: 'update_file', path: 'a', diff: ' a\n\n-b\n+c\n@@\n@@ class A\n@@ def f\n+x\n*** End of File\n' },
    { operation: { type: 'update_file', path: 'a', diff: '-b\r\n' } },
  ]
  for (const right of good) {
    args = right
    const { output } = await one.ask({ format: 'responses', stream: false }, TOOLS)
    t.match(output, [{ type: 'apply_patch_call', operation: (right.operation ?? right) as JsonObject }])
  }
})

t.test('two patches of one turn are both handed over', async (t) => {
  const both = [
    { type: 'create_file', path: 'a', diff: '+a' },
    { type: 'delete_file', path: 'b' },
  ]
  const one = await toolScene(t, { script: () => ({ calls: calls('router_apply_patch', ...both) }) })
  for (const way of formatRoutes('responses')) {
    const { output } = await one.ask(way, TOOLS)
    t.match(
      output,
      both.map((operation) => ({ type: 'apply_patch_call', operation })),
    )
    t.equal(new Set(output.map(({ id }) => id)).size, 2)
  }
})

t.test('refuses the tool on chat completions, and leaves it to providers that have it', async (t) => {
  const one = await toolScene(t, { script: () => ({ text: ['x'] }) })
  for (const format of ['chat', 'messages'] as const) {
    const asked = await one.ask({ format, stream: false }, TOOLS)
    t.equal(asked.status, 400, asked.raw)
    t.match(asked.message, /^tools\[0\]\.type: /)
  }
  const wrong = await one.ask(
    { format: 'responses', stream: false },
    { tools: [{ type: 'router:apply_patch', parameters: { engine: 'x' } }] },
  )
  t.match(wrong.message, /^tools\[0\]\.parameters\.engine: expected auto, native or router/)
  t.equal(one.model.requests.length, 0)
  // A provider's own tool is run here where nobody has it.
  t.equal(
    (await one.ask({ format: 'responses', stream: false }, { tools: [{ type: 'apply_patch' }], tool_choice: { type: 'apply_patch' } }))
      .status,
    200,
  )
  t.same(offered(one.model.requests.at(-1)), ['router_apply_patch'])
  t.match(one.model.requests.at(-1)?.json.tool_choice, { function: { name: 'router_apply_patch' } })

  const chosen = { tools: [{ type: 'router:apply_patch' }], tool_choice: { type: 'router:apply_patch' } }
  t.equal((await one.ask({ format: 'responses', stream: false }, chosen)).status, 200)
  t.match(one.model.requests.at(-1)?.json.tool_choice, { function: { name: 'router_apply_patch' } })
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'apply_patch' }] }
  t.equal((await one.ask({ format: 'responses', stream: false }, { tools: [{ type: 'apply_patch' }], tool_choice: allowed })).status, 200)
  t.same(offered(one.model.requests.at(-1)), ['router_apply_patch'])

  const native = 'quirks: { native_tools: [apply_patch] }'
  const having = await toolScene(t, { script: () => ({ text: ['x'] }), dialect: 'openai-responses', endpoint: native })
  await every(t, 'every case', async (t) => {
    for (const [engine, sent] of [
      [undefined, 'apply_patch'],
      ['auto', 'apply_patch'],
      ['native', 'apply_patch'],
      ['router', 'router_apply_patch'],
    ] as const) {
      const tools = [{ type: 'router:apply_patch', parameters: engine === undefined ? {} : { engine } }]
      const asked = await having.ask({ format: 'responses', stream: false }, { tools })
      t.equal(asked.status, 200, asked.raw)
      t.same(offered(having.model.requests.at(-1)), [sent], String(engine))
      const forced = await having.ask({ format: 'responses', stream: false }, { tools, tool_choice: { type: 'router:apply_patch' } })
      t.equal(forced.status, 200, forced.raw)
      const choice = sent === 'apply_patch' ? { type: sent } : { type: 'function', name: sent }
      t.same(having.model.requests.at(-1)?.json.tool_choice, choice, String(engine))
    }
  })
  const lacking = await toolScene(t, { script: () => ({ text: ['x'] }), dialect: 'openai-responses' })
  await lacking.ask({ format: 'responses', stream: false }, { tools: [{ type: 'router:apply_patch', parameters: { engine: 'native' } }] })
  t.same(offered(lacking.model.requests.at(-1)), ['router_apply_patch'], 'native falls back to the gateway')
  await lacking.ask({ format: 'responses', stream: false }, { tools: [{ type: 'apply_patch' }] })
  t.same(offered(lacking.model.requests.at(-1)), ['apply_patch'], "a provider's own tool is left to it")
})
