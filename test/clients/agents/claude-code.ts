/**
 * Anthropic's Claude Code, headless, against the gateway: `node test/clients/agents/claude-code.ts`.
 * It installs itself into a temporary directory. The provider is scripted: list the files, write one, say so.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../../src/core/json.ts'
import { startGateway } from '../../support/gateway.ts'
import type { Lane } from '../../support/lanes.ts'
import { type Seen, startUpstream } from '../../support/upstream.ts'
import { answerFor, type Said, type WireName } from '../../support/wire.ts'
import { configOf } from '../support/house.ts'
import { installed, type Run, run } from './agent.ts'
import { report } from './report.ts'

const VERSION = '2.1.330'
const MODEL = 'acme/one'
const ENCRYPTED_TEXT = 'c2VhbGVkLXJlYXNvbmluZy1vZi10aGUtcHJvdmlkZXI='

const place = installed('@anthropic-ai/claude-code', VERSION)
const note = join(place.work, 'note.txt')
writeFileSync(join(place.work, 'welcome.txt'), 'hello\n')

/** The program itself is in the package of the platform; the script that would put it in place is not run. */
function program(): string {
  const scope = join(place.root, 'node_modules/@anthropic-ai')
  const found = readdirSync(scope)
    .filter((name) => name.startsWith('claude-code-'))
    .map((name) => join(scope, name, 'claude'))
  assert.equal(found.length, 1, 'one platform is installed')
  return found[0]
}

const call = (id: string, name: string, args: JsonObject): Said => ({ calls: [{ id, name, args: [JSON.stringify(args)] }] })
const TURNS: readonly Said[] = [
  { reasoning: ['first ', 'I look'], signature: ENCRYPTED_TEXT, ...call('toolu_ls', 'Bash', { command: 'ls -1', description: 'List the files' }) },
  call('toolu_write', 'Write', { file_path: note, content: 'written through the gateway\n' }),
  { text: ['I wrote ', 'note.txt.'] },
]

interface Played extends Run {
  seen: readonly Seen[]
}

async function play(dialect: WireName, lane?: Lane): Promise<Played> {
  const upstream = await startUpstream((seen, index) => answerFor(seen, TURNS[Math.min(index, TURNS.length - 1)]))
  const gateway = await startGateway(configOf(upstream.url, { [MODEL]: dialect }), { lane })
  const args = [
    '-p',
    'List the files here, then write note.txt.',
    '--output-format',
    'json',
    '--model',
    MODEL,
    '--allowedTools',
    'Bash,Write',
  ]
  const env = {
    ANTHROPIC_BASE_URL: gateway.url,
    ANTHROPIC_AUTH_TOKEN: gateway.key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ENABLE_TOOL_SEARCH: 'false',
  }
  try {
    return { ...(await run(place, program(), args, env)), seen: upstream.requests }
  } finally {
    await gateway.close()
    await upstream.close()
  }
}

async function works(dialect: WireName, lane?: Lane): Promise<void> {
  rmSync(note, { force: true })
  const played = await play(dialect, lane)
  assert.equal(played.code, 0, played.err + played.out)
  const told = JSON.parse(played.out) as JsonObject
  assert.deepEqual([told.is_error, told.result, told.num_turns], [false, 'I wrote note.txt.', 3])
  assert.equal(readFileSync(note, 'utf8'), 'written through the gateway\n')
  const [first, second, third] = played.seen
  assert.equal(played.seen.length, 3)
  assert.match(first.body, /List the files here, then write note\.txt\./)
  assert.match(second.body, /welcome\.txt/, 'the provider is told what the shell printed')
  if (dialect !== 'openai-chat') assert.match(second.body, new RegExp(ENCRYPTED_TEXT), 'the encrypted reasoning goes back')
  assert.match(third.body, /note\.txt/)
  if (dialect === 'anthropic') {
    assert.match(String(first.headers['anthropic-beta']), /claude-code-\d+/, 'the features that it asks for are passed on')
    assert.ok(first.json.context_management, 'and the fields that go with them')
  }
  report(`claude-code, ${dialect}${lane ? ` in lane ${lane}` : ''}`, played.seen)
}

try {
  for (const lane of ['pass', 'observe', 'translate'] as const) await works('anthropic', lane)
  for (const dialect of ['openai-chat', 'openai-responses', 'gemini'] as const) await works(dialect)
} finally {
  place.remove()
}
