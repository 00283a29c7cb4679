/** `only` and `ignore`: the lists of every side hold, and an error names all that leave an endpoint out. */

import { ALL_TIERS } from '../../core/service-tiers.ts'
import type { Endpoint } from '../catalog/types.ts'
import { criterion, type Explanation, type SidedSlugs } from './criterion.ts'
import { listExcludes, listNames, shownSlugs } from './slugs.ts'

type Sided = readonly SidedSlugs[]

interface Lists {
  readonly only: Sided
  readonly ignore: Sided
}

export interface ListsDemand extends Lists {
  /** Objection of one list to all that it leaves out: the same words for each. */
  readonly known: Map<SidedSlugs, Explanation>
}

const REFUSAL = { code: 'constraint_filtered', excludedBy: 'allowed_providers' } as const

export const only = criterion({
  name: 'only',
  fields: {
    only: {
      kind: 'endpoints',
      all: true,
      text: 'Only these endpoints may serve. If several sources set a list, an endpoint must be in each of them.',
    },
  },
  refusal: REFUSAL,
  removes: 'that is missing from an `only` list',
  demand: (lists: Lists) => (lists.only.length > 0 ? listDemand(lists) : undefined),
  test: (endpoint, lists) => allInclude(lists.only, endpoint),
  explain,
})

export const ignore = criterion({
  name: 'ignore',
  fields: { ignore: { kind: 'endpoints', all: true, text: 'These endpoints may not serve. The lists of all sources are combined.' } },
  refusal: REFUSAL,
  removes: 'that is in an `ignore` list',
  demand: (lists: Lists) => (lists.ignore.length > 0 ? listDemand(lists) : undefined),
  test: (endpoint, lists) => noneExcludes(lists.ignore, endpoint),
  explain,
})

const listDemand = (lists: Lists): ListsDemand => ({ only: lists.only, ignore: lists.ignore, known: new Map() })

/** A tier endpoint that reaches this filter was requested: a list that names its provider allows it too. */
const includes = ({ slugs }: SidedSlugs, endpoint: Endpoint): boolean => listNames(slugs, endpoint, ALL_TIERS)

function allInclude(lists: Sided, endpoint: Endpoint): boolean {
  for (const list of lists) if (!includes(list, endpoint)) return false
  return true
}

function noneExcludes(lists: Sided, endpoint: Endpoint): boolean {
  for (const { slugs } of lists) if (listExcludes(slugs, endpoint)) return false
  return true
}

interface Against {
  readonly name: 'only' | 'ignore'
  readonly list: SidedSlugs
}

/** Every side's list that leaves the endpoint out. */
function explain(endpoint: Endpoint, { only, ignore, known }: ListsDemand): Explanation {
  const against: Against[] = []
  for (const list of only) if (!includes(list, endpoint)) against.push({ name: 'only', list })
  for (const list of ignore) if (listExcludes(list.slugs, endpoint)) against.push({ name: 'ignore', list })
  const [first] = against
  if (first === undefined || against.length > 1) return inWords(against)
  const { list } = first
  const words = known.get(list) ?? inWords(against)
  known.set(list, words)
  return words
}

function inWords(against: readonly Against[]): Explanation {
  const details = against.map(({ name, list }) => `${name} of the ${list.from}: [${shownSlugs(list.slugs)}]`)
  return { detail: details.join(' and '), from: [...new Set(against.map(({ list }) => list.from))].join(' and ') }
}
