/** What a wire calls each part of a request, so that an error about a field of one wire can be explained in the words of another. */
import { PARAMETERS, type ParameterTable } from './parameters.ts'

/** By canonical parameter, and `conversation` and `system`: paths in the body. */
export type FieldNames = ReadonlyMap<string, readonly string[]>

/** @param others parts that the table does not have, and parameters that have several names. */
export function fieldNames(table: ParameterTable, others: Readonly<Record<string, readonly string[]>>): FieldNames {
  const names = new Map<string, readonly string[]>()
  for (const name of PARAMETERS) {
    const outcome = table[name]
    // The beginning of an answer is a place in the conversation, and no field of its own.
    if ('as' in outcome && name !== 'prefill') names.set(name, [outcome.as.replaceAll('[]', '')])
  }
  for (const [name, paths] of Object.entries(others)) names.set(name, paths)
  return names
}
