/** A list over the ledger: how many of the newest generations each model has, on both stores, shared by all who ask, in the API. */
import type { Addition } from './frame/addition.ts'

const READER = 'src/ledger/reader.ts'
const SCANS = 'src/ledger/scans.ts'
const OPERATIONS = 'src/api/operations/index.ts'

export const addition: Addition = {
  name: 'list',
  change: 'a list over the ledger',
  recipe:
    'its method with the text of it, and its name, in `src/ledger/reader.ts` (reads of the store, and lists that scans share); its statement in `src/store/sqlite-ledger.ts` and `src/store/postgres/ledger.ts`, or a file of its own beside each; its scan in `src/ledger/scans.ts`; its operation in a file of `src/api/operations/` with its line in `index.ts` there; its row in `test/support/grown/operations.ts`, where stores of millions of rows run it; its test. Workers and other processes forward the call by its name',
  most: 8,
  edits: [
    {
      file: READER,
      find: '  /**\n   * Generations, the newest first, as far as',
      replace:
        '  /** Requests of each model among the newest 1,000 generations. */\n  newestModels(): Promise<readonly ModelCount[]>\n  /**\n   * Generations, the newest first, as far as',
    },
    {
      file: READER,
      find: '/** Reads of the store. All',
      replace:
        '/** Requests of a model. */\nexport interface ModelCount {\n  readonly model: string\n  readonly requests: number\n}\n\n/** Reads of the store. All',
    },
    {
      file: READER,
      find: '  /** Generations, the newest first. @param before',
      replace:
        '  /** Requests of each model among the newest 1,000 generations. @throws Fault `unavailable` where too many scans wait. */\n  newestModels(): Promise<readonly ModelCount[]>\n  /** Generations, the newest first. @param before',
    },
    { file: READER, find: '  sessionMoves: true,\n', replace: '  sessionMoves: true,\n  newestModels: true,\n' },
    { file: READER, find: '({ use: true, sessions: true,', replace: '({ use: true, newestModels: true, sessions: true,' },
    {
      file: 'src/store/sqlite-ledger.ts',
      find: '  search(query: GenerationSearch, before: string)',
      replace: `  async newestModels(): Promise<readonly ModelCount[]> {
    this.parts.flush()
    const newest = 'SELECT model FROM hold ORDER BY seq DESC LIMIT 1000'
    const rows = this.parts.db.prepare(\`SELECT model, count(*) AS requests FROM (\${newest}) GROUP BY model ORDER BY model\`).all()
    return rows.map(({ model, requests }) => ({ model: String(model), requests: Number(requests) }))
  }

  search(query: GenerationSearch, before: string)`,
    },
    {
      file: 'src/store/sqlite-ledger.ts',
      find: "import type { LedgerReader } from '../ledger/reader.ts'",
      replace: "import type { LedgerReader, ModelCount } from '../ledger/reader.ts'",
    },
    {
      file: 'src/store/postgres/ledger.ts',
      find: '  search(wanted: GenerationSearch, before: string)',
      replace: `  /** @throws Fault \`unavailable\`. */
  async newestModels(): Promise<readonly ModelCount[]> {
    const newest = query.selectFrom('generation').select('model').orderBy('seq', 'desc').orderBy('tag', 'desc').limit(1000).as('newest')
    const counts = query.selectFrom(newest).select(['model', sql<number>\`count(*)\`.as('requests')]).groupBy('model').orderBy('model')
    const rows = await this.connection.run(counts.compile())
    return rows.map(({ model, requests }) => ({ model, requests: Number(requests) }))
  }

  search(wanted: GenerationSearch, before: string)`,
    },
    {
      file: 'src/store/postgres/ledger.ts',
      find: "import type { LedgerReader } from '../../ledger/reader.ts'",
      replace: "import type { LedgerReader, ModelCount } from '../../ledger/reader.ts'",
    },
    {
      file: SCANS,
      find: '  /** Generations, the newest first. @param before',
      replace: `  /** Requests of each model among the newest 1,000 generations. @throws Fault \`unavailable\` where too many scans wait. */
  newestModels(): Promise<readonly ModelCount[]> {
    return this.once('newest models', () => this.ledger.newestModels())
  }

  /** Generations, the newest first. @param before`,
    },
    {
      file: SCANS,
      find: "import type { LedgerLists, LedgerReader } from './reader.ts'",
      replace: "import type { LedgerLists, LedgerReader, ModelCount } from './reader.ts'",
    },
    {
      file: 'src/api/operations/newest-models.ts',
      text: `/** Models of the newest generations. */
import { Type } from 'typebox'
import { type Operation, operation } from '../operation.ts'
import { ok } from '../reply.ts'
import { count, data } from '../schemas.ts'

export const newestModelOperations: readonly Operation[] = [
  operation('GET /newest-models', {
    id: 'listNewestModels',
    tag: 'Records',
    roles: ['viewer'],
    summary: 'List the models of the newest 1,000 generations',
    reply: { description: 'Requests of each model.', schema: data(Type.Array(Type.Object({ model: Type.String(), requests: count() }))) },
    faults: ['unavailable'],
    handle: async (_, { scans }) => ok({ data: (await scans.newestModels()).map(({ model, requests }) => ({ model, requests })) }),
  }),
]
`,
    },
    {
      file: OPERATIONS,
      find: "import { presetOperations } from './presets.ts'\n",
      replace: "import { newestModelOperations } from './newest-models.ts'\nimport { presetOperations } from './presets.ts'\n",
    },
    { file: OPERATIONS, find: '  ...spendingOperations,\n', replace: '  ...spendingOperations,\n  ...newestModelOperations,\n' },
    {
      file: 'test/support/grown/operations.ts',
      find: "    ['use', () => ledger.usePage(week, '')],\n",
      replace: "    ['newest models', () => ledger.newestModels()],\n    ['use', () => ledger.usePage(week, '')],\n",
    },
    {
      file: 'test/gateway/operations/newest-models.test.ts',
      text: `import t from 'tap'
import { startScene } from '../../support/scene.ts'

const BOSS = 'sk-router-v1-boss123456789abcdef'

t.test('the models of the newest generations are listed', async (t) => {
  const { gateway, ask } = await startScene(t, {
    yaml: \`auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef" }, { name: boss, key: "\${BOSS}", management: true } ] }\`,
  })
  for (let i = 0; i < 3; i++) t.equal((await ask({})).status, 200)
  const list = await gateway.get('/v1/newest-models', { authorization: \`Bearer \${BOSS}\` })
  t.match(await list.json(), { data: [{ requests: 3 }] })
  t.equal((await gateway.get('/v1/newest-models')).status, 403)
})
`,
    },
  ],
  test: ['gateway/operations/newest-models', 'store/grown-operations', 'gateway/formats/openapi'],
}
