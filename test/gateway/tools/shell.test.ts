/** `router:shell` and `router:bash` over HTTP: in the sandbox, handed to the caller, or refused. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { sandboxYaml } from '../../support/bubblewrap.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { processesWith } from '../../support/processes.ts'
import { calls, FORMATS, formatRoutes, offered, ran, type ToolScene, told, toolScene } from '../../support/tool-scene.ts'
import type { Seen } from '../../support/upstream.ts'
import type { Utterance } from '../../support/wire.ts'

function testFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-shell-test-'))
  t.teardown(() => execFileSync('sh', ['-c', 'chmod -R u+rwX "$1"; rm -rf "$1"', 'sh', folder], { stdio: 'ignore' }))
  return folder
}

/** Calls the tool with what the test sets, then answers. */
class Caller {
  name = 'router_shell'
  args: JsonObject[] = []
  readonly script = (seen: Seen): Utterance => (ran(seen) ? { text: ['done'] } : { calls: calls(this.name, ...this.args) })
}

async function withShell(t: Test, dialect?: string, more?: string): Promise<{ one: ToolScene; caller: Caller; folder: string }> {
  const caller = new Caller()
  const folder = testFolder(t)
  return { caller, folder, one: await toolScene(t, { script: caller.script, dialect, more: sandboxYaml(folder, more) }) }
}

const SHELL = { tools: [{ type: 'router:shell' }] }

t.test('the model runs commands in a container that stays', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'anthropic', 'openai-responses']) {
      const { one, caller } = await withShell(t, dialect)
      for (const way of formatRoutes('responses', 'messages')) {
        const name = `${dialect} to ${way.format}${way.stream ? ', streamed' : ''}`
        caller.args = [{ commands: ['echo kept > f; echo "to you"', 'cat f; ls nowhere'] }, { commands: ['cat f'] }]
        const { status, raw, output } = await one.ask(way, SHELL)
        t.equal(status, 200, `${name}: ${raw}`)
        if (dialect === 'openai-chat') {
          const [first, second] = told(one).map((text) => JSON.parse(text) as JsonObject[])
          t.match(first, [
            { stdout: 'to you\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
            { stdout: 'kept\n', stderr: /nowhere/, outcome: { type: 'exit', exit_code: 2 } },
          ])
          t.match(second, [{ stdout: 'kept\n' }], 'calls of one turn share the folder, in order')
        }
        if (way.format === 'responses') {
          t.match(output[0], {
            type: 'router:shell',
            status: 'completed',
            call_id: 'call_router_shell0',
            action: { commands: ['echo kept > f; echo "to you"', 'cat f; ls nowhere'], max_output_length: null, timeout_ms: null },
            output: [{ stdout: 'to you\n' }, { outcome: { exit_code: 2 } }],
            environment: { type: 'container_reference', container_id: /^cntr_[a-z0-9]{15}$/ },
          })
          t.equal(output.at(-1)?.type, 'message', name)
        } else t.match(raw, /router_shell_tool_result/, name)
      }
    }
  })
})

t.test('items that are sent back are calls and results to the model', async (t) => {
  const { one, caller } = await withShell(t)
  caller.args = [{ commands: ['echo first'] }]
  const first = await one.ask({ format: 'responses', stream: false }, SHELL)
  const input = [{ role: 'user', content: 'Go.' }, ...first.output, { role: 'user', content: 'And now?' }]
  const next = await one.ask({ format: 'responses', stream: false }, { ...SHELL, input })
  t.equal(next.status, 200, next.raw)
  t.match(one.model.requests.at(-1)?.json.messages, [
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ function: { name: 'router_shell', arguments: '{"commands":["echo first"]}' } }] },
    { role: 'tool', content: /first/ },
  ])
  t.equal(one.model.requests.length, 3)
})

t.test('limits, time-outs and arguments that do not fit are told to the model', async (t) => {
  const { one, caller, folder } = await withShell(t, undefined, ', seconds: 5, output_kb: 1')
  const cases: [args: JsonObject, told: RegExp][] = [
    [{ commands: ['sleep 100'], timeout_ms: 200 }, /"outcome":\{"type":"timeout"\}/],
    [{ commands: ['printf 123456789'], max_output_length: 4 }, /1234\\n\[cut off/],
    [{ commands: ['yes'] }, /it wrote too much/],
    [{ commands: [] }, /commands: expected a list of 1 to 20/],
    [{ commands: ['a', ''] }, /commands\[1\]: expected a command/],
    [{ commands: ['a\u0000b'] }, /none of them NUL/],
    [{ commands: Array.from({ length: 21 }, () => 'ls') }, /1 to 20/],
    [{ commands: ['ls'], timeout_ms: -1 }, /timeout_ms: /],
    [{ commands: ['kill -9 $$'] }, /"exit_code":1\d\d/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [args, expected] of cases) {
      caller.args = [args]
      t.equal((await one.ask({ format: 'responses', stream: false }, SHELL)).status, 200)
      t.match(told(one)[0], expected, JSON.stringify(args).slice(0, 60))
    }
  })
  const broken = await toolScene(t, {
    script: caller.script,
    more: `plugins: { defaults: { shell: { sandbox: { type: command, command: [/nowhere/at/all], folder: "${folder}" } } } }`,
  })
  caller.args = [{ commands: ['ls'] }]
  const { status, output } = await broken.ask({ format: 'responses', stream: false }, SHELL)
  t.equal(status, 200)
  t.match(output[0], { type: 'router:shell', status: 'incomplete', error: 'the sandbox could not run the commands' })
  t.match(told(broken)[0], /could not run/)
})

t.test('containers: named, of one key, gone after their sleep', async (t) => {
  const { one, caller, folder } = await withShell(t)
  const named = (container_id: string): JsonObject => ({
    tools: [{ type: 'router:shell', parameters: { environment: { type: 'container_reference', container_id }, sleep_after_seconds: 60 } }],
  })
  const run = async (command: string, more: JsonObject): Promise<string> => {
    caller.args = [{ commands: [command] }]
    const { output } = await one.ask({ format: 'responses', stream: false }, more)
    return String((output[0].output as JsonObject[])[0].stdout)
  }
  await run('echo here > f', named('mine'))
  t.equal(await run('cat f', named('mine')), 'here\n')
  t.equal(await run('cat f', named('other')), '')
  t.equal(await run('ls', SHELL), '', 'without a name each request has its own')
  const [home] = readdirSync(folder)
  t.equal(readdirSync(join(folder, home)).filter((name) => name.endsWith('.until')).length, 3)
})

t.test('refuses the shell on chat completions, and settings that do not fit', async (t) => {
  const { one } = await withShell(t)
  const shell = (parameters: JsonObject): JsonObject => ({ tools: [{ type: 'router:shell', parameters }] })
  const cases: [format: 'chat' | 'responses' | 'messages', more: JsonObject, message: RegExp][] = [
    ['chat', SHELL, /^tools\[0\]\.type: /],
    ['responses', shell({ engine: 'native' }), /^tools\[0\]\.parameters\.engine: expected auto or router/],
    ['messages', shell({ environment: { type: 'local' } }), /^tools\[0\]\.parameters\.environment\.type: /],
    ['responses', shell({ environment: 'x' }), /^tools\[0\]\.parameters\.environment: /],
    ['responses', shell({ environment: { type: 'container_reference' } }), /container_id: /],
    ['responses', shell({ environment: { type: 'container_reference', container_id: '../../etc' } }), /container_id: expected up to 20/],
    ['responses', shell({ environment: { type: 'container_reference', container_id: 'x'.repeat(21) } }), /container_id: /],
    ['responses', shell({ sleep_after_seconds: 2_592_001 }), /sleep_after_seconds: expected a whole number from 1 to 2592000/],
    ['messages', { tools: [{ type: 'router:bash', parameters: { engine: 'x' } }] }, /engine: expected auto, native or router/],
    ['responses', { plugins: [{ id: 'shell', sandbox: { type: 'command', command: ['sh', '-c'] } }] }, /sandbox.*operator alone/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [format, more, message] of cases) {
      const asked = await one.ask({ format, stream: false }, more)
      t.equal(asked.status, 400, asked.raw)
      t.match(asked.message, message)
    }
  })
  const without = await toolScene(t, { script: () => ({ text: ['x'] }) })
  const nowhere: [tools: JsonObject[], field: RegExp][] = [
    [SHELL.tools, /^tools\[0\]\.type: /],
    [[{ type: 'router:bash', parameters: { engine: 'router' } }], /^tools\[0\]\.parameters\.engine: /],
  ]
  await every(t, 'every case', async (t) => {
    for (const [tools, field] of nowhere) {
      const asked = await without.ask({ format: 'messages', stream: false }, { tools })
      t.equal(asked.status, 400)
      t.match(asked.message, field)
      t.match(asked.message, /plugins\.defaults\.shell\.sandbox/)
    }
  })
  t.equal(one.model.requests.length + without.model.requests.length, 0)
  await t.rejects(toolScene(t, { script: () => ({}), more: 'plugins: { defaults: { shell: { sandbox: { type: docker } } } }' }), /sandbox/)
})

t.test("the API's own shell: run in the sandbox where there is one, else handed to the caller", async (t) => {
  const { one, caller } = await withShell(t)
  caller.args = [{ commands: ['echo hello'] }]
  await every(t, 'every way', async (t) => {
    for (const way of formatRoutes('responses')) {
      const { output } = await one.ask(way, { tools: [{ type: 'shell' }] })
      t.match(output, [
        { type: 'shell_call', status: 'completed', call_id: 'call_router_shell0', action: { commands: ['echo hello'] } },
        {
          type: 'shell_call_output',
          call_id: 'call_router_shell0',
          output: [{ stdout: 'hello\n', outcome: { type: 'exit', exit_code: 0 } }],
        },
        { type: 'message' },
      ])
    }
  })
  const without = await toolScene(t, { script: caller.script })
  await every(t, 'every case', async (t) => {
    for (const [place, tool] of [
      [without, { type: 'shell' }],
      [one, { type: 'shell', environment: { type: 'local' } }],
    ] as const) {
      const first = await place.ask({ format: 'responses', stream: true }, { tools: [tool] })
      t.match(first.output, [{ type: 'shell_call', action: { commands: ['echo hello'], timeout_ms: null } }])
      t.equal(first.output.length, 1)
      const result = {
        type: 'shell_call_output',
        call_id: first.output[0].call_id,
        output: [{ stdout: 'from the caller', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      }
      const input = [{ role: 'user', content: 'Go.' }, first.output[0], result]
      const next = await place.ask({ format: 'responses', stream: false }, { tools: [tool], input })
      t.match(told(place)[0], /from the caller/)
      t.match(next.output, [{ type: 'message' }])
    }
  })
  const native = await toolScene(t, {
    script: () => ({ text: ['x'] }),
    dialect: 'openai-responses',
    endpoint: 'quirks: { native_tools: [shell] }',
  })
  t.equal((await native.ask({ format: 'responses', stream: false }, SHELL)).status, 200)
  t.match(native.model.requests[0].json.tools, [{ type: 'shell', environment: { type: 'container_auto' } }])
})

t.test('bash: handed to the caller, or run where that is asked for', async (t) => {
  const { one, caller } = await withShell(t)
  caller.name = 'router_bash'
  caller.args = [{ command: 'echo out; echo err >&2; exit 4' }]
  await every(t, 'every parameters', async (t) => {
    for (const parameters of [{}, { engine: 'auto' }, { engine: 'native' }] as JsonObject[]) {
      for (const way of formatRoutes('messages', 'responses', 'chat')) {
        const { status, raw } = await one.ask(way, { tools: [{ type: 'router:bash', parameters }] })
        t.equal(status, 200, raw)
        t.match(raw, /"name":"bash"/)
        t.match(
          raw,
          way.format === 'messages'
            ? /"stop_reason":"tool_use"/
            : way.format === 'chat'
              ? /"finish_reason":"tool_calls"/
              : /"function_call"/,
        )
      }
    }
  })
  t.equal(one.model.requests.length, 18, 'the turn ends')
  await every(t, 'every way', async (t) => {
    for (const way of formatRoutes('messages', 'responses', 'chat')) {
      const { status, raw, output } = await one.ask(way, { tools: [{ type: 'router:bash', parameters: { engine: 'router' } }] })
      t.equal(status, 200, raw)
      t.match(JSON.parse(told(one)[0]), { command: caller.args[0].command, stdout: 'out\n', stderr: 'err\n', exitCode: 4 })
      if (way.format === 'responses') {
        t.match(output[0], {
          type: 'router:bash',
          status: 'completed',
          stdout: 'out\n',
          stderr: 'err\n',
          exitCode: 4,
          call_id: 'call_router_bash0',
        })
        const input = [{ role: 'user', content: 'Go.' }, ...output]
        await one.ask(way, { tools: [{ type: 'router:bash', parameters: { engine: 'router' } }], input })
        t.match(one.model.requests.at(-1)?.json.messages, [{}, { tool_calls: [{ function: { name: 'router_bash' } }] }, { role: 'tool' }])
      } else if (way.format === 'messages') t.match(raw, /router_bash_tool_result.*exitCode/)
    }
  })
  const own = await toolScene(t, { script: caller.script })
  const asked = await own.ask({ format: 'messages', stream: false }, { tools: [{ type: 'bash_20250124', name: 'bash' }] })
  t.match(asked.raw, /"type":"tool_use".*"name":"bash"/)
  t.same(offered(own.model.requests[0]), ['router_bash'])
})

t.test('a caller who leaves ends the command', async (t) => {
  const { one, caller, folder } = await withShell(t)
  caller.args = [{ commands: [`echo > started; sleep 1000.${process.pid}`] }]
  const leaving = new AbortController()
  const left = fetch(`${one.gateway.url}${FORMATS.responses}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', input: 'Go.', ...SHELL }),
    signal: leaving.signal,
  })
  left.catch(() => {})
  const running = (): boolean => processesWith(`sleep\u00001000.${process.pid}\u0000`) > 0
  await eventually('the command runs', running)
  leaving.abort()
  await t.rejects(left)
  await eventually('the command has ended', () => !running())
  t.equal(one.model.requests.length, 1)
  t.ok(readdirSync(folder).length > 0)
})
