/** The server-tool loop under faults: later turns fall back, fail and end like first ones. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { allWays, expectFault, foldReply, wayName, withBench } from '../../support/pair-bench.ts'
import type { Answer, Seen } from '../../support/upstream.ts'
import { answerFor, type Utterance, upstreamError } from '../../support/wire.ts'

const ways = allWays().filter((way) => way.lane === 'translate')
const CALLS: Utterance = {
  text: ['let me see '],
  calls: [{ id: 'call_1', name: 'router_datetime', args: ['{"timezone":', '"Europe/Paris"}'] }],
}
const TOOLS = { tools: [{ type: 'router:datetime', parameters: { timezone: 'UTC' } }] }

const hasResult = (seen: Seen): boolean => /"role":"tool"|function_call_output/.test(seen.body)
const events = (text: string): Record<string, unknown>[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map((match) => JSON.parse(match[1]) as Record<string, unknown>)

for (const way of ways) {
  t.test(`${wayName(way)}: a later turn falls back, and the stream is one`, async (t) => {
    const script = (seen: Seen): Answer => (hasResult(seen) ? upstreamError(500) : answerFor(seen, CALLS))
    await withBench({ way, backup: true, script }, async (bench) => {
      await every(t, 'streamed or not', async (t) => {
        for (const stream of [true, false]) {
          const text = await (await bench.ask(stream, TOOLS)).text()
          const reply = await foldReply(
            way,
            new Response(text, { headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' } }),
          )
          t.match(reply, { text: 'let me see from the backup', error: undefined }, `${stream}`)
          if (stream && way.client === 'responses')
            t.same(
              events(text).map((event) => event.sequence_number),
              events(text).map((_, i) => i),
            )
          t.equal(bench.gateway.running.drain.open, 0)
        }
      })
      const rows = [...bench.gateway.running.store.journal.export()]
      t.match(
        rows,
        [{ settled: { status: 'completed', input: 22, output: 14 } }, { settled: { status: 'completed', input: 22, output: 14 } }],
        'both turns are paid',
      )
    })
  })

  t.test(`${wayName(way)}: a later turn that fails everywhere ends the stream once, with what was said`, async (t) => {
    const script = (seen: Seen): Answer => (hasResult(seen) ? upstreamError(500) : answerFor(seen, CALLS))
    await withBench({ way, backup: false, script }, async (bench) => {
      const text = await (await bench.ask(true, TOOLS)).text()
      const reply = await foldReply(way, new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
      t.match(reply, { text: 'let me see ', error: { type: 'provider_unavailable' } })
      if (way.client === 'responses') {
        const all = events(text)
        t.same(
          all.map((event) => event.sequence_number),
          all.map((_, i) => i),
        )
        const last = all.at(-1) as { type: string; response: { output: { type: string }[] } }
        t.equal(last.type, 'response.failed')
        t.same(
          last.response.output.map((item) => item.type),
          ['message', 'router:datetime'],
          'the output so far',
        )
      }
      await expectFault(t, await bench.ask(false, TOOLS), 502, 'provider_unavailable')
      const rows = [...bench.gateway.running.store.journal.export()]
      t.match(rows, [{ settled: { status: 'failed', cost: 0 } }, { settled: { status: 'failed', cost: 0 } }])
    })
  })
}

t.test('the limit of steps ends the loop with a last turn of text, and so do stop conditions', async (t) => {
  const [way] = ways
  const utterance: Utterance = { text: ['so late'] }
  const script = (seen: Seen): Answer => answerFor(seen, seen.json.tools ? CALLS : utterance)
  const endings: [name: string, more: JsonObject, calls: number][] = [
    ['one step', { stop_server_tools_when: [{ type: 'step_count_is', step_count: 1 }] }, 2],
    ['two calls', { max_tool_calls: 2 }, 3],
    ['none', { max_tool_calls: 0 }, 1],
    ['cost', { stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: 0.00003 }] }, 3],
    ['tokens', { stop_server_tools_when: [{ type: 'max_tokens_used', max_tokens: 19 }] }, 3],
    ['by name', { stop_server_tools_when: [{ type: 'has_tool_call', tool_name: 'router:datetime' }] }, 2],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, more, calls] of endings)
      await withBench({ way, backup: false, script }, async (bench) => {
        for (const stream of [false, true]) {
          const before = bench.first.requests.length
          const reply = await foldReply(way, await bench.ask(stream, { ...TOOLS, ...more }))
          t.match(reply.text, /so late$/, name)
          t.equal(bench.first.requests.length - before, calls, name)
        }
      })
  })
})
