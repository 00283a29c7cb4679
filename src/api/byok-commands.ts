/** Commands of the command line on keys of providers that teams bring: sent to the running gateway, or run on a store without an owner. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { type ByokSource, byokEntries, changeByok, createByok, refuseWithoutEncryption, removeByok } from './byok.ts'
import type { ChangeSource } from './origin.ts'

export interface ByokCommand {
  verb: 'list' | 'add' | 'disable' | 'enable' | 'remove' | 'rotate'
  /** Id or name of an entry. */
  entry?: string | undefined
  /** Of `add`: as of `POST /v1/byok`. */
  body?: JsonObject | undefined
}

const checkCommand = checker(
  Type.Object(
    {
      verb: Type.Enum(['list', 'add', 'disable', 'enable', 'remove', 'rotate']),
      entry: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
      body: Type.Optional(Type.Object({})),
    },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404, 409. @returns the entries as they are now. */
export async function runByokCommand(command: unknown, source: ByokSource & ChangeSource): Promise<JsonObject> {
  checkCommand(command)
  const { verb, entry, body } = command as ByokCommand
  const list = async (more: JsonObject = {}): Promise<JsonObject> => ({
    data: await byokEntries(await source.byok.all(), source),
    ...more,
  })
  if (verb === 'list') return list()
  if (verb === 'rotate') return list(await rewrapAll(source))
  if (verb === 'add') {
    if (!body) throw badField('body', 'is required')
    await createByok(body, source)
    return list()
  }
  const id = await entryId(entry, source)
  if (verb === 'remove') await removeByok(id, source)
  else await changeByok(id, { disabled: verb === 'disable' }, source)
  return list()
}

async function entryId(named: string | undefined, { byok }: ByokSource): Promise<string> {
  if (named === undefined) throw badField('entry', 'is required: an id or a name')
  const keys = await byok.all()
  const byId = keys.filter(({ id }) => id === named)
  const [found, ...others] = byId.length > 0 ? byId : keys.filter(({ terms }) => terms.name === named)
  if (!found) throw new Fault('not_found', { message: `No key of a provider ${named.slice(0, 100)}` })
  if (others.length > 0)
    throw badField('entry', `several are called so; name one by its id: ${[found, ...others].map(({ id }) => id).join(', ')}`)
  return found.id
}

/** Wraps each key with the operator's first key. Those that none of the operator's keys opens stay as they are. */
async function rewrapAll(source: ByokSource & ChangeSource): Promise<JsonObject> {
  refuseWithoutEncryption(source)
  const { byok, encryption, origin } = source
  let rewrapped = 0
  const unusable: string[] = []
  for (const { id, provider, encrypted } of await byok.all()) {
    const next = encryption.rewrap(encrypted, { id, provider })
    if (next === undefined) unusable.push(id)
    else if (!encryption.isCurrent(encrypted) && (await byok.rewrap(id, encrypted, next, origin))) rewrapped++
  }
  return { rewrapped, unusable }
}
