/** Rules of budgets that the schema cannot state. */
import { BUDGET_WINDOWS, MAX_BUDGET_LEVELS, namesAbove } from '../core/shared-budget.ts'
import { writtenRole } from './keys.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

/** The limit of each window must be lower than that of the next longer window, or it would never be reached (docs/contract.md#lists-and-records, budgets of workspaces). */
export function checkBudgets({ budgets = {}, auth }: RawConfig, main: Source): void {
  for (const [name, limits] of Object.entries(budgets)) {
    const set = BUDGET_WINDOWS.filter((window) => limits[window] !== undefined)
    if (set.length === 0) main.report(['budgets', name], `expected a limit, one of: ${BUDGET_WINDOWS.join(', ')}`)
    for (const [at, window] of set.entries()) {
      const longer = set[at + 1]
      if (longer && Number(limits[window]) >= Number(limits[longer]))
        main.report(['budgets', name, window], `expected less than ${longer}, or it is never reached`)
    }
    main.check(() => checkParent(name, budgets, main))
  }
  for (const [index, key] of (auth?.keys ?? []).entries()) {
    const { parent } = key
    if (parent === undefined) continue
    const at = ['auth', 'keys', index, 'parent']
    if (!Object.hasOwn(budgets, parent)) main.report(at, `no such budget${hint(parent, Object.keys(budgets))}`)
    else if (writtenRole(key) !== 'member') main.report(at, 'a management key spends nothing, expected none')
  }
}

/** Each budget is reported for its own parent, so that a wrong one is named once. */
function checkParent(name: string, budgets: NonNullable<RawConfig['budgets']>, main: Source): void {
  const parent = budgets[name]?.parent
  if (parent === undefined) return
  const at = ['budgets', name, 'parent']
  if (!Object.hasOwn(budgets, parent)) {
    main.report(at, `no such budget${hint(parent, Object.keys(budgets))}`)
    return
  }
  const names = namesAbove(name, budgets)
  const [last = name] = names.slice(-1)
  const next = budgets[last]?.parent
  if (next !== undefined && names.includes(next)) {
    if (next === name) main.report(at, `it leads back to this budget (${[...names, name].join(' > ')}), expected one that is not below it`)
    return
  }
  // Where its parent is too deep already, that one is reported.
  if (names.length === MAX_BUDGET_LEVELS + 1)
    main.report(at, `expected at most ${MAX_BUDGET_LEVELS} budgets one above the other, these are ${names.length}: ${names.join(' > ')}`)
}
