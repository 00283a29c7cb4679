/** Conditions: expressions in CEL that are compiled when the configuration loads, and evaluated within a bounded time. */
import { plainNames, registerBounded, useBounded } from './bounded-functions.ts'
import { FUNCTIONS, mostSteps, NotAllowed } from './cost.ts'
import { type Facts, GROUP_CLASSES } from './facts.ts'
import { type CelEnvironment, type CelNode, type CelProblem, celLibrary, isNode } from './library.ts'
import { isGroup, STAGES, type Stage, VARIABLE_LIST, variableNamed } from './variables.ts'

/** Characters of an expression. */
export const MAX_EXPRESSION = 4_096
const MAX_NODES = 500
const MAX_DEPTH = 32
/** Steps of one evaluation, of about 0.1 µs each: 10 ms (test/config/conditions/hostile.test.ts). */
export const MAX_STEPS = 100_000
/** The same where it reads an endpoint: it is evaluated for each that may serve. */
const MAX_ENDPOINT_STEPS = 2_000

/** Why a condition could not be evaluated, in one word: no value of the request stands in it. */
export interface Failure {
  readonly reason: string
}

export interface Condition {
  readonly text: string
  /** The point of a request's way at which all of its variables are known. */
  readonly stage: Stage
  /** Steps that one evaluation takes at the most. */
  readonly steps: number
  /** Names of the claims that it reads. */
  readonly claims: readonly string[]
  /** True where it holds. A condition that throws, or whose value is neither true nor false, has failed. */
  test(facts: Facts): boolean | Failure
}

/** Fault of an expression. */
export interface ConditionProblem {
  readonly message: string
  /** Characters before the place. */
  readonly offset: number
  /** The word that is not known there, and those that are. */
  readonly word?: string
  readonly known?: readonly string[]
}

export function isProblem(compiled: Condition | ConditionProblem): compiled is ConditionProblem {
  return 'message' in compiled
}

export function compileCondition(text: string): Condition | ConditionProblem {
  if (text.length > MAX_EXPRESSION) return { message: `expected at most ${MAX_EXPRESSION} characters`, offset: MAX_EXPRESSION }
  try {
    return compile(text)
  } catch (thrown) {
    if (thrown instanceof NotAllowed) return { message: thrown.message, offset: thrown.offset }
    return describe(thrown as CelProblem, text)
  }
}

let environment: CelEnvironment | undefined

function celEnvironment(): CelEnvironment {
  if (environment) return environment
  const { Environment } = celLibrary()
  const made = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: MAX_NODES, maxDepth: MAX_DEPTH, maxListElements: 256, maxMapEntries: 64, maxCallArguments: 4 },
  })
  for (const [name, variable] of VARIABLE_LIST) {
    if (!isGroup(variable)) made.registerVariable(name, variable.type)
    else {
      const fields = Object.fromEntries(Object.entries(variable.fields).map(([field, { type }]) => [field, type]))
      made.registerType(
        `${name} of conditions`.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase()),
        {
          ctor: GROUP_CLASSES.get(name) as never,
          fields,
        },
      )
      made.registerVariable(name, groupType(name))
    }
  }
  registerBounded(made)
  environment = made
  return made
}

const groupType = (name: string): string => `${name}OfConditions`

function compile(text: string): Condition | ConditionProblem {
  const parsed = celEnvironment().parse(text)
  const expression = parsed.ast as unknown as CelNode
  const read = new Reading()
  read.expression(expression, [])
  const found = mostSteps(expression)
  useBounded(expression)
  const checked = parsed.check()
  if (!checked.valid) throw checked.error
  if (checked.type !== 'bool' && checked.type !== 'dyn')
    return { message: `expected a condition, true or false; this is of the type ${checked.type}`, offset: 0 }
  const stage = read.stage()
  if (typeof stage !== 'string') return stage
  const most = stage === 'endpoint' ? MAX_ENDPOINT_STEPS : MAX_STEPS
  const steps = Math.ceil(found)
  if (steps > most)
    return {
      message: `may take ${steps.toLocaleString('en')} steps${stage === 'endpoint' ? ' for each endpoint' : ''} of the largest request, expected at most ${most.toLocaleString('en')}: compare with a list of your own by \`in\` instead of one loop in another, or take a shorter pattern`,
      offset: 0,
    }
  return {
    text,
    stage,
    steps,
    claims: [...read.claims],
    test(facts) {
      try {
        const value: unknown = parsed(facts as never)
        return typeof value === 'boolean' ? value : { reason: 'not_bool' }
      } catch (thrown) {
        return { reason: failureReason(thrown) }
      }
    },
  }
}

/** The library's own word for the failure; its message may hold a key of the request. */
function failureReason(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : 'error'
}

/** Facts of a parsed expression: the variables and claims that it reads. */
class Reading {
  /** By variable, the place where it first stands. */
  private readonly variables = new Map<string, number>()
  readonly claims = new Set<string>()

  /** @param own names of loops around it. */
  expression(node: CelNode, own: readonly string[]): void {
    const { op, args, start } = node
    if (op === 'id') this.variable(String(args), start, own)
    if ((op === '.' || op === '[]') && Array.isArray(args) && isClaims(args[0], own)) {
      const name = op === '.' ? args[1] : isNode(args[1]) && args[1].op === 'value' ? args[1].args : undefined
      if (typeof name !== 'string') throw new NotAllowed('expected the name of a claim in quotes', start)
      this.claims.add(name)
      this.variable('claims', start, own)
      return
    }
    if (op === 'in' && Array.isArray(args) && isClaims(args[1], own) && isNode(args[0]) && typeof args[0].args === 'string') {
      this.claims.add(args[0].args)
      this.variable('claims', start, own)
      return
    }
    if (isClaims(node, own)) throw new NotAllowed('expected a claim by its name, such as claims.groups', start)
    const loop = op === 'rcall' && Array.isArray(args) && Array.isArray(args[2]) ? args[2] : []
    const [first] = loop
    const isLoop = loop.length > 1 && isNode(first) && first.op === 'id' && LOOP_NAMES.test(String((args as unknown[])[0]))
    const within = isLoop ? [...own, String(first.args)] : own
    for (const child of children(args)) this.expression(child, within)
  }

  /** The latest stage of its variables, or the problem that no stage has all of them. */
  stage(): Stage | ConditionProblem {
    const late = new Map<Stage, { name: string; offset: number }>()
    for (const [name, offset] of this.variables) {
      const found = variableNamed(name)?.stage
      if (found && found !== 'request' && !late.has(found)) late.set(found, { name, offset })
    }
    const [first, second] = [...late]
    if (first && second) {
      const [, { name }] = first
      const [, { name: other, offset }] = second
      return { message: `${name} and ${other} are known at different times, expected two policies`, offset }
    }
    return first?.[0] ?? (STAGES[0] as Stage)
  }

  private variable(name: string, start: number, own: readonly string[]): void {
    if (!own.includes(name) && !this.variables.has(name)) this.variables.set(name, start)
  }
}

const LOOP_NAMES = /^(?:all|exists|exists_one|filter|map)$/

const isClaims = (node: unknown, own: readonly string[]): boolean =>
  isNode(node) && node.op === 'id' && node.args === 'claims' && !own.includes('claims')

function* children(args: unknown): Generator<CelNode> {
  if (isNode(args)) yield args
  else if (Array.isArray(args)) for (const each of args) yield* children(each)
}

/** Remedies by the library's own codes. */
function describe({ code, summary = 'cannot be read', range, node }: CelProblem, text: string): ConditionProblem {
  const offset = range?.start ?? 0
  const [, word = ''] = /: (\w+)$/.exec(summary) ?? []
  if (code === 'unknown_variable') return { message: `no such variable ${word}`, offset, word, known: VARIABLE_LIST.map(([name]) => name) }
  if (code === 'no_such_key') {
    const [whole] = Array.isArray(node?.args) ? (node.args as unknown[]) : []
    const name = isNode(whole) && whole.op === 'id' ? String(whole.args) : ''
    const group = variableNamed(name)
    const known = group && isGroup(group) ? Object.keys(group.fields) : []
    return { message: `${name || 'this value'} has no field ${word}`, offset, word, known }
  }
  const [, called = ''] = /'(?:.*\.)?(\w+)\(/.exec(plainNames(summary)) ?? []
  if (code === 'no_matching_overload') {
    const shown = plainNames(summary).replace(/^found no matching overload for/, 'no function has these types:')
    return (FUNCTIONS as readonly string[]).includes(called)
      ? { message: shown, offset }
      : { message: `no such function ${called}`, offset, word: called, known: FUNCTIONS }
  }
  if (code === 'no_such_overload') {
    const isMixed = /double (==|!=) int|int (==|!=) double/.test(summary)
    const remedy = isMixed ? 'write the number with a decimal point' : 'expected two values of one type'
    return { message: `${summary.replace('no such overload:', 'cannot compute')}, ${remedy}`, offset }
  }
  if (code === 'limit_exceeded') return { message: `is too large: ${summary}, expected a shorter one`, offset }
  return { message: `${summary}${offset >= text.length ? ' (at its end)' : ''}, expected an expression in CEL`, offset }
}
