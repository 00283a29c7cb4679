/** All operations that are no generations. The order is that of the description and its pages. */
import type { Operation } from '../operation.ts'
import { auditOperations } from './audit.ts'
import { budgetOperations } from './budgets.ts'
import { byokOperations } from './byok.ts'
import { configurationOperations } from './configuration.ts'
import { eventOperations } from './events.ts'
import { fileOperations } from './files.ts'
import { generationOperations } from './generations.ts'
import { guardrailOperations } from './guardrails.ts'
import { keyOperations } from './keys.ts'
import { entryOperations } from './ledger-entries.ts'
import { levelsOperations } from './levels.ts'
import { modelOperations } from './models.ts'
import { presetOperations } from './presets.ts'
import { providerOperations } from './providers.ts'
import { recordOperations } from './records.ts'
import { refusalOperations } from './refusals.ts'
import { signInOperations } from './sign-in.ts'
import { sliceOperations } from './slices.ts'
import { spendingOperations } from './spending.ts'

export const OPERATIONS: readonly Operation[] = [
  ...modelOperations,
  ...providerOperations,
  ...presetOperations,
  ...fileOperations,
  ...keyOperations,
  ...byokOperations,
  ...levelsOperations,
  ...recordOperations,
  ...budgetOperations,
  ...generationOperations,
  ...spendingOperations,
  ...sliceOperations,
  ...signInOperations,
  ...guardrailOperations,
  ...entryOperations,
  ...refusalOperations,
  ...auditOperations,
  ...eventOperations,
  ...configurationOperations,
]
