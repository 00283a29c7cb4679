/** Names that people give: of keys, of those for whom they are made, of applications, of guardrails. */
import { badField } from './faults.ts'

/**
 * Signs by which a name would look like another one: controls, line ends, invisible signs, and those that turn the direction of
 * writing (UAX #9, section 2). Joiners stay, since scripts and emoji need them.
 */
const DISGUISES = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu

/** As it is stored and shown. */
export function plainName(text: string): string {
  return text.replace(DISGUISES, '')
}

/** @throws Fault 400 naming the field where nothing is left. */
export function nameIn(text: string, field: string): string {
  const name = plainName(text)
  if (name.trim() === '') throw badField(field, 'expected a name that can be seen')
  return name
}
