/** Every list of the API has pages of a bounded length, or stands here with the reason why it needs none. */
import t from 'tap'
import { OPERATIONS } from '../../src/api/operations/index.ts'
import { isObject, type Json } from '../../src/core/json.ts'
import { isPermitted } from '../../src/core/roles.ts'
import { every } from '../support/every.ts'
import { startScene } from '../support/scene.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

/** Lists without `limit`. */
const WHOLE: Readonly<Record<string, string>> = {
  'GET /providers': 'the providers of the configuration',
  'GET /endpoints/zdr': 'endpoints of the configuration',
  'GET /budgets':
    'the budgets of the configuration and levels with limits, with 100 keys each at most; filters name one kind, or the levels of a page',
  'GET /organizations/{id}/budgets': 'one for each of four windows',
  'GET /workspaces/{id}/budgets': 'one for each of four windows',
  'GET /members/{id}/budgets': 'one for each of four windows',
  'GET /activity': 'sums of 30 days by endpoint, whatever the number of keys and requests',
  'GET /chargeback': 'a statement of one moment, refused beyond 100,000 lines',
  'GET /events/receivers': 'the receivers of the configuration',
}

/** Lists with `limit` that come whole where neither it nor `offset` is sent, as the service sends them. */
const WHOLE_WITHOUT_LIMIT: Readonly<Record<string, string>> = {
  'GET /models': 'models of the configuration',
  'GET /models/user': 'models of the configuration',
  'GET /embeddings/models': 'models of the configuration',
}

interface Listed {
  readonly name: string
  readonly path: string
  /** Rows of one page at most; undefined without a parameter `limit`. */
  readonly most: number | undefined
  readonly isManaged: boolean
}

const isArray = (schema: unknown): boolean => isObject(schema as Json) && (schema as { type?: string }).type === 'array'

const LISTS: readonly Listed[] = OPERATIONS.flatMap(({ method, path, reply, parameters = [], roles }) => {
  const { properties } = reply.schema as { properties?: { data?: unknown } }
  if (method !== 'get' || !isArray(properties?.data)) return []
  const maximum = parameters.find(({ name }) => name === 'limit')?.schema.maximum
  return [
    {
      name: `GET ${path}`,
      path,
      most: typeof maximum === 'number' ? maximum : undefined,
      isManaged: isPermitted({ role: 'owner' }, roles) && roles !== 'any' && roles !== 'none',
    },
  ]
})

t.test('every list has a bound, or a reason to have none', (t) => {
  t.ok(LISTS.length >= 20, `${LISTS.length} lists`)
  const unbounded = LISTS.filter(({ most }) => most === undefined).map(({ name }) => name)
  t.same(unbounded.sort(), Object.keys(WHOLE).sort(), 'a list without `limit` has its reason, and no reason is of another list')
  t.same(
    Object.keys(WHOLE_WITHOUT_LIMIT).filter((name) => !LISTS.some((list) => list.name === name && list.most !== undefined)),
    [],
    'the others take `limit`',
  )
  t.same(
    LISTS.filter(({ most = 0 }) => most > 10_000).map(({ name }) => name),
    [],
    'no page is longer than 10,000 rows',
  )
  t.end()
})

t.test('each keeps to its bound', async (t) => {
  const yaml = `auth: { keys: [ { name: test, key: "sk-test-0123456789abcdef" }, { name: boss, key: "${BOSS}", management: true } ] }`
  const files = `store: { files: { path: "${t.testdir()}" } }`
  const { gateway, ask } = await startScene(t, { yaml: `${yaml}\n${files}` })
  for (let at = 0; at < 3; at++) await (await ask()).text()
  const get = async (path: string, isManaged: boolean): Promise<{ status: number; body: Json }> => {
    const secret = isManaged ? BOSS : 'sk-test-0123456789abcdef'
    const response = await gateway.get(`/v1${path}`, { authorization: `Bearer ${secret}` })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const paths = LISTS.filter(({ most, path }) => most !== undefined && !path.includes('{'))
  await every(t, 'one row where one is wanted, and an error that names `limit` for more than the bound', async (t) => {
    for (const { name, path, most = 0, isManaged } of paths) {
      const one = await get(`${path}?limit=1`, isManaged)
      t.equal(one.status, 200, name)
      const rows = isObject(one.body) && Array.isArray(one.body.data) ? one.body.data.length : Number.POSITIVE_INFINITY
      t.ok(rows <= 1, `${name}: ${rows} rows`)
      const beyond = await get(`${path}?limit=${most + 1}`, isManaged)
      t.equal(beyond.status, 400, `${name} with limit=${most + 1}`)
      t.match(beyond.body, { error: { metadata: { field: 'limit' } } }, `${name} names the field`)
    }
  })
})
