/** Rules of budgets that the schema cannot state. */
import { BUDGET_WINDOWS } from '../core/shared-budget.ts'
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
  }
  for (const [index, key] of (auth?.keys ?? []).entries()) {
    const { parent } = key
    if (parent === undefined) continue
    const at = ['auth', 'keys', index, 'parent']
    if (!Object.hasOwn(budgets, parent)) main.report(at, `no such budget${hint(parent, Object.keys(budgets))}`)
    else if (writtenRole(key) !== 'member') main.report(at, 'a management key spends nothing, expected none')
  }
}
