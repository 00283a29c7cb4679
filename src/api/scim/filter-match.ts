/** Filters over resources: compiled once, so that each resource costs its comparisons alone. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Filter, FilterValue, Operator } from './filter.ts'
import { findTarget, folded, valuesAt } from './paths.ts'
import { type Attribute, type AttributeMap, type ResourceKind, subAttributes } from './schemas.ts'
import { ScimError } from './scim-error.ts'

export type Test = (value: JsonObject) => boolean

/** The attribute that is compared, and the values that a resource has for it. */
interface Compared {
  readonly attribute: Attribute
  readonly values: (value: JsonObject) => Json[]
}

/** Finds what a comparison compares, and the elements that brackets look among; undefined within brackets. */
interface Finder {
  readonly compared: (path: string) => Compared
  readonly elements?: (path: string) => Compared
}

const bad = (why: string): ScimError => new ScimError(400, `filter: ${why}`, 'invalidFilter')

/** @throws ScimError `invalidFilter` naming an attribute that is not there, or cannot be compared so. */
export function filterTest(kind: ResourceKind, filter: Filter): Test {
  const find = (path: string) => {
    const target = findTarget(kind, path)
    if (!target?.attribute) throw bad(`no attribute ${path.slice(0, 200)}`)
    return { target, attribute: target.attribute }
  }
  return compile(filter, {
    compared: (path) => {
      const { target, attribute } = find(path)
      // A complex attribute without a sub-attribute stands for its value (RFC 7644, 3.4.2.2).
      const sub = target.sub ?? subAttributes(attribute).get('value')
      return { attribute: sub ?? attribute, values: (value) => valuesAt(value, { ...target, sub }) }
    },
    elements: (path) => {
      const { target, attribute } = find(path)
      return { attribute, values: (value) => valuesAt(value, target) }
    },
  })
}

/** Of the elements of a multi-valued attribute. @throws ScimError `invalidFilter`. */
export function elementTest(attribute: Attribute, filter: Filter): Test {
  const parts: AttributeMap = subAttributes(attribute)
  return compile(filter, {
    compared: (path) => {
      const found = parts.get(path.toLowerCase())
      if (!found) throw bad(`no sub-attribute ${path.slice(0, 200)} of ${attribute.name}`)
      return { attribute: found, values: (value) => present(value[found.name]) }
    },
  })
}

const present = (value: Json | undefined): Json[] => (value === undefined || value === null ? [] : Array.isArray(value) ? value : [value])

function compile(filter: Filter, find: Finder): Test {
  switch (filter.op) {
    case 'and': {
      const tests = filter.parts.map((part) => compile(part, find))
      return (value) => tests.every((test) => test(value))
    }
    case 'or': {
      const tests = filter.parts.map((part) => compile(part, find))
      return (value) => tests.some((test) => test(value))
    }
    case 'not': {
      const test = compile(filter.part, find)
      return (value) => !test(value)
    }
    case 'some':
      return someElement(filter, find)
    case 'pr': {
      const { values } = find.compared(filter.path)
      return (value) => values(value).some((each) => each !== '')
    }
    default: {
      const { attribute, values } = find.compared(filter.path)
      return comparison(filter.op, filter.value, attribute, values)
    }
  }
}

function someElement({ path, part }: Extract<Filter, { op: 'some' }>, { elements }: Finder): Test {
  if (!elements) throw bad('brackets within brackets')
  const { attribute, values } = elements(path)
  if (attribute.type !== 'complex') throw bad(`${path.slice(0, 200)} has no elements to look among`)
  const test = elementTest(attribute, part)
  return (value) => values(value).some((each) => isObject(each) && test(each))
}

function comparison(op: Operator, wanted: FilterValue, attribute: Attribute, values: Compared['values']): Test {
  if (wanted === null) {
    if (op !== 'eq' && op !== 'ne') throw bad('null is compared by eq and ne alone')
    return (value) => (values(value).length === 0) === (op === 'eq')
  }
  if (attribute.type === 'boolean') {
    const flag = typeof wanted === 'string' ? wanted.toLowerCase() === 'true' : wanted
    if (typeof flag !== 'boolean' || (op !== 'eq' && op !== 'ne'))
      throw bad(`${attribute.name} is compared by eq and ne, with true or false`)
    return (value) => values(value).includes(flag) === (op === 'eq')
  }
  if (op === 'ne') {
    const same = comparison('eq', wanted, attribute, values)
    return (value) => !same(value)
  }
  const form = comparable(attribute)
  const text = form(String(wanted))
  const compare = COMPARE[op]
  return (value) => values(value).some((each) => typeof each !== 'object' && compare(form(String(each)), text))
}

function comparable({ type, caseExact }: Attribute): (text: string) => string {
  // Moments of one zone compare as texts.
  if (type === 'dateTime') return (text) => new Date(Date.parse(text) || 0).toISOString()
  return caseExact ? (text) => text : folded
}

const COMPARE: Readonly<Record<Exclude<Operator, 'ne'>, (value: string, wanted: string) => boolean>> = {
  eq: (value, wanted) => value === wanted,
  co: (value, wanted) => value.includes(wanted),
  sw: (value, wanted) => value.startsWith(wanted),
  ew: (value, wanted) => value.endsWith(wanted),
  gt: (value, wanted) => value > wanted,
  ge: (value, wanted) => value >= wanted,
  lt: (value, wanted) => value < wanted,
  le: (value, wanted) => value <= wanted,
}
