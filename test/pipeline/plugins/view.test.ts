/** Changes of a plugin are taken back as a whole where the request goes on without it. */
import t from 'tap'
import type { GatewayFields } from '../../../src/dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../../src/dialects/types.ts'
import type { ChainDependencies } from '../../../src/pipeline/dependencies.ts'
import type { Guarded } from '../../../src/pipeline/exchange.ts'
import { PluginView } from '../../../src/pipeline/plugins/view.ts'
import { ClientRequest } from '../../../src/pipeline/request/client-request.ts'
import type { Endpoint } from '../../../src/routing/catalog/types.ts'

const endpoint = (name: string, searches: boolean): Endpoint =>
  ({
    model: { slug: 'acme/one' },
    provider: { name, dialect: 'wire', quirks: searches ? { web_search: true } : {} },
  }) as unknown as Endpoint

function open() {
  const all = [endpoint('a', true), endpoint('b', false)]
  const request = { items: [], tools: [], sampling: {}, used: new Set() }
  const exchange = {
    route: { models: [], endpoints: all },
    request: new ClientRequest({
      client: { decodeRequest: () => request } as unknown as ClientDialect,
      body: {},
      bytes: 2,
      characters: 2,
      gateway: {} as GatewayFields,
      mayHoldMedia: false,
      hasOtherTools: false,
    }),
  } as unknown as Guarded
  const wire = { webSearch: () => ({ isTool: true, besideFunctions: true, canExpress: () => true }) }
  const view = new PluginView(exchange, new Map([['wire', wire]]) as unknown as ChainDependencies['upstreams'], () => false)
  view.open = true
  return { all, exchange, request, view }
}

t.test('undo removes the search tool of the provider and restores the endpoints', async (t) => {
  const { all, exchange, request, view } = open()
  t.equal(view.searchNatively({ allowed: [], excluded: [] }), true)
  t.same(
    exchange.route.endpoints.map(({ provider }) => provider.name),
    ['a'],
  )
  t.equal(request.tools.length, 1)
  view.undo()
  t.same(request.tools, [])
  t.same(exchange.request.edits, [])
  t.equal(exchange.route.endpoints, all)
})

t.test('undo leaves changes from before keep', async (t) => {
  const { exchange, view } = open()
  view.searchNatively({ allowed: [], excluded: [] })
  view.keep()
  view.undo()
  t.equal(exchange.route.endpoints.length, 1)
})
