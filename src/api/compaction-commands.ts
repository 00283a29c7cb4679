/** Commands of the command line on the keys of compaction items: sent to the running gateway, or run on a file without an owner. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { CompactionKeys } from '../services/compaction/compaction-keys.ts'
import type { ChangeSource } from './origin.ts'

export interface CompactionCommand {
  verb: 'list' | 'rotate' | 'remove'
  /** Of `remove`: number of the key. */
  key?: number
}

export interface CompactionSource {
  readonly compactionKeys: Pick<CompactionKeys, 'all' | 'add' | 'remove'>
  readonly clock: Pick<Clock, 'now'>
}

const checkCommand = checker(
  Type.Object(
    { verb: Type.Enum(['list', 'rotate', 'remove']), key: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })) },
    { additionalProperties: false },
  ),
)

/**
 * @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404, 409.
 * @returns the keys as they are now, without their values.
 */
export async function runCompactionCommand(
  command: unknown,
  { compactionKeys, clock, origin }: CompactionSource & ChangeSource,
): Promise<JsonObject> {
  checkCommand(command)
  const { verb, key } = command as CompactionCommand
  const now = clock.now()
  // The first one is made, so that the next is really another.
  const before = await compactionKeys.all(now)
  if (verb === 'rotate') await compactionKeys.add(now, origin)
  if (verb === 'remove') {
    if (key === undefined) throw badField('key', 'is required: the number of a key')
    if (before.at(-1)?.number === key)
      throw new Fault('conflict', { message: `Key ${key} encrypts new items: make another one first, with rotate` })
    if (!(await compactionKeys.remove(key, origin))) throw new Fault('not_found', { message: `No compaction key ${key}` })
  }
  const keys = await compactionKeys.all(now)
  const newest = keys.at(-1)?.number
  return {
    data: keys.map(({ number, createdAt }) => ({
      number,
      created_at: new Date(createdAt).toISOString(),
      encrypts: number === newest,
    })),
  }
}
