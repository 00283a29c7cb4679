/** Aider, which has no tools: it takes its edits from the text of a reply, and commits them itself. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aider } from '../../src/config/agents/aider.ts'
import type { Account, Action, Acts, Place } from './agent-run.ts'
import { AIDER_SCENARIOS, EDIT_BLOCKS } from './aider-scenarios.ts'
import { certify } from './certify.ts'
import type { View } from './conversation.ts'
import { SAMPLE } from './sample-task.ts'
import { COMMIT } from './scenarios.ts'
import { FILES } from './world.ts'

/** Files in the chat from its start. */
const CHAT: Readonly<Record<string, readonly string[]>> = { 'large result': [FILES.big], image: [] }
const FENCE = '```'

/** A file as the edit format wants it, which the system prompt states. */
function edit({ system }: View, file: string, text: string): string {
  const lines = text.replace(/\n$/, '')
  const body = system.includes('SEARCH/REPLACE') ? `<<<<<<< SEARCH\n=======\n${lines}\n>>>>>>> REPLACE` : lines
  return `${file}\n${FENCE}\n${body}\n${FENCE}\n`
}

function acts(action: Action, view: View): Acts | undefined {
  switch (action.do) {
    // The names and the texts of the files in the chat go with each prompt.
    case 'list':
    case 'read':
    case 'look':
      return ''
    case 'write':
      return edit(view, action.file, action.text)
    case 'run':
    case 'mcp':
      return undefined
  }
}

/** The blocks of the chat format, with another prefix. */
function writeOtherFormat({ home, env }: Place, { url, key, models }: Account): void {
  const { name, context, maxOutput } = models.main
  const main = { name, context, maxOutput, images: true }
  for (const { to, text } of aider.setUp({ url, key, models: { main, plan: main, small: main, background: main }, servesOwnNames: true }))
    writeFileSync(
      join(home, to.slice(2)),
      text
        .replaceAll('openai/', 'anthropic/')
        .replaceAll('"openai"', '"anthropic"')
        .replace(/^openai-api-.*\n/gm, ''),
    )
  env.ANTHROPIC_API_BASE = url
  env.ANTHROPIC_API_KEY = key
}

const isCommit = ({ system }: View): boolean => system.includes('Git commit messages')
const isSummary = ({ system }: View): boolean => system.includes('summarize this partial conversation')

await certify({
  name: 'aider',
  formats: ['chat', 'messages'],
  own: AIDER_SCENARIOS,
  program: (install) => join(install, 'bin/aider'),
  prepare(place, account, format) {
    if (format !== 'chat') writeOtherFormat(place, account)
    if (place.scenario === EDIT_BLOCKS) appendFileSync(join(place.home, '.aider.conf.yml'), '\nedit-format: diff\n')
  },
  command: (prompt, { resume, image }, { scenario }) => [
    '--yes-always',
    ...(resume ? ['--restore-chat-history'] : []),
    '--message',
    prompt,
    ...(CHAT[scenario] ?? [FILES.alpha, FILES.beta]),
    ...(image === undefined ? [] : [image]),
  ],
  acts,
  isMain: (view) => !isCommit(view) && !isSummary(view),
  aside: (view) => (isCommit(view) ? { text: [COMMIT.slice(0, 4), COMMIT.slice(4)] } : undefined),
  asksForSummary: isSummary,
  cannot: {
    parallel: 'Aider has no tools: it edits by the text of a reply',
    MCP: 'Aider has no tools, and so no MCP servers',
    [SAMPLE]: 'Aider has no tools',
  },
})
