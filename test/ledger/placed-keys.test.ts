/** Accounts of levels, in an installation with as many levels as there may be. */
import t from 'tap'
import { type Level, LevelTree } from '../../src/core/levels.ts'
import { placesIn } from '../../src/ledger/placed-keys.ts'
import { workspaceLevel } from '../store/level-samples.ts'

const ORGANIZATIONS = 1_000
const MEMBERS = 100_000

t.test('the accounts of all organisations are found without a look at all levels for each', async (t) => {
  const tree = new LevelTree()
  const put = (id: string, level: Partial<Level>): void => tree.put({ ...workspaceLevel(id), ...level })
  const fields = (id: string): Level['fields'] => ({ ...workspaceLevel(id).fields, slug: id, userId: id })
  for (let at = 0; at < ORGANIZATIONS; at++) put(`o${at}`, { kind: 'organization', parent: null, fields: fields(`o${at}`) })
  for (let at = 0; at < MEMBERS; at++) put(`m${at}`, { kind: 'member', parent: `o${at % ORGANIZATIONS}`, fields: fields(`m${at}`) })
  const places = placesIn(tree)
  const before = process.cpuUsage()
  const found = tree.list('organization').flatMap((level) => places.budgetAt(level)?.identity ?? [])
  const { user, system } = process.cpuUsage(before)
  t.equal(found.filter((identity) => /^organization:o\d+$/.test(identity)).length, ORGANIZATIONS)
  t.ok((user + system) / 1_000 < 2_500, `${(user + system) / 1_000} ms`)
})
