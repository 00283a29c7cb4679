/**
 * Quirks: small departures of a provider from its dialect, set in the YAML file for a provider or an endpoint. Each dialect has one table
 * of those that it reads, `quirks.ts` in its folder; these parts stand in several tables.
 */
import { type TSchema, Type } from 'typebox'

export type QuirkTable = Readonly<Record<string, TSchema>>

export const oneOf = <const V extends readonly string[]>(description: string, values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], description })

export const flag = (description: string) => Type.Boolean({ description })

export const word = (description: string, maxLength = 64) => Type.String({ description, minLength: 1, maxLength })

export const listOf = <T extends TSchema>(description: string, items: T, minItems = 0) =>
  Type.Array(items, { description, minItems, maxItems: 10_000 })

/** Every dialect reads it. */
export const drop = listOf('Parameters that are never sent.', word('A parameter.'))

export const efforts = listOf('Reasoning efforts that the provider knows; others become the nearest of them.', word('An effort.', 32), 1)

export const webSearch = flag('True: the provider has a web search of its own, which the engine `native` uses.')

export const explicitCaching = flag('True: `prompt_cache_options` of a request are passed on.')
