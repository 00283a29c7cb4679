/** pi, which speaks all three formats. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pi } from '../../src/config/agents/pi.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type Account, type Action, type Acts, callTool, type Format, offered, type Place } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

const MODELS = '.pi/agent/models.json'
const SETTINGS = '.pi/agent/settings.json'

/** The value of `api` in `models.json`. */
const APIS: Readonly<Record<Format, string>> = { chat: 'openai-completions', messages: 'anthropic-messages', responses: 'openai-responses' }

function acts(action: Action, view: View): Acts | undefined {
  const bash = (command: string) => callTool(offered(view, /^bash$/), { command })
  const read = (path: string) => callTool(offered(view, /^read$/), { path })
  switch (action.do) {
    case 'list':
      return [bash('ls -1')]
    case 'read':
      return action.files.map(read)
    case 'run':
      return action.commands.map(bash)
    case 'write':
      return [callTool(offered(view, /^write$/), { path: action.file, content: action.text })]
    case 'look':
      return [read(action.file)]
    case 'mcp': {
      const script = offered(view, /^codemode$/)
      // Tools of MCP servers are called from scripts, which are free text, or an argument where the wire knows no such tools.
      const code = `const result = await tools.mcp__${MCP_SERVER.name}__${action.tool}(${JSON.stringify(action.args)})\nreturn result.content`
      return [callTool(script, script.kind === 'custom' ? code : { code })]
    }
    case 'own':
      return undefined
  }
}

/** The blocks of the chat format, with another `api`. */
function writeOtherFormat({ home, env }: Place, { url, key, models }: Account, format: Format): void {
  const { name, context, maxOutput } = models.main
  const main = { name, context, maxOutput, images: true, reasons: true }
  for (const { to, text } of pi.setUp({ url, key, models: { main, plan: main, small: main, background: main }, servesOwnNames: true })) {
    if (to === 'shell') continue
    const path = join(home, to.slice(2))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text.replace(APIS.chat, APIS[format]))
  }
  env.HEADGATE_KEY = key
  // Anthropic's SDK adds the version to the address itself.
  if (format === 'messages') writeFileSync(join(home, MODELS), readFileSync(join(home, MODELS), 'utf8').replace(`${url}/v1`, url))
}

/** pi compacts between two prompts, when less than a reserve is left: here after the first one. */
function compactSoon(home: string): void {
  const settings = JSON.parse(readFileSync(join(home, SETTINGS), 'utf8')) as JsonObject
  writeFileSync(join(home, SETTINGS), JSON.stringify({ ...settings, compaction: { reserveTokens: 8000, keepRecentTokens: 1 } }))
  const models = readFileSync(join(home, MODELS), 'utf8')
    .replaceAll(/"contextWindow": \d+,\s*/g, '')
    .replaceAll('"id": "pi/main"', '"id": "pi/main", "contextWindow": 9000')
  writeFileSync(join(home, MODELS), models)
}

await certify({
  name: 'pi',
  formats: ['chat', 'messages', 'responses'],
  program: (install) => join(install, 'node_modules/.bin/pi'),
  prepare(place, account, format) {
    if (format !== 'chat') writeOtherFormat(place, account, format)
    if (place.scenario === 'compaction') compactSoon(place.home)
    if (place.scenario !== 'MCP') return
    const { name, command, args } = MCP_SERVER
    writeFileSync(join(place.home, '.pi/agent/mcp.json'), JSON.stringify({ mcpServers: { [name]: { command, args } } }))
  },
  command: (prompt, { resume }) => ['-p', ...(resume ? ['--continue'] : []), prompt],
  acts,
  asksForSummary: ({ system }) => system.includes('context summarization assistant'),
  compactCommand: 'Go on.',
  returnsReasoning: (format) => format !== 'chat',
})
