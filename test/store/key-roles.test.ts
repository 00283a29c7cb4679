/** Roles, places and scopes of keys in their rows: what is written is read again, and all else opens nothing. */
import t from 'tap'
import type { KeyPlace } from '../../src/core/levels.ts'
import { MANAGEMENT_ROLES, ROLES } from '../../src/core/roles.ts'
import { SCOPE_NAMES } from '../../src/core/scopes.ts'
import { type RoleColumns, roleColumns, storedRole } from '../../src/store/key-roles.ts'
import { every } from '../support/every.ts'

const OPENS_NOTHING = { role: 'member', expiresAt: 0, disabled: true }
const places: readonly (KeyPlace | undefined)[] = [undefined, { workspace: 'w' }, { member: 'm' }, { workspace: 'w', member: 'm' }]

t.test('every role with every place and scopes comes back as it was', async (t) => {
  await every(t, 'every row', (t) => {
    for (const expiresAt of [null, 5])
      for (const role of ROLES) {
        for (const place of places) {
          const columns = roleColumns({ role, expiresAt, place })
          t.same(storedRole(columns), { role, expiresAt, ...(place ? { place } : {}) })
          if (place) t.match(columns, { management: false, expires_at: 0 }, 'nothing to the version before')
        }
      }
    for (const role of MANAGEMENT_ROLES)
      for (const place of [...places, { organization: 'o' }])
        for (const scopes of [['keys:read'], SCOPE_NAMES] as const) {
          const columns = roleColumns({ role, expiresAt: 5, place, scopes })
          t.match(columns, { management: false, expires_at: 0 })
          t.notOk(ROLES.some((each) => each === columns.role))
          t.same(storedRole(columns), { role, expiresAt: 5, scopes, ...(place ? { place } : {}) })
        }
  })
})

t.test('words, and columns beside them, that do not fit open nothing', async (t) => {
  const row = (changes: Partial<RoleColumns>): RoleColumns => ({
    ...{ management: true, expires_at: null, role: 'admin', ends_at: null, workspace: null, member: null },
    ...changes,
  })
  const wrong: Partial<RoleColumns>[] = [
    ...['', ' ', 'king', 'placed admin', 'organization admin', 'admin admin', 'scopes= admin', 'scopes=all:all admin'].map((role) => ({
      role,
    })),
    ...['admin', 'scopes=keys:read admin', 'placed king', 'placed', 'scopes=keys:read placed admin', 'placed placed admin'].map((role) => ({
      role,
      workspace: 'w',
    })),
    ...['organization member', 'scopes=keys:read,nothing:read admin', 'placed scopes=keys:read member'].map((role) => ({
      role,
      workspace: 'w',
    })),
    { role: 'organization admin', member: 'm' },
    { role: 'scopes=keys:read member' },
    { role: null, workspace: 'w' },
    { role: null, member: 'm' },
  ]
  await every(t, 'each of them', (t) => {
    for (const changes of wrong) {
      const read = storedRole(row(changes))
      t.match(read, OPENS_NOTHING, JSON.stringify(changes))
      t.type(read.unknownRole, 'string')
      t.throws(() => roleColumns(read), /does not know/, 'and no change loses it')
    }
  })
})
