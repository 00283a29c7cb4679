/** Qwen Code. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { qwenCode } from '../../src/config/agents/qwen-code.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type Account, type Action, type Acts, callOf, offered, type Place } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

const SETTINGS = '.qwen/settings.json'

function acts(action: Action, view: View, { work }: { work: string }): Acts | undefined {
  const read = (file: string) => callOf(offered(view, /^read_file$/), { file_path: join(work, file) })
  switch (action.do) {
    case 'list':
      return [callOf(offered(view, /^list_directory$/), { path: work })]
    case 'read':
      return action.files.map(read)
    case 'run':
      return action.commands.map((command) => callOf(offered(view, /^run_shell_command$/), { command, is_background: false }))
    case 'write':
      return [callOf(offered(view, /^write_file$/), { file_path: join(work, action.file), content: action.text })]
    case 'mcp': {
      const name = `mcp__${MCP_SERVER.name}__${action.tool}`
      // Qwen Code defers the tools of MCP servers until they are searched for.
      const search = view.tools.find((tool) => tool.name === 'tool_search')
      if (search && !view.tools.some((tool) => tool.name === name)) return [callOf(search, { query: `select:${name}` })]
      return [callOf(offered(view, new RegExp(`^${name}$`)), action.args)]
    }
    case 'look':
      return [read(action.file)]
  }
}

/** The blocks of the chat format, for its other protocol. */
function writeOtherFormat({ home, env }: Place, { url, key, models }: Account): void {
  const { name, context, maxOutput } = models.main
  const main = { name, context, maxOutput, images: true, reasons: true }
  const [file] = qwenCode.setUp({ url, key, models: { main, plan: main, small: main, background: main }, servesOwnNames: true })
  mkdirSync(dirname(join(home, SETTINGS)), { recursive: true })
  // Anthropic's SDK adds the version to the address itself.
  writeFileSync(join(home, SETTINGS), file.text.replaceAll('"openai"', '"anthropic"').replaceAll(`${url}/v1`, url))
  env.HEADGATE_KEY = key
}

/**
 * Qwen Code takes 1,000 tokens off what the provider counted of the request for a summary, as those of its own words, and keeps the
 * conversation as it was where the rest is no longer than the summary (`ChatCompressionService` of the package): a user says more here.
 */
const LONG_PROMPT = ' Each file has one line, and each line ends with a word that matters.'.repeat(30)

await certify({
  name: 'qwen-code',
  formats: ['chat', 'messages'],
  program: (install) => join(install, 'node_modules/.bin/qwen'),
  prepare(place, account, format) {
    if (format !== 'chat') writeOtherFormat(place, account)
    if (place.scenario !== 'MCP') return
    const file = join(place.home, SETTINGS)
    const { name, command, args } = MCP_SERVER
    const mcpServers = { [name]: { command, args } }
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as JsonObject), mcpServers }))
  },
  command: (prompt, { resume }, { scenario }) => [
    '--yolo',
    ...(resume ? ['--continue'] : []),
    scenario === 'compaction' ? `${prompt}${LONG_PROMPT}` : prompt,
  ],
  acts,
  asksForSummary: ({ system }) => system.includes('<state_snapshot>'),
  summary: (text) => `<state_snapshot>${text}</state_snapshot>`,
  returnsReasoning: (format) => format !== 'chat',
  losesReasoning: { 'messages gemini': 'signatures are lost: Qwen Code drops `redacted_thinking`, in which those of calls stand' },
})
