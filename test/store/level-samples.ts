/** Levels as tests need them. */
import { type Level, type LevelFields, ORGANIZATION } from '../../src/core/levels.ts'

type Given = Partial<Omit<Level, 'fields'>> & { readonly fields?: Partial<LevelFields> }

/** A workspace of the default organisation, named as its id. */
export function workspaceLevel(id: string, { fields, ...more }: Given = {}): Level {
  const usual: LevelFields = { name: id, slug: id, disabled: false, limits: {}, rates: {}, createdBy: null }
  return {
    ...{ id, version: 1, kind: 'workspace', parent: ORGANIZATION, createdAt: 5, updatedAt: null },
    ...more,
    fields: { ...usual, ...fields },
  }
}
