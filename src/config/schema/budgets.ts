/** Budgets that several keys spend together. */
import { Type } from 'typebox'
import { closed, mapField, NAME, NAME_EXPECTED, usd } from '../fields/scalars.ts'

const budget = closed(
  'One budget: at least one limit in USD. Keys draw on it that name it as their `parent`; a budget itself has no parent.',
  {
    daily: Type.Optional(usd('USD that its keys together may spend in the current UTC day.')),
    weekly: Type.Optional(usd('The same in the current week, from Monday 00:00 UTC.')),
    monthly: Type.Optional(usd('The same in the current month.')),
    lifetime: Type.Optional(usd('The same in all.')),
  },
  ['parent'],
)

export const budgets = mapField('Budgets by name.', NAME, NAME_EXPECTED, budget)
