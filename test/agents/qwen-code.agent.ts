/** Qwen Code. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { qwenCode } from '../../src/config/agents/qwen-code.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type Account, type Action, type Acts, callTool, offered, type Place } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

const SETTINGS = '.qwen/settings.json'

function acts(action: Action, view: View, { work }: { work: string }): Acts | undefined {
  const read = (file: string) => callTool(offered(view, /^read_file$/), { file_path: join(work, file) })
  switch (action.do) {
    case 'list':
      // Its tool list_directory is off unless the settings turn it on.
      return [callTool(offered(view, /^glob$/), { pattern: '*', path: work })]
    case 'read':
      return action.files.map(read)
    case 'run':
      return action.commands.map((command) => callTool(offered(view, /^run_shell_command$/), { command, is_background: false }))
    case 'write':
      return [callTool(offered(view, /^write_file$/), { file_path: join(work, action.file), content: action.text })]
    case 'mcp': {
      const name = `mcp__${MCP_SERVER.name}__${action.tool}`
      // Tools of MCP servers are found by one tool and called by another.
      const search = offered(view, /^tool_search$/)
      const isFound = view.calls.some((call) => call.name === search.name && call.result?.includes(name))
      if (!isFound) return [callTool(search, { query: `select:${name}` })]
      return [callTool(offered(view, /^tool_call$/), { name, arguments: action.args })]
    }
    case 'look':
      return [read(action.file)]
  }
}

function addSettings({ home }: Place, more: JsonObject): void {
  const file = join(home, SETTINGS)
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as JsonObject), ...more }))
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

await certify({
  name: 'qwen-code',
  formats: ['chat', 'messages'],
  program: (install) => join(install, 'node_modules/.bin/qwen'),
  prepare(place, account, format) {
    if (format !== 'chat') writeOtherFormat(place, account)
    // A run of one prompt ends a command at the `exit` event of its process, and loses what had not been read by then.
    addSettings(place, { tools: { shell: { enableInteractiveShell: true } } })
    if (place.scenario !== 'MCP') return
    const { name, command, args } = MCP_SERVER
    addSettings(place, { mcpServers: { [name]: { command, args: [...args] } } })
  },
  command: (prompt, { resume }) => ['--yolo', ...(resume ? ['--continue'] : []), prompt],
  acts,
  // Its agent for memories, which runs beside each conversation, is offered the tools for files alone.
  isMain: ({ tools }) => tools.some(({ name }) => name === 'skill'),
  // `ChatCompressionService` of the package: it takes what was counted of this request off what it has counted before.
  countsSummary: true,
  asksForSummary: ({ system }) => system.includes('<state_snapshot>'),
  summary: (text) => `<state_snapshot>${text}</state_snapshot>`,
  returnsReasoning: (format) => format !== 'chat',
  losesReasoning: { 'messages gemini': 'signatures are lost: Qwen Code drops `redacted_thinking`, in which those of calls stand' },
})
