/** Budgets that several keys spend together. */
import { Type } from 'typebox'
import { closed, entryName, mapField, NAME, NAME_EXPECTED, usd } from '../fields/scalars.ts'

const budget = closed('One budget: at least one limit in USD. Keys and other budgets draw on it that name it as their `parent`.', {
  daily: Type.Optional(usd('USD that its keys together may spend in the current UTC day.')),
  weekly: Type.Optional(usd('The same in the current week, from Monday 00:00 UTC.')),
  monthly: Type.Optional(usd('The same in the current month.')),
  lifetime: Type.Optional(usd('The same in all.')),
  parent: Type.Optional(
    entryName(
      'Name of another entry: this one draws on it together with others, such as a team on its organisation. At most 4 one above the other.',
    ),
  ),
})

export const budgets = mapField('Budgets by name.', NAME, NAME_EXPECTED, budget)
