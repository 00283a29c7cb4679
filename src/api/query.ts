/** Query parameters of the list operations, read strictly: a filter that is misspelt in its value is an error, not ignored. */
import { badField } from '../core/faults.ts'

/** Comma list, trimmed and lower case; undefined where absent or empty. */
export function queryList(query: URLSearchParams, name: string): string[] | undefined {
  const entries = (query.get(name) ?? '').split(',').map((entry) => entry.trim().toLowerCase())
  const named = entries.filter((entry) => entry !== '')
  return named.length > 0 ? named : undefined
}

/** @throws Fault 400 where it is no number from 0 up. */
export function queryNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d+(\.\d+)?$/.test(text)) throw badField(name, 'expected a number not below 0')
  return Number(text)
}

/** @throws Fault 400 where it is no integer of the range. */
export function queryInteger(query: URLSearchParams, name: string, least: number, most: number): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) throw badField(name, `expected an integer from ${least} to ${most}`)
  return value
}

/** @throws Fault 400 listing what may stand there. */
export function queryChoice<T extends string>(query: URLSearchParams, name: string, choices: readonly T[]): T | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const choice = choices.find((one) => one === text)
  if (choice === undefined) throw badField(name, `expected one of: ${choices.join(', ')}`)
  return choice
}

/** @returns milliseconds since the epoch. @throws Fault 400. */
export function queryTime(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?Z)?$/.test(text) ? Date.parse(text) : Number.NaN
  if (!(time >= 0)) throw badField(name, 'expected a UTC time such as 2027-01-31T08:00:00Z')
  return time
}
