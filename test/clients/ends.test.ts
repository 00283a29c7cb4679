/**
 * No failure of a provider reads as a success: ends, error frames and error bodies, known, unknown and half written, of every wire, against
 * the official clients of OpenAI and Anthropic in JavaScript and Python, whole and streamed. `npm run test:long` draws 100,000 cases.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import OpenAI from 'openai'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { runs, seed } from '../support/seed.ts'
import { startUpstream } from '../support/upstream.ts'
import { caseOf, drawnCase, type EndCase, WIRE_NAMES } from './support/end-cases.ts'
import { type Read, startReaders } from './support/task-program.ts'

/** How a client took the answer. silent: its loop has ended, and nothing says how. */
export interface Reading {
  kind: 'finished' | 'shown' | 'raised' | 'silent'
  calls: string[]
}

const PYTHON_FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_PYTHON ?? `${PYTHON_FOLDER}.venv/bin/python`

const cases = new Map<number, EndCase>()
const upstream = await startUpstream((seen) => {
  const found = cases.get(Number(/case (\d+)/.exec(seen.body)?.[1]))
  if (!found) throw new Error(`no case: ${seen.body}`)
  return found.answer
})
t.teardown(() => upstream.close())
const providers = WIRE_NAMES.map((name) => `${name}: { dialect: ${name}, base_url: "${upstream.url}/v1", key: "sk-secret" }`)
const models = WIRE_NAMES.map((name) => `m/${name}: { context: 128000, endpoints: [ { provider: ${name}, model: up } ] }`)
const gateway = await startGateway(`providers:\n  ${providers.join('\n  ')}\nmodels:\n  ${models.join('\n  ')}\n`)
t.teardown(() => gateway.close())

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
const SCHEMA = { type: 'object' as const, properties: {} }

const CHAT_ENDS: ReadonlySet<unknown> = new Set(['stop', 'tool_calls'])
const MESSAGE_ENDS: ReadonlySet<unknown> = new Set(['end_turn', 'tool_use', 'stop_sequence'])

async function readChat(model: string, prompt: string, stream: boolean): Promise<Reading> {
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: SCHEMA } }]
  const body = { model, messages: [{ role: 'user' as const, content: prompt }], tools }
  const calls: string[] = []
  let reason: string | null | undefined
  if (stream) {
    for await (const { choices } of await openai.chat.completions.create({ ...body, stream })) {
      reason = choices[0]?.finish_reason ?? reason
      for (const { index, function: spec } of choices[0]?.delta.tool_calls ?? []) calls[index] = (calls[index] ?? '') + (spec?.arguments ?? '')
    }
  } else {
    const [choice] = (await openai.chat.completions.create(body)).choices
    reason = choice.finish_reason
    for (const call of choice.message.tool_calls ?? []) if (call.type === 'function') calls.push(call.function.arguments)
  }
  return { kind: reason ? (CHAT_ENDS.has(reason) ? 'finished' : 'shown') : 'silent', calls }
}

async function readResponses(model: string, prompt: string, stream: boolean): Promise<Reading> {
  const tools = [{ type: 'function' as const, name: 'look', parameters: SCHEMA, strict: false }]
  const body = { model, input: prompt, tools }
  let last: OpenAI.Responses.Response | undefined
  if (stream) {
    for await (const event of await openai.responses.create({ ...body, stream }))
      if (event.type === 'response.completed' || event.type === 'response.incomplete') last = event.response
  } else last = await openai.responses.create(body)
  const calls = (last?.output ?? []).flatMap((item) => (item.type === 'function_call' ? [item.arguments] : []))
  return { kind: last ? (last.status === 'completed' ? 'finished' : 'shown') : 'silent', calls }
}

async function readMessages(model: string, prompt: string, stream: boolean): Promise<Reading> {
  const tools = [{ name: 'look', input_schema: SCHEMA }]
  const body = { model, max_tokens: 1000, messages: [{ role: 'user' as const, content: prompt }], tools }
  const { stop_reason: reason, content } = stream ? await anthropic.messages.stream(body).finalMessage() : await anthropic.messages.create(body)
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [JSON.stringify(block.input)] : []))
  return { kind: reason ? (MESSAGE_ENDS.has(reason) ? 'finished' : 'shown') : 'silent', calls }
}

const READERS: Record<string, Read> = {
  'openai in JavaScript, chat': readChat,
  'openai in JavaScript, responses': readResponses,
  'anthropic in JavaScript': readMessages,
}
const account = { url: gateway.url, key: gateway.key }
const inPython = { command: PYTHON, args: [`${PYTHON_FOLDER}ends.py`], clients: ['openai, chat', 'openai, responses', 'anthropic'], account }
if (existsSync(PYTHON)) Object.assign(READERS, startReaders(t, inPython))
else t.comment('NOT INSTALLED: test/clients/python/.venv, see .ci/run: no clients in Python')

/** At once. */
const LANES = 8

/** @returns what is wrong with how the client has read the case; undefined where nothing is. */
async function wrong(reader: string, number: number, one: EndCase): Promise<string | undefined> {
  cases.set(number, one)
  const read = await READERS[reader](`m/${one.wire}`, `case ${number}`, one.stream).catch(
    (thrown: unknown): Reading => ({ kind: thrown instanceof SyntaxError || thrown instanceof RangeError ? 'silent' : 'raised', calls: [] }),
  )
  cases.delete(number)
  const isWrong = one.isGood ? read.kind !== 'finished' || read.calls.join() !== (one.args ?? '') : read.kind === 'finished' || read.kind === 'silent'
  return isWrong ? `${reader}, case ${number}: ${JSON.stringify(read)} for ${one.drawn}` : undefined
}

t.setTimeout(7_000_000)
t.test(`no failure reads as a success (seed ${seed()})`, async (t) => {
  const count = runs(600, 100_000)
  const drawn = fc.sample(fc.tuple(drawnCase, fc.constantFrom(...Object.keys(READERS))), { numRuns: count, seed: seed() })
  const found: string[] = []
  let next = 0
  let bad = 0
  const lane = async (): Promise<void> => {
    while (next < drawn.length && found.length < 20) {
      const number = next++
      const [one, reader] = drawn[number]
      const made = caseOf(one)
      if (!made.isGood) bad++
      const fault = await wrong(reader, number, made)
      if (fault) found.push(fault)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  t.same(found, [])
  t.ok(bad > count / 2, `${count} cases, ${bad} of them failures`)
})
