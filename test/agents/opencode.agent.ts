/** opencode, which speaks the three formats. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { opencode } from '../../src/config/agents/opencode.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type Account, type Action, type Acts, callTool, type Format, offered, type Place } from './agent-run.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { MCP_SERVER } from './world.ts'

const CONFIG = '.config/opencode/opencode.json'

/** The package of the AI SDK that speaks the format. */
const PACKAGES: Readonly<Record<Format, string>> = {
  chat: '@ai-sdk/openai-compatible',
  messages: '@ai-sdk/anthropic',
  responses: '@ai-sdk/openai',
}

function acts(action: Action, view: View, { work }: { work: string }): Acts | undefined {
  const bash = (command: string) => callTool(offered(view, /^bash$/), { command, description: 'A command' })
  const read = (file: string) => callTool(offered(view, /^read$/), { filePath: join(work, file) })
  switch (action.do) {
    case 'list':
      return [bash('ls -1')]
    case 'read':
      return action.files.map(read)
    case 'run':
      return action.commands.map(bash)
    case 'write':
      return [callTool(offered(view, /^write$/), { filePath: join(work, action.file), content: action.text })]
    case 'mcp':
      return [callTool(offered(view, new RegExp(`${MCP_SERVER.name}_${action.tool}$`)), action.args)]
    case 'look':
      return [read(action.file)]
  }
}

/** The program itself is in the package of the platform; the script that would put it in place is not run. */
function program(install: string): string {
  const modules = join(install, 'node_modules')
  const [platform] = readdirSync(modules).filter((name) => /^opencode-\w+-\w+$/.test(name))
  return join(modules, platform, 'bin/opencode')
}

/** The blocks of the chat format, with another package. */
function writeOtherFormat({ home, env }: Place, { url, key, models }: Account, format: Format): void {
  const { name, context, maxOutput } = models.main
  const main = { name, context, maxOutput, images: true, reasons: true }
  const [file] = opencode.setUp({ url, key, models: { main, plan: main, small: main, background: main }, servesOwnNames: true })
  mkdirSync(dirname(join(home, CONFIG)), { recursive: true })
  writeFileSync(join(home, CONFIG), file.text.replace(PACKAGES.chat, PACKAGES[format]))
  env.HEADGATE_KEY = key
}

/** OpenCode compacts a model whose limits stand in the file alone: they are set where the model declares none to headgate. */
function stateLimits(home: string): void {
  const path = join(home, CONFIG)
  const config = JSON.parse(readFileSync(path, 'utf8')) as { provider: { headgate: { models: Record<string, JsonObject> } } }
  for (const model of Object.values(config.provider.headgate.models)) model.limit ??= { context: 200_000, output: 32_000 }
  writeFileSync(path, JSON.stringify(config))
}

await certify({
  name: 'opencode',
  formats: ['chat', 'messages', 'responses'],
  program,
  prepare(place, account, format) {
    if (format !== 'chat') writeOtherFormat(place, account, format)
    if (place.scenario === 'compaction') stateLimits(place.home)
    if (place.scenario !== 'MCP') return
    const file = join(place.home, CONFIG)
    const { name, command, args } = MCP_SERVER
    const mcp = { [name]: { type: 'local', command: [command, ...args], enabled: true } }
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as JsonObject), mcp }))
  },
  command: (prompt, { resume }) => ['run', '--auto', ...(resume ? ['--continue'] : []), prompt],
  acts,
  asksForSummary: ({ system }) => system.includes('summarization agent'),
  returnsReasoning: (format) => format !== 'chat',
  losesReasoning: {
    'chat gemini':
      "signatures are lost: @ai-sdk/openai-compatible keeps them below the provider's name, and sends back those below `google`",
    'messages gemini':
      'signatures are lost: OpenCode asks for no thinking here, and @ai-sdk/anthropic drops those that stand with the calls',
  },
})
