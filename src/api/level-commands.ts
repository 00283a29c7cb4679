/** Commands of the command line on organizations, workspaces and members: sent to the running gateway, or run on a store without an owner. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { LEVEL_KINDS, type Level, type LevelKind } from '../core/levels.ts'
import { budgetEntries, levelEntry } from './level-entry.ts'
import {
  addMembers,
  changeLevel,
  createLevel,
  findLevel,
  type LevelsSource,
  putLevelBudget,
  removeLevel,
  removeLevelBudget,
  removeMembers,
} from './levels.ts'
import type { ChangeSource } from './origin.ts'

const VERBS = ['list', 'create', 'change', 'limit', 'delete', 'add', 'remove'] as const

export interface LevelCommand {
  readonly kind: LevelKind
  readonly verb: (typeof VERBS)[number]
  /** Id or slug; of members that of their workspace, or with `isOrganization` of their organization. */
  readonly name?: string | undefined
  /** Name that an identity provider has for a member. */
  readonly user?: string | undefined
  readonly isOrganization?: boolean | undefined
  /** Of `create`, `change` and `add`: as of the operations of the API. */
  readonly fields?: JsonObject | undefined
  /** Of `limit`: USD by interval; null takes it away. */
  readonly limits?: Readonly<Record<string, number | null>> | undefined
}

const text = () => Type.Optional(Type.String({ minLength: 1, maxLength: 256 }))
const checkCommand = checker(
  Type.Object(
    {
      kind: Type.Enum([...LEVEL_KINDS]),
      verb: Type.Enum([...VERBS]),
      name: text(),
      user: text(),
      isOrganization: Type.Optional(Type.Boolean()),
      fields: Type.Optional(Type.Object({})),
      limits: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Number(), Type.Null()]))),
    },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404, 409. @returns what is there now of the kind. */
export async function runLevelCommand(command: unknown, source: LevelsSource & ChangeSource): Promise<JsonObject> {
  checkCommand(command)
  const given = command as LevelCommand
  const { kind, verb, fields = {}, limits = {} } = given
  await source.levels.renew()
  if (verb === 'create' && kind !== 'member') await createLevel(kind, fields, source)
  else if (verb === 'add') await addMembers(groupKind(given), nameIn(given), { ...fields, user_ids: [userIn(given)] }, source)
  else if (verb === 'remove') await removeMembers(groupKind(given), nameIn(given), { user_ids: [userIn(given)] }, source)
  else if (verb === 'change') await changeLevel(kind, levelIn(given, source).id, fields, source)
  else if (verb === 'delete') await removeLevel(kind, levelIn(given, source).id, source)
  else if (verb === 'limit') {
    const { id } = levelIn(given, source)
    // Those that go first: what is set need not be lower than they are.
    for (const [interval, limit] of Object.entries(limits)) if (limit === null) await removeLevelBudget(kind, id, interval, source)
    for (const [interval, limit] of Object.entries(limits))
      if (limit !== null) await putLevelBudget(kind, id, interval, { limit_usd: limit }, source)
  } else if (verb !== 'list') throw badField('verb', `expected another one for ${kind}s`)
  return listed(given, source)
}

/** With their budgets, of all pages. */
function listed(given: LevelCommand, { levels }: LevelsSource): JsonObject {
  const { kind } = given
  const parent = kind === 'member' ? findLevel(groupKind(given), nameIn(given), levels).id : undefined
  const data = levels.tree.list(kind, parent).map((level) => ({ ...levelEntry(level, levels.tree), budgets: budgetEntries(level) }))
  return { data }
}

const groupKind = ({ isOrganization }: LevelCommand): 'organization' | 'workspace' => (isOrganization ? 'organization' : 'workspace')

/** @throws Fault 400. */
function nameIn({ name }: LevelCommand): string {
  if (name === undefined) throw badField('name', 'is required: an id or a slug')
  return name
}

/** @throws Fault 400. */
function userIn({ user }: LevelCommand): string {
  if (user === undefined) throw badField('user', 'is required: an address or id of an identity provider')
  return user
}

/** @throws Fault 400, 404. */
function levelIn(command: LevelCommand, { levels }: LevelsSource): Level {
  const { kind } = command
  if (kind !== 'member') return findLevel(kind, nameIn(command), levels)
  const group = findLevel(groupKind(command), nameIn(command), levels)
  const member = levels.tree.member(group.id, userIn(command))
  return member ?? findLevel('member', userIn(command), levels)
}
