/** `sim/agent`: a small task with the tools of any agent, in each format; arguments that the schemas accept; nothing written but what was named. */
import t, { type Test } from 'tap'
import { Check } from 'typebox/schema'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'

const FOLDER = '/home/ada/project'
const text = (more: JsonObject = {}): JsonObject => ({ type: 'string', ...more })
const shape = (properties: Record<string, JsonObject>, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

interface AgentTools {
  readonly system: string
  readonly tools: Readonly<Record<string, JsonObject>>
  /** Tools of the calls, in order, that write and read back, and the one that looks. */
  readonly writes: readonly string[]
  readonly looks: string
  /** First argument of each tool for which it matters. */
  readonly path: string
}

/** The forms in which coding agents have tools to run commands, to write and to read, beside some that must not be called. */
const AGENTS: Readonly<Record<string, AgentTools>> = {
  'paths that must be absolute': {
    system: `Primary working directory: ${FOLDER}\n Is directory a git repo: Yes`,
    tools: {
      Edit: shape({ file_path: text(), old_string: text(), new_string: text() }),
      NotebookEdit: shape({ notebook_path: text(), new_source: text() }),
      Bash: shape({ command: text(), timeout: { type: 'number' }, run_in_background: { type: 'boolean' } }, ['command']),
      Read: shape({ file_path: text(), offset: { type: 'integer' } }, ['file_path']),
      Write: shape({ file_path: text(), content: text() }),
      WebFetch: shape({ url: text({ format: 'uri' }), prompt: text() }),
    },
    writes: ['Write', 'Read'],
    looks: 'Bash',
    path: `${FOLDER}/headgate-sample.txt`,
  },
  'commands alone': {
    system: `<environment_context>\n  <cwd>${FOLDER}</cwd>\n</environment_context>`,
    tools: {
      view_image: shape({ path: text() }),
      update_plan: shape({ explanation: text(), plan: { type: 'array', items: shape({ step: text() }) } }),
      exec_command: shape({ cmd: text(), workdir: text(), tty: { type: 'boolean' } }, ['cmd']),
    },
    writes: ['exec_command', 'exec_command'],
    looks: 'exec_command',
    path: 'headgate-sample.txt',
  },
  'a program and its arguments': {
    system: 'You are an agent.',
    tools: { shell: shape({ command: { type: 'array', items: text() }, workdir: text() }, ['command']) },
    writes: ['shell', 'shell'],
    looks: 'shell',
    path: 'headgate-sample.txt',
  },
  'strict schemas, in which all is required and may be null': {
    system: `I'm currently working in the directory: ${FOLDER}`,
    tools: {
      list_directory: shape({ path: text(), ignore: { anyOf: [{ type: 'array', items: text() }, { type: 'null' }] } }),
      read_file: shape({ absolute_path: text(), offset: { type: ['number', 'null'] }, limit: { type: ['number', 'null'] } }),
      write_file: shape({ file_path: text(), content: text() }),
      run_shell_command: shape({
        command: text(),
        description: { anyOf: [text(), { type: 'null' }] },
        is_background: { type: 'boolean' },
        directory: text(),
        shell: { $ref: '#/$defs/shell' },
      }),
    },
    writes: ['write_file', 'read_file'],
    looks: 'run_shell_command',
    path: `${FOLDER}/headgate-sample.txt`,
  },
  'lists of commands, and of files': {
    system: `Current Working Directory (${FOLDER}) Files`,
    tools: {
      run_commands: shape({ commands: { type: 'array', items: text(), description: 'Shell commands' } }),
      read_files: shape({ files: { type: 'array', items: shape({ path: text() }) } }),
      editor: shape({ command: text({ enum: ['create', 'view'] }), path: text(), file_text: text() }, ['command', 'path']),
    },
    writes: ['run_commands', 'read_files'],
    looks: 'run_commands',
    path: 'headgate-sample.txt',
  },
  'no commands': {
    system: 'You may use files.',
    tools: {
      glob: shape({ pattern: text(), path: text() }, ['pattern']),
      create: shape({ path: text(), text: text() }),
      view: shape({ path: text() }),
    },
    writes: ['create', 'view'],
    looks: 'glob',
    path: 'headgate-sample.txt',
  },
}

const listTools = ({ tools }: AgentTools): [string, JsonObject][] =>
  Object.entries(tools).map(([name, schema]) => [name, { ...schema, $defs: { shell: { enum: ['bash', 'zsh'] } } }])

interface Call {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
}

interface Turn {
  readonly calls: readonly Call[]
  readonly utterance: string
}

/** A conversation in one format. */
interface Format {
  readonly path: string
  begin(agent: AgentTools, prompt: string): JsonObject
  turn(reply: JsonObject): Turn
  /** The request after the results of these calls. */
  next(body: JsonObject, reply: JsonObject, results: readonly { call: Call; text: string }[]): JsonObject
}

const FORMATS: Readonly<Record<string, Format>> = {
  chat: {
    path: '/v1/chat/completions',
    begin: (agent, prompt) => ({
      messages: [
        { role: 'system', content: agent.system },
        { role: 'user', content: prompt },
      ],
      tools: listTools(agent).map(([name, parameters]) => ({ type: 'function', function: { name, parameters } })),
    }),
    turn(reply) {
      const { content, tool_calls: calls } = object(list(reply.choices)[0].message)
      return { utterance: String(content ?? ''), calls: list(calls).map((call) => toCall(call.id, object(call.function))) }
    },
    next: (body, reply, results) => ({
      ...body,
      messages: [
        ...list(body.messages),
        object(list(reply.choices)[0].message),
        ...results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
      ],
    }),
  },
  responses: {
    path: '/v1/responses',
    begin: (agent, prompt) => ({
      instructions: agent.system,
      input: [{ role: 'user', content: prompt }],
      tools: listTools(agent).map(([name, parameters]) => ({ type: 'function', name, parameters, strict: false })),
    }),
    turn(reply) {
      const output = list(reply.output)
      const utterance = output.flatMap(({ content }) => list(content).map((part) => String(part.text)))
      const calls = output.filter(({ type }) => type === 'function_call').map((call) => toCall(call.call_id, call))
      return { utterance: utterance.join(''), calls }
    },
    next: (body, reply, results) => ({
      ...body,
      input: [
        ...list(body.input),
        ...list(reply.output),
        ...results.map(({ call, text }) => ({ type: 'function_call_output', call_id: call.id, output: text })),
      ],
    }),
  },
  messages: {
    path: '/v1/messages',
    begin: (agent, prompt) => ({
      max_tokens: 1000,
      system: agent.system,
      messages: [{ role: 'user', content: prompt }],
      tools: listTools(agent).map(([name, schema]) => ({ name, input_schema: schema })),
    }),
    turn(reply) {
      const blocks = list(reply.content)
      const utterance = blocks.map(({ text }) => String(text ?? '')).join('')
      return {
        utterance,
        calls: blocks
          .filter(({ type }) => type === 'tool_use')
          .map(({ id, name, input }) => ({ id: String(id), name: String(name), args: object(input) })),
      }
    },
    // As Claude Code does, with words of its own behind the results.
    next: (body, reply, results) => ({
      ...body,
      messages: [
        ...list(body.messages),
        { role: 'assistant', content: reply.content },
        {
          role: 'user',
          content: [
            ...results.map(({ call, text }) => ({ type: 'tool_result', tool_use_id: call.id, content: text })),
            { type: 'text', text: '<system-reminder>Do not create headgate-sample.md.</system-reminder>' },
          ],
        },
      ],
    }),
  },
}

const toCall = (id: unknown, { name, arguments: args }: JsonObject): Call => ({
  id: String(id),
  name: String(name),
  args: JSON.parse(String(args)) as JsonObject,
})

const RESULT = 'the result of it'

/** Runs a conversation to its end. @returns all turns. */
async function play(t: Test, gateway: Gateway, format: Format, { agent, prompt }: { agent: AgentTools; prompt: string }): Promise<Turn[]> {
  const schemas = new Map(listTools(agent))
  const turns: Turn[] = []
  let body: JsonObject = { model: 'sim/agent', ...format.begin(agent, prompt) }
  while (turns.length < 5) {
    const reply = (await (await gateway.post(format.path, body)).json()) as JsonObject
    const turn = format.turn(reply)
    turns.push(turn)
    for (const { name, args } of turn.calls) {
      const schema = schemas.get(name)
      t.ok(schema && Check(schema, args), `${name} accepts ${JSON.stringify(args)}`)
    }
    if (turn.calls.length === 0) return turns
    body = format.next(
      body,
      reply,
      turn.calls.map((call) => ({ call, text: RESULT })),
    )
  }
  return turns
}

const gateway = await startGateway(`
providers: { sim: { dialect: sim } }
models: { sim/agent: { context: 131072, endpoints: [ { provider: sim, model: agent, price: free } ] } }
`)
t.teardown(() => gateway.close())

for (const [formatName, format] of Object.entries(FORMATS))
  for (const [name, agent] of Object.entries(AGENTS))
    t.test(`${formatName}: ${name}`, async (t) => {
      const written = await play(t, gateway, format, { agent, prompt: 'Write headgate-sample.txt, please.' })
      t.same(
        written.flatMap(({ calls }) => calls.map((call) => call.name)),
        agent.writes,
      )
      for (const { args } of written.flatMap(({ calls }) => calls)) t.match(JSON.stringify(args), agent.path)
      t.match(written.at(-1)?.utterance, /^The task is done\. .*the result of it$/)

      for (const prompt of ['Write main.py.', 'Refactor src/headgate-sample.txt and its tests.']) {
        const looked = await play(t, gateway, format, { agent, prompt })
        t.same(
          looked.flatMap(({ calls }) => calls.map((call) => call.name)),
          [agent.looks],
          `${prompt}: it only looks`,
        )
        t.notMatch(JSON.stringify(looked), /main\.py|src\/headgate-sample|printf/)
      }
    })

t.test('requests beside the task', async (t) => {
  const [agent] = Object.values(AGENTS)
  const none = await play(t, gateway, FORMATS.chat, { agent: { ...agent, tools: {} }, prompt: 'Write headgate-sample.txt.' })
  t.match(none, [{ calls: [], utterance: /No tool of this request/ }])
  const title = await gateway.post('/v1/responses', {
    model: 'sim/agent',
    input: 'Make a title for: write headgate-sample.txt',
    text: { format: { type: 'json_schema', name: 'title', schema: shape({ title: text() }) } },
  })
  t.match(FORMATS.responses.turn((await title.json()) as JsonObject).utterance, /^\{"title":/)
})

t.test('a second prompt is a task of its own', async (t) => {
  const [agent] = Object.values(AGENTS)
  const { messages, tools } = FORMATS.chat.begin(agent, 'What is here?')
  const call = { id: 'c1', type: 'function', function: { name: 'Bash', arguments: '{"command":"ls"}' } }
  const body = {
    model: 'sim/agent',
    tools,
    messages: [
      ...list(messages),
      { role: 'assistant', content: 'I look.', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'README.md' },
      { role: 'assistant', content: 'The task is done.' },
      { role: 'user', content: 'Now write headgate-sample.md.' },
    ],
  }
  const { calls } = FORMATS.chat.turn((await (await gateway.post('/v1/chat/completions', body)).json()) as JsonObject)
  t.match(calls, [{ name: 'Write', args: { file_path: `${FOLDER}/headgate-sample.md` } }])
})
