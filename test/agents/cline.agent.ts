/** Cline, by the Chat Completions format. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Action, type Acts, callOf, offered } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

function acts(action: Action, view: View, { work }: { work: string }): Acts | undefined {
  const run = (command: string) => callOf(offered(view, /^run_commands$/), { commands: [command] })
  const read = (file: string) => callOf(offered(view, /^read_files$/), { files: [{ path: join(work, file) }] })
  switch (action.do) {
    case 'list':
      return [run('ls -1')]
    case 'read':
      return action.files.map(read)
    case 'run':
      return action.commands.map(run)
    case 'write':
      return [callOf(offered(view, /^editor$/), { path: join(work, action.file), new_text: action.text })]
    case 'mcp':
      return [callOf(offered(view, new RegExp(`${MCP_SERVER.name}__${action.tool}$`)), action.args)]
    case 'look':
      return [read(action.file)]
  }
}

await certify({
  name: 'cline',
  formats: ['chat'],
  program: (install) => join(install, 'node_modules/.bin/cline'),
  prepare({ home, scenario }) {
    if (scenario !== 'MCP') return
    const { name, command, args } = MCP_SERVER
    const folder = join(home, '.cline/data/settings')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'cline_mcp_settings.json'), JSON.stringify({ mcpServers: { [name]: { command, args } } }))
  },
  command: (prompt) => [prompt],
  acts,
  cannot: { compaction: 'not run: Cline goes by its own estimate of the size, and compacts at 115,000 tokens' },
})
