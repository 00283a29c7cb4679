/** OpenAI's Codex, which speaks the Responses format. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Utterance } from '../support/wire.ts'
import { type Action, type Acts, callTool, offered, type ToolCall } from './agent-run.ts'
import { certify } from './certify.ts'
import { CODEX_SCENARIOS, KNOWN, SUBTASK } from './codex-scenarios.ts'
import type { View } from './conversation.ts'
import { FAILURE } from './failures.ts'
import { MCP_SERVER } from './world.ts'

/** Commands run in Codex's tool for scripts where it has one. */
function command(view: View, cmd: string): ToolCall {
  const exec = view.tools.find(({ name }) => /^(functions__)?exec$/.test(name))
  if (!exec) return callTool(offered(view, /^exec_command$/), { cmd })
  return free(exec, `const r = await tools.exec_command({ cmd: ${JSON.stringify(cmd)} });\ntext(r.output);\n`)
}

/** Free text, or the function that stands for it. */
const free = (tool: Parameters<typeof callTool>[0], text: string): ToolCall =>
  callTool(tool, tool.kind === 'custom' ? text : { input: text })

function write(view: View, file: string, text: string): ToolCall {
  const patch = view.tools.find(({ name }) => name === 'apply_patch')
  const lines = text.replace(/\n$/, '')
  // For a model that it does not know, Codex has no tool for patches.
  if (!patch) return command(view, `cat > ${file} <<'EOF'\n${lines}\nEOF`)
  return free(patch, `*** Begin Patch\n*** Add File: ${file}\n${lines.replace(/^/gm, '+')}\n*** End Patch\n`)
}

function own(view: View, what: string): ToolCall {
  if (what === 'spawn') return callTool(offered(view, /spawn_agent$/), { message: SUBTASK })
  const spawned = view.calls.find(({ name }) => name.endsWith('spawn_agent'))?.result ?? ''
  return callTool(offered(view, /wait_agent$/), { targets: [/agent_id\W+([\w-]+)/.exec(spawned)?.[1] ?? ''] })
}

function acts(action: Action, view: View): Acts | undefined {
  switch (action.do) {
    case 'list':
      return [command(view, 'ls -1')]
    case 'read':
      return action.files.map((file) => command(view, `cat ${file}`))
    case 'run':
      return action.commands.map((each) => command(view, each))
    case 'write':
      return [write(view, action.file, action.text)]
    case 'mcp':
      return [callTool(offered(view, new RegExp(`${MCP_SERVER.name}_*${action.tool}(_[0-9a-f]{8})?$`)), action.args)]
    case 'look':
      return [callTool(offered(view, /^view_image$/), { path: action.file })]
    case 'own':
      return [own(view, action.what)]
  }
}

const isSubAgent = ({ heard }: View): boolean => heard.some((text) => text.includes(SUBTASK))
const BEGUN: Utterance = { text: ['I have ', 'begun.'] }

await certify({
  name: 'codex',
  formats: ['responses'],
  own: [...CODEX_SCENARIOS, FAILURE],
  program: (install) => join(install, 'node_modules/.bin/codex'),
  settings: (model) =>
    `aliases: { ${Object.values(KNOWN)
      .map((name) => `${name}: ${model}`)
      .join(', ')} }`,
  prepare({ home, scenario }) {
    if (scenario !== 'MCP') return
    const { name, command, args } = MCP_SERVER
    // Without `required` the first request goes out before the server has said what it can do.
    const lines = [
      '',
      `[mcp_servers.${name}]`,
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
      'startup_timeout_sec = 120',
      'required = true',
    ]
    appendFileSync(join(home, '.codex/config.toml'), `${lines.join('\n')}\n`)
  },
  command: (prompt, { resume }) => [
    'exec',
    ...(resume ? ['resume', '--last'] : []),
    '--dangerously-bypass-approvals-and-sandbox',
    '--json',
    prompt,
  ],
  acts,
  isMain: (view) => view.tools.length > 0 && !isSubAgent(view),
  aside: (view) => (isSubAgent(view) ? BEGUN : undefined),
  // Its own words, and those of the gateway where that writes the summary.
  asksForSummary: ({ heard }) =>
    /CONTEXT CHECKPOINT COMPACTION|handoff summary|Write a summary of the whole conversation/i.test(heard.at(-1) ?? ''),
  contextTokens: ({ models }) => models.main.context ?? 272_000,
  returnsReasoning: () => true,
})
