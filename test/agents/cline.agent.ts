/** Cline, by the Chat Completions format. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Action, type Acts, callTool, offered } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

/**
 * Tokens of a full context, in the scenario of compaction: Cline takes what the provider counted for no more than four times its own
 * estimate, so a short conversation never fills a large one (@cline/core 0.0.86).
 */
const CONTEXT = 20_000

function setContext(file: string): void {
  const before = JSON.parse(readFileSync(file, 'utf8')) as { providers: Record<string, { settings: object }> }
  for (const provider of Object.values(before.providers)) provider.settings = { ...provider.settings, contextWindow: CONTEXT }
  writeFileSync(file, JSON.stringify(before))
}

function acts(action: Action, view: View, { work }: { work: string }): Acts | undefined {
  const run = (command: string) => callTool(offered(view, /^run_commands$/), { commands: [command] })
  const read = (file: string) => callTool(offered(view, /^read_files$/), { files: [{ path: join(work, file) }] })
  switch (action.do) {
    case 'list':
      return [run('ls -1')]
    case 'read':
      return action.files.map(read)
    case 'run':
      return action.commands.map(run)
    case 'write':
      return [callTool(offered(view, /^editor$/), { path: join(work, action.file), new_text: action.text })]
    case 'mcp':
      return [callTool(offered(view, new RegExp(`${MCP_SERVER.name}__${action.tool}$`)), action.args)]
    case 'look':
      return [read(action.file)]
  }
}

await certify({
  name: 'cline',
  formats: ['chat'],
  program: (install) => join(install, 'node_modules/.bin/cline'),
  prepare({ home, scenario }) {
    const folder = join(home, '.cline/data/settings')
    const { name, command, args } = MCP_SERVER
    if (scenario === 'MCP')
      writeFileSync(join(folder, 'cline_mcp_settings.json'), JSON.stringify({ mcpServers: { [name]: { command, args } } }))
    if (scenario === 'compaction') setContext(join(folder, 'providers.json'))
  },
  command: (prompt) => [prompt],
  acts,
  contextTokens: () => CONTEXT,
  asksForSummary: ({ heard, tools }) => tools.length === 0 && /summar/i.test(heard.at(-1) ?? ''),
})
