/**
 * Every operation × every role × every place, on a gateway with two organizations: what each answers about records of the own one, of the
 * other one, and of none. It is made from the list of operations: one without a case here fails.
 */
import t from 'tap'
import { OPERATIONS } from '../../../src/api/operations/index.ts'
import { mayCall } from '../../../src/core/roles.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Case, placeCases, type Sent } from '../../support/place-cases.ts'
import {
  caller,
  Maker,
  makeCallers,
  makeOrganization,
  type Organization,
  type PlacedCaller,
  type Records,
  type Reply,
  unknownRecords,
} from '../../support/two-organizations.ts'
import { startUpstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

const upstream = await startUpstream(says({ text: ['fine'] }))
const gateway: Gateway = await startGateway(
  `
server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 100000 } }
byok: { encryption_keys: [ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" ] }
auth:
  sign_in: { pkce: optional }
  keys: [ { name: boss, key: "${BOSS}", management: true } ]
budgets: { budget-alpha: { monthly: "500" }, budget-bravo: { monthly: "500" } }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret" }
models:
  acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }
presets: { brief: { model: acme/one } }
`,
  { clock: new FakeClock(1, Date.UTC(2026, 10, 18, 12)) },
)
t.teardown(async () => {
  await gateway.close()
  await upstream.close()
})

const call = caller(() => gateway.url)
const maker = new Maker(call, BOSS)
const model = 'acme/one'
const own = await makeOrganization(maker, 'ALPHA', { budget: 'budget-alpha', model })
const other = await makeOrganization(maker, 'BRAVO', { budget: 'budget-bravo', model })
const callers = await makeCallers(maker, own)
const before = await snapshot()

const CASES = placeCases(maker, own)
const ids = OPERATIONS.map(({ id }) => id)

t.test('every operation has a case, and no case is without an operation', (t) => {
  t.same(
    ids.filter((id) => !Object.hasOwn(CASES, id)),
    [],
    'operations without a case',
  )
  t.same(
    Object.keys(CASES).filter((id) => !ids.includes(id)),
    [],
    'cases without an operation',
  )
  t.end()
})

/** Other gateways' records as requests name them are seen apart by their ids alone. */
function namesLeftOut({ status, text }: Reply, records: Records): string {
  let plain = text
  for (const name of Object.values(records)) plain = plain.replaceAll(name, '…').replaceAll(encodeURIComponent(name), '…')
  return `${status} ${plain.replace(/"(since|until|scanned_until|created_at|updated_at)":"[^"]*"/g, '')}`
}

/** Marks and ids of an organization in a reply that the request has not named itself. */
const found = ({ text }: Reply, { mark, traces }: Organization, sent: Sent): string[] => {
  const named = `${decodeURIComponent(sent.path)} ${JSON.stringify(sent.body ?? {})}`
  return [mark, mark.toLowerCase(), ...traces].filter((trace) => text.includes(trace) && !named.includes(trace))
}

async function requests(about: Case['about'], records: Records): Promise<readonly Sent[]> {
  const found = await about(records)
  return Array.isArray(found) ? found : [found as Sent]
}

function ownStatus({ own: wanted = 200, ofRoles }: Case, { place, role }: PlacedCaller, { path }: Sent): number {
  if (ofRoles?.[role] !== undefined) return ofRoles[role]
  // A filter by what is above the caller names nothing.
  if (place === 'workspace' && path.startsWith('/workspaces?organization_id')) return 404
  if (typeof wanted === 'number') return wanted
  return wanted[role === 'member' ? 'workspace' : place] ?? 200
}

/** All records of the other organization, as the owner of the gateway sees them, without what one reads twice differently. */
async function snapshot(): Promise<string> {
  const paths = [
    `/keys?workspace_id=${other.workspace}&include_disabled=true`,
    `/organizations/${other.organization}`,
    `/workspaces?organization_id=${other.organization}`,
    `/organizations/${other.organization}/budgets`,
    `/workspaces/${other.workspace}/budgets`,
    `/members/${other.member}/budgets`,
    `/workspaces/${other.workspace}/members`,
    `/organizations/${other.organization}/members`,
    `/guardrails/${other.guardrail}`,
    `/guardrails/${other.guardrail}/assignments/keys`,
    `/guardrails/${other.guardrail}/assignments/workspaces`,
    `/byok/${other.byok}`,
    `/ledger/entries?api_key_hash=${other.key}`,
    `/audit?subject=${other.key}`,
  ]
  const texts: string[] = []
  for (const path of paths) texts.push((await call('GET', path, BOSS)).text)
  return texts.join('\n')
}

const bounded = callers.filter(({ place }) => place !== 'gateway')

for (const who of bounded)
  t.test(`${who.name}: what lies elsewhere is not there`, async (t) => {
    await every(t, 'every operation', async (t) => {
      for (const operation of OPERATIONS) {
        const { id } = operation
        const each = CASES[id]
        if (!each) continue
        const method = operation.method.toUpperCase()
        const holder = { role: who.role, ...(who.role === 'member' ? {} : { place: { workspace: 'x' } }) }
        const isOpen = operation.roles === 'none' || mayCall(holder, operation)
        for (const sent of await requests(each.about, other)) {
          const reply = await call(method, sent.path, who.secret, sent.body)
          const seen = `${method} ${sent.path}: ${reply.status} ${reply.text.slice(0, 200)}`
          t.same(found(reply, other, sent), [], `${seen}: nothing of the other organization`)
          if (!isOpen) {
            t.equal(reply.status, 403, seen)
            continue
          }
          // A member reads its own generations alone.
          const isElsewhereAbove = who.place === 'workspace' && typeof each.own === 'object' && each.own.workspace === 404
          t.ok([each.other ?? 404, ...(isElsewhereAbove || /\?organization_id/.test(sent.path) ? [404] : [])].includes(reply.status), seen)
        }
        if (!isOpen || operation.reach === 'own') continue
        const unknown = unknownRecords('budget-none')
        const [there, nowhere] = [await requests(each.about, other), await requests(each.about, unknown)]
        for (const [at, sent] of there.entries()) {
          const none = nowhere[at] as Sent
          if (method !== 'GET' && (each.other ?? 404) < 400) continue
          const [one, two] = [await call(method, sent.path, who.secret, sent.body), await call(method, none.path, who.secret, none.body)]
          t.equal(namesLeftOut(one, other), namesLeftOut(two, unknown), `${method} ${sent.path}: as of what is not there`)
        }
      }
    })
  })

t.test('nothing of the other organization has changed', async (t) => {
  t.equal(await snapshot(), before)
})

for (const who of callers)
  t.test(`${who.name}: what lies in its place`, async (t) => {
    await every(t, 'every operation', async (t) => {
      for (const operation of OPERATIONS) {
        const each = CASES[operation.id]
        if (!each) continue
        const method = operation.method.toUpperCase()
        const place = who.place === 'gateway' || who.role === 'member' ? {} : { place: { workspace: 'x' } }
        const isOpen = operation.roles === 'none' || mayCall({ role: who.role, ...place }, operation)
        for (const sent of await requests(each.about, own)) {
          const reply = await call(method, sent.path, who.secret, sent.body)
          const seen = `${method} ${sent.path}: ${reply.status} ${reply.text.slice(0, 200)}`
          const wanted = isOpen ? ownStatus(each, who, sent) : 403
          t.equal(reply.status, wanted, seen)
          if (who.place !== 'gateway') t.same(found(reply, other, sent), [], `${seen}: nothing of the other organization`)
        }
      }
    })
  })

t.test('those who govern a record read its marks, so that they would be found', async (t) => {
  const secretNamed = (name: string): string => callers.find((each) => each.name === name)?.secret ?? ''
  const readers = [
    { secret: secretNamed('owner of the gateway'), governed: [own, other], above: true },
    { secret: secretNamed('owner of the organization'), governed: [own], above: true },
    { secret: secretNamed('owner of the workspace'), governed: [own], above: false },
  ]
  await every(t, 'every reading operation', async (t) => {
    for (const operation of OPERATIONS) {
      const each = CASES[operation.id]
      if (!each || operation.method !== 'get' || operation.reach === 'own' || each.isSilent) continue
      for (const { secret, governed, above } of readers)
        for (const records of governed) {
          const [sent] = await requests(each.about, records)
          if (!above && /^\/organizations/.test(sent?.path ?? '')) continue
          const { text } = await call('GET', sent?.path ?? '', secret)
          t.ok(
            [records.mark, ...records.traces].some((trace) => text.includes(trace)),
            `${sent?.path}: ${text.slice(0, 300)}`,
          )
        }
    }
  })
})
