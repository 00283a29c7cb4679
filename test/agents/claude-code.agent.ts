/** Anthropic's Claude Code, which speaks the Messages format. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Action, type Acts, callTool, offered } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { FAILURE } from './failures.ts'
import { MCP_SERVER } from './world.ts'

const bash = (view: View, command: string) => callTool(offered(view, /^Bash$/), { command, description: 'Runs a command' })

function acts(action: Action, view: View, work: string): Acts | undefined {
  switch (action.do) {
    case 'list':
      return [bash(view, 'ls -1')]
    case 'read':
      return action.files.map((file) => callTool(offered(view, /^Read$/), { file_path: join(work, file) }))
    case 'write':
      return [callTool(offered(view, /^Write$/), { file_path: join(work, action.file), content: action.text })]
    case 'run':
      return action.commands.map((command) => bash(view, command))
    case 'mcp': {
      const name = `mcp__${MCP_SERVER.name}__${action.tool}`
      // Claude Code defers the tools of MCP servers until they are searched for.
      const search = view.tools.find((tool) => tool.name === 'ToolSearch')
      if (search && !view.tools.some((tool) => tool.name === name) && !view.calls.some((call) => call.name === 'ToolSearch' && call.result))
        return [callTool(search, { query: `select:${name}`, max_results: 5 })]
      return [{ name, args: action.args }]
    }
    case 'look':
      return [callTool(offered(view, /^Read$/), { file_path: join(work, action.file) })]
    case 'own':
      return undefined
  }
}

await certify({
  name: 'claude-code',
  formats: ['messages'],
  own: [FAILURE],
  // The program is in the package of the platform; the script that would put it in place is not run.
  program(install) {
    const scope = join(install, 'node_modules/@anthropic-ai')
    const platform = readdirSync(scope).find((name) => name.startsWith('claude-code-'))
    return join(scope, platform ?? '', 'claude')
  },
  command: (prompt, { resume }, { scenario }) => {
    const { name, command, args } = MCP_SERVER
    const servers = JSON.stringify({ mcpServers: { [name]: { type: 'stdio', command, args } } })
    return [
      '-p',
      prompt,
      ...(resume ? ['--continue'] : []),
      ...(scenario === 'MCP' ? ['--mcp-config', servers] : []),
      '--allowedTools',
      `Bash,Read,Write,mcp__${name}`,
    ]
  },
  acts: (action, view, { work }) => acts(action, view, work),
  asksForSummary: ({ heard }) => /create a detailed summary of the conversation/i.test(heard.at(-1) ?? ''),
  summary: (text) => `<analysis>All is known.</analysis>\n<summary>\n${text}\n</summary>`,
  // What it assumes of its own names, whatever model serves them.
  contextTokens: ({ models }) => models.main.context ?? 1_000_000,
  returnsReasoning: () => true,
})
