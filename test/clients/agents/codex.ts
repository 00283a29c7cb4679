/**
 * OpenAI's Codex, headless, against the gateway: `node test/clients/agents/codex.ts`.
 * It installs itself into a temporary directory. The provider is scripted: list the files, write one, say so.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import type { Lane } from '../../support/lanes.ts'
import { type Answer, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, type Said, type WireName } from '../../support/wire.ts'
import { configOf } from '../support/house.ts'
import { installed, type Place, type Run, run } from './agent.ts'
import { withAllTools } from './codex-tools.ts'
import { report } from './report.ts'

const VERSION = '0.169.0'

/** The agent chooses its tools by the model's name: a grammar tool, a list of tools as input, a namespace. */
const MODELS = { grammar: 'openai/gpt-5.5', input: 'openai/gpt-6.1-sol', namespace: 'acme/one' } as const

const TASK = 'List the files here, then write note.txt.'

const place = installed('@openai/codex', VERSION)
const PATCH = '*** Begin Patch\n*** Add File: note.txt\n+written through the gateway\n*** End Patch\n'

/** One streamed answer with a call of a tool that takes free text. */
function patches(): Answer {
  const item: JsonObject = {
    id: 'ctc_1',
    type: 'custom_tool_call',
    status: 'completed',
    call_id: 'call_patch',
    name: 'apply_patch',
    input: PATCH,
  }
  const response = {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1_767_600_000,
    model: 'upstream-model',
    output: [] as JsonObject[],
  }
  const spot = { item_id: 'ctc_1', output_index: 0 }
  const usage = {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 18,
  }
  const events: JsonObject[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', input: '' } },
    { type: 'response.custom_tool_call_input.delta', ...spot, delta: PATCH },
    { type: 'response.custom_tool_call_input.done', ...spot, input: PATCH },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
  ]
  return sseAnswer(events.map((event, index) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`))
}

const ENCRYPTED_TEXT = 'c2VhbGVkLXJlYXNvbmluZy1vZi10aGUtcHJvdmlkZXI='

const shell = (id: string, cmd: string): Said => ({ calls: [{ id, name: 'exec_command', args: [JSON.stringify({ cmd })] }] })
const DONE: Said = { reasoning: ['that was ', 'easy'], text: ['I wrote ', 'note.txt.'] }

interface Scene {
  dialect: WireName
  model: string
  turns: readonly (Said | (() => Answer))[]
  lane?: Lane
}

interface Played extends Run {
  seen: readonly Seen[]
  logs: readonly string[]
}

async function agent(at: Place, url: string, { model, task = TASK }: { model: string; task?: string }, key: string): Promise<Run> {
  const provider = `{name="headgate",base_url="${url}/v1",wire_api="responses",env_key="HEADGATE_KEY",request_max_retries=0,stream_max_retries=0}`
  const settings = ['-c', 'model_provider="headgate"', '-c', `model_providers.headgate=${provider}`]
  const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', '--json', '-m', model, ...settings]
  return run(at, join(at.root, 'node_modules/.bin/codex'), [...args, task], {
    CODEX_HOME: at.home,
    HEADGATE_KEY: key,
  })
}

async function play(scene: Scene): Promise<Played> {
  const upstream = await startUpstream((seen, index) => {
    const turn = scene.turns[Math.min(index, scene.turns.length - 1)]
    return typeof turn === 'function' ? turn() : answerFor(seen, turn)
  })
  const gateway: Gateway = await startGateway(configOf(upstream.url, { [scene.model]: scene.dialect }), { lane: scene.lane })
  try {
    return { ...(await agent(place, gateway.url, scene, gateway.key)), seen: upstream.requests, logs: gateway.logs }
  } finally {
    await gateway.close()
    await upstream.close()
  }
}

/** What the agent sends when nothing stands between it and the provider. */
async function direct(model: string): Promise<JsonObject> {
  const upstream = await startUpstream((seen) => answerFor(seen, DONE))
  await agent(place, upstream.url, { model }, 'unused')
  await upstream.close()
  return upstream.requests[0].json
}

const note = join(place.work, 'note.txt')
const inputOf = (seen: Seen): JsonObject[] => seen.json.input as JsonObject[]

/** The whole way with the tools that only an OpenAI provider knows. */
async function withItsOwnTools(lane: Lane): Promise<void> {
  writeFileSync(note, '')
  const played = await play({
    dialect: 'openai-responses',
    model: MODELS.grammar,
    turns: [{ ...shell('call_ls', 'ls -1; rm note.txt'), reasoning: ['first ', 'I look'], signature: ENCRYPTED_TEXT }, patches, DONE],
    lane,
  })
  assert.equal(played.code, 0, played.err)
  assert.match(played.out, /I wrote note\.txt\./)
  assert.equal(readFileSync(note, 'utf8'), 'written through the gateway\n')
  const [first, second, third] = played.seen
  assert.equal(played.seen.length, 3)
  const result = (seen: Seen, id: string): JsonObject | undefined =>
    inputOf(seen).find((item) => item.call_id === id && String(item.type).endsWith('_output'))
  assert.match(JSON.stringify(result(second, 'call_ls')), /welcome\.txt/, 'the provider is told what the shell printed')
  assert.equal(inputOf(second).find((item) => item.type === 'reasoning')?.encrypted_content, ENCRYPTED_TEXT)
  assert.equal(result(third, 'call_patch')?.type, 'custom_tool_call_output')
  assert.deepEqual(inputOf(third).find((item) => item.type === 'custom_tool_call')?.input, PATCH)
  assert.deepEqual(first.json.tools, (await direct(MODELS.grammar)).tools, 'the tools are untouched')
  report(`codex, ${MODELS.grammar}, openai-responses in lane ${lane}`, played.seen)
}

/** Namespaces, and tools that travel as an item of the input. */
async function withNamespaces(model: string): Promise<void> {
  const played = await play({ dialect: 'openai-responses', model, turns: [DONE] })
  assert.equal(played.code, 0, played.err)
  const own = await direct(model)
  const [first] = played.seen
  assert.match(first.body, /"type":"namespace"/)
  assert.deepEqual(first.json.tools, own.tools)
  const tools = (body: JsonObject): unknown =>
    (body.input as JsonObject[]).filter((item) => item.type === 'additional_tools').map((item) => item.tools)
  assert.deepEqual(tools(first.json), tools(own))
  report(`codex, ${model}, openai-responses`, played.seen)
}

/** Reasoning goes back on every dialect, with all of the agent's tools. */
async function withReasoning(dialect: WireName): Promise<void> {
  writeFileSync(note, '')
  const write = shell('call_write', 'echo written through the gateway > note.txt')
  const played = await play({
    dialect,
    model: MODELS.namespace,
    turns: [{ ...shell('call_ls', 'ls -1'), reasoning: ['first ', 'I look'], signature: ENCRYPTED_TEXT }, write, DONE],
  })
  assert.equal(played.code, 0, played.err + played.out)
  assert.match(played.out, /I wrote note\.txt\./)
  assert.equal(readFileSync(note, 'utf8'), 'written through the gateway\n')
  assert.equal(played.seen.length, 3)
  assert.match(played.seen[1].body, /welcome\.txt/)
  assert.match(played.seen[1].body, new RegExp(ENCRYPTED_TEXT), 'the encrypted reasoning goes back, in whatever form')
  report(`codex, ${MODELS.namespace}, ${dialect}`, played.seen)
}

writeFileSync(join(place.work, 'welcome.txt'), 'hello\n')
try {
  for (const lane of ['pass', 'observe', 'translate'] as const) await withItsOwnTools(lane)
  await withNamespaces(MODELS.namespace)
  await withNamespaces(MODELS.input)
  for (const dialect of ['openai-chat', 'anthropic', 'gemini'] as const) await withReasoning(dialect)
  await withAllTools(place, (at, { url, key, model }, task) => agent(at, url, { model, task }, key))
} finally {
  place.remove()
}
