/** Settings of the audit log: the time for which its entries are kept. */
import { Type } from 'typebox'
import { closed, flag, span, withDefault } from '../fields/scalars.ts'

export const audit = closed('The log of changes; see [audit.md](audit.md).', {
  retention: Type.Optional(span('Time for which entries are kept, at least 32 days. If unset: for ever.')),
  hold: withDefault(flag('True: no entry is removed, whatever `retention` says.'), false),
})
