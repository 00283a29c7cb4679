/** Replies and requests of every pair against files that were written by hand from the published formats. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { parseFrames } from '../support/fold.ts'
import { type Cell, startField } from '../support/matrix/field.ts'
import { jsonAnswer, sseAnswer } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { every } from '../support/every.ts'

const CASES = ['text', 'tools', 'reasoning', 'length'] as const

const field = await startField(t)

function file(folder: string, name: string): string {
  return readFileSync(new URL(`./${folder}/${name}`, import.meta.url), 'utf8')
}

const parsed = (text: string): JsonObject => JSON.parse(text) as JsonObject

const TIMES: ReadonlySet<string> = new Set(['created', 'created_at', 'completed_at'])

/** With the marks of the goldens in place of identifiers and times of this gateway. */
function normal(value: Json | undefined, key = ''): Json | undefined {
  if (Array.isArray(value)) return value.map((each) => normal(each) as Json)
  if (typeof value === 'string')
    return value
      .replace(/^gen-.*/, 'gen-*')
      .replace(/^(msg|rs|fc)_.*/, '$1_*')
      .replace(/^hg\..*/, 'hg.*')
      .replace(/^hg:[\w-]{8}:/, 'hg:*:')
  if (typeof value === 'number' && TIMES.has(key)) return 0
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, normal(each, name)]))
}

/** The events of a stream; an end mark is one of them. Names of events are only asked for by Messages callers. */
function events(stream: string, named: boolean): Json[] {
  return parseFrames(stream)
    .filter(({ event }) => event !== 'ping')
    .map(({ event, data }) => [named ? (event ?? null) : null, data === '[DONE]' ? data : (normal(parsed(data)) as Json)])
}

async function answer(cell: Cell, stream: boolean): Promise<string> {
  // Messages callers get signed thinking where they request thinking.
  const thinking = cell.client.id === 'messages' ? { thinking: { type: 'adaptive' } } : {}
  const body = { ...cell.client.write({ turns: [{ user: [{ text: 'Hello' }] }] }), ...thinking }
  const response = await cell.ask({ ...body, stream })
  return response.text()
}

for (const cell of field.cells) {
  const folder = `${cell.client.id}-from-${cell.wire}`
  const first = field.cells.find(({ client, wire }) => client === cell.client && wire === cell.wire)
  // Other lanes of the pair agree with the first one by the contract tests, up to what is left verbatim.
  if (cell !== first) continue

  t.test(`replies of ${folder}`, async (t) => {
    const named = cell.client.id === 'messages'
    await every(t, 'every name', async (t) => {
for (const name of CASES) {
      cell.upstream.script = () => jsonAnswer(parsed(file(cell.wire, `${name}.json`)))
      t.same(normal(parsed(await answer(cell, false))), normal(parsed(file(folder, `${name}.json`))), `${name}, whole`)
      cell.upstream.script = () => sseAnswer([file(cell.wire, `${name}.sse`)])
      t.same(events(await answer(cell, true), named), events(file(folder, `${name}.sse`), named), `${name}, streamed`)
    }
})
  })

  t.test(`a request of ${folder}`, async (t) => {
    cell.upstream.script = says({ text: ['{"city":"Oslo"}'] })
    const response = await cell.ask(parsed(file(folder, 'asked.json')))
    t.equal(response.status, 200, await response.text())
    const seen = cell.seen()
    t.same({ path: seen.path, body: seen.json }, parsed(file(folder, 'sent.json')))
  })
}
