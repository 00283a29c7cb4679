/** An operation of the API: what time it is here. */

const LIST = 'src/api/operations/index.ts'

export const addition = {
  name: 'operation',
  change: 'an operation of the API',
  recipe: 'its object in a file of `src/api/operations/`, the line of that file in `index.ts` there, its test',
  most: 4,
  edits: [
    {
      file: 'src/api/operations/time.ts',
      text: `/** The time. */
import { Type } from 'typebox'
import { type Operation, operation } from '../operation.ts'
import { choice } from '../parameters.ts'
import { ok } from '../reply.ts'
import { data } from '../schemas.ts'

const form = choice('form', 'A text, or milliseconds since the epoch.', ['text', 'number'], 'text')

export const timeOperations: readonly Operation[] = [
  operation('GET /time', {
    id: 'getTime',
    tag: 'Records',
    roles: ['viewer'],
    summary: 'Get the time of the gateway',
    parameters: [form],
    reply: { description: 'The time.', schema: data(Type.Union([Type.String(), Type.Number()])) },
    faults: ['bad_request'],
    handle: ({ query }, { clock }) => ok({ data: form.read(query) === 'number' ? clock.now() : new Date(clock.now()).toISOString() }),
  }),
]
`,
    },
    {
      file: LIST,
      find: "import { spendingOperations } from './spending.ts'\n",
      replace: "import { spendingOperations } from './spending.ts'\nimport { timeOperations } from './time.ts'\n",
    },
    { file: LIST, find: '  ...spendingOperations,\n', replace: '  ...spendingOperations,\n  ...timeOperations,\n' },
    {
      file: 'test/api/time.test.ts',
      text: `import t from 'tap'
import { startGateway } from '../support/gateway.ts'

const [APP, BOSS] = ['sk-router-v1-app00000000000000000000000', 'sk-router-v1-boss0000000000000000000000']

t.test('GET /v1/time is routed, refused, described and answered by one object', async (t) => {
  const gateway = await startGateway(\`
auth: { keys: [ { name: app, key: "\${APP}" }, { name: boss, key: "\${BOSS}", management: true } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
\`)
  t.teardown(() => gateway.close())
  const ask = (query: string, key: string, method = 'GET') =>
    fetch(\`\${gateway.url}/v1/time\${query}\`, { method, headers: { authorization: \`Bearer \${key}\` } })
  t.match(await (await ask('', BOSS)).json(), { data: /^\\d{4}-/ })
  t.match(await (await ask('?form=number', BOSS)).json(), { data: Number })
  t.equal((await ask('?form=roman', BOSS)).status, 400)
  t.equal((await ask('', APP)).status, 403)
  const refused = await ask('', BOSS, 'POST')
  t.same([refused.status, refused.headers.get('allow')], [405, 'GET'])
  const described = await (await fetch(\`\${gateway.url}/openapi.json\`)).json()
  t.match(described, { paths: { '/time': { get: { operationId: 'getTime', parameters: [{ name: 'form' }] } } } })
})
`,
    },
  ],
  test: ['test/api/time', 'gateway/formats/openapi'],
}
