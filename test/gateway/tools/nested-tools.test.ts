/** Server tools in the request: nested ones are checked, errors name what the caller wrote, and the pipeline shows them. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { FORMATS, type Format, ran, toolScene, type Way } from '../../support/tool-scene.ts'

const WAYS: readonly Way[] = (Object.keys(FORMATS) as Format[]).flatMap((format) => [false, true].map((stream) => ({ format, stream })))
/** Tools whose parameters do not fit, and the field that is wrong. */
const WRONG: readonly [tool: JsonObject, field: string][] = [
  [{ type: 'router:datetime', parameters: { timezone: 'Nowhere/Atall' } }, 'parameters.timezone'],
  [{ type: 'router:experimental__search_models', parameters: { max_results: 99 } }, 'parameters.max_results'],
  [{ type: 'router:web_search', parameters: { max_results: 'many' } }, 'parameters.max_results'],
  [{ type: 'router:web_search', parameters: { allowed_domains: ['a.com'], excluded_domains: ['b.com'] } }, 'parameters.excluded_domains'],
  [{ type: 'router:web_fetch', parameters: { max_uses: -1 } }, 'parameters.max_uses'],
  [{ type: 'router:advisor', parameters: { name: '!' } }, 'parameters.name'],
  [{ type: 'router:advisor', parameters: { temperature: 9 } }, 'parameters.temperature'],
  [{ type: 'router:datetime', parameters: 'Europe/Berlin' }, 'parameters'],
  [{ type: 'router:nothing' }, 'type'],
]
const SEARCH = `plugins: { defaults: { web: { enabled: false, engines: { searxng: { url: "http://127.0.0.1:9" } } } } }`

const { ask, model } = await toolScene(t, {
  script: (seen) => (ran(seen) ? { text: ['done'] } : { calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }] }),
  more: SEARCH,
})

function errorField(body: JsonObject): unknown {
  const error = body.error as JsonObject
  return ((error.metadata ?? body.metadata) as JsonObject | undefined)?.field
}

/** Asks with this body in every format: all refuse it, naming the field, before any model is asked. */
async function refused(t: Test, more: JsonObject, field: string): Promise<void> {
  const before = model.requests.length
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      const { status, body, message } = await ask(way, more)
      const name = `${way.format}, stream ${way.stream}: ${JSON.stringify(more)}`
      t.equal(status, 400, name)
      t.equal(errorField(body), field, name)
      t.ok(message.startsWith(`${field}: `), `${name}: ${message}`)
    }
  })
  t.equal(model.requests.length, before, 'no model was asked')
}

t.test('tools of a tool are checked as if the request had them', async (t) => {
  for (const [tool, field] of WRONG) {
    const fine = { type: 'router:datetime' }
    for (const type of ['router:fusion', 'router:subagent'])
      await refused(t, { tools: [fine, { type, parameters: { tools: [fine, tool] } }] }, `tools[1].parameters.tools[1].${field}`)
  }
})

t.test('tools of a plugin are checked, and the error names the entry of the plugin', async (t) => {
  for (const [tool, field] of WRONG)
    await refused(
      t,
      {
        plugins: [
          { id: 'web', enabled: false },
          { id: 'fusion', tools: [tool] },
        ],
      },
      `plugins[1].tools[0].${field}`,
    )
})

t.test('a field of a provider’s search that the gateway runs is named where it stands', async (t) => {
  for (const [tool, field] of [
    [{ type: 'web_search', filters: { allowed_domains: [7] }, engine: 'searxng' }, 'tools[0].filters.allowed_domains[0]'],
    [{ type: 'web_search', max_results: 99, engine: 'searxng' }, 'tools[0].max_results'],
    [{ type: 'web_search', engine: 'exa' }, 'tools[0].engine'],
  ] as [JsonObject, string][]) {
    const { status, body } = await ask({ format: 'responses', stream: false }, { tools: [tool] })
    t.equal(status, 400, JSON.stringify(tool))
    t.equal(errorField(body), field)
  }
})

t.test('the stage of server tools', async (t) => {
  const on = { 'X-Router-Metadata': 'enabled' }
  const replyPipeline = ({ body, events }: Awaited<ReturnType<typeof ask>>): unknown => {
    const holders = [body, ...events.map((event) => (event.response ?? event) as JsonObject)]
    return holders.map((holder) => (holder.router_metadata as JsonObject | undefined)?.pipeline).find((pipeline) => pipeline !== undefined)
  }
  await every(t, 'every way', async (t) => {
    for (const way of WAYS) {
      const tools = [{ type: 'router:datetime' }, { type: 'router:experimental__search_models' }]
      const asked = await ask(way, { tools }, on)
      const name = `${way.format}, stream ${way.stream}`
      t.same(
        replyPipeline(asked),
        [
          {
            type: 'server_tools',
            name: 'server-tools',
            data: { mode: 'sdk', tools: ['router:datetime', 'router:experimental__search_models'] },
          },
        ],
        name,
      )
      t.equal(replyPipeline(await ask(way, {}, on)), undefined, `${name}: no stage without such tools`)
    }
  })
})
