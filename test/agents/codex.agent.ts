/** OpenAI's Codex, which speaks the Responses format. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Action, type Acts, callOf, offered } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

const command = (view: View, cmd: string) => callOf(offered(view, /^exec_command$/), { cmd })

function acts(action: Action, view: View): Acts | undefined {
  switch (action.do) {
    case 'list':
      return [command(view, 'ls -1')]
    case 'read':
      return action.files.map((file) => command(view, `cat ${file}`))
    case 'run':
      return action.commands.map((each) => command(view, each))
    case 'write': {
      const text = `*** Begin Patch\n*** Add File: ${action.file}\n${action.text.replace(/\n$/, '').replace(/^/gm, '+')}\n*** End Patch\n`
      const patch = view.tools.find(({ name }) => name === 'apply_patch')
      // For a model that it does not know, Codex takes patches through the shell.
      if (!patch) return [command(view, `apply_patch <<'EOF'\n${text}EOF`)]
      return [callOf(patch, patch.kind === 'custom' ? text : { input: text })]
    }
    case 'mcp':
      return [callOf(offered(view, new RegExp(`${MCP_SERVER.name}__${action.tool}$|${MCP_SERVER.name}_*${action.tool}$`)), action.args)]
    case 'look':
      return [callOf(offered(view, /^view_image$/), { path: action.file })]
  }
}

await certify({
  name: 'codex',
  formats: ['responses'],
  program: (install) => join(install, 'node_modules/.bin/codex'),
  prepare({ home, scenario }) {
    if (scenario !== 'MCP') return
    const { name, command, args } = MCP_SERVER
    const lines = ['', `[mcp_servers.${name}]`, `command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`]
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
  asksForSummary: ({ heard }) => /CONTEXT CHECKPOINT COMPACTION|handoff summary/i.test(heard.at(-1) ?? ''),
  contextOf: ({ models }) => models.main.context ?? 272_000,
  returnsReasoning: () => true,
})
