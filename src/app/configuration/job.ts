/** Messages between the gateway and the thread that looks at submitted configurations: plain data. */

import type { RehearsalAsk } from '../../api/configuration.ts'
import type { LineDifference } from '../../config/line-difference.ts'
import type { Problem } from '../../config/problems.ts'
import type { Listing } from '../../routing/catalog/discovery.ts'
import type { GuardrailSnapshot } from '../../store/guardrails.ts'

export interface SubmittedText {
  /** Path that the running configuration has: relative names of the text count from there. */
  file: string
  text: string
  /** Names of the variables that are set. Their values are not handed over. */
  variables: readonly string[]
  /** Catalogue files that the running configuration has read, as absolute paths: no other is read. */
  catalogs: readonly string[]
}

/** A place whose value was not looked at: a variable, a secret, a catalogue file or a plugin. */
export interface Unchecked {
  line: number
  column: number
  path: string
  what: string
}

/** Has the thread load the program. */
export interface LoadJob {
  kind: 'load'
}

export interface CheckJob {
  kind: 'check'
  submitted: SubmittedText
  /** Text of the file that runs now. */
  running: string
  /** Text of a file of policy tests. */
  tests?: string | undefined
}

export interface RehearseJob {
  kind: 'rehearse'
  submitted: SubmittedText
  /** Text of the file that runs now. */
  running: string
  plannedRequests: readonly RehearsalAsk[]
  /** Milliseconds after which no further request is planned: what is there then is the answer. */
  planning: number
  /** Those of the store, which no file changes. */
  guardrails: GuardrailSnapshot
  /** Lists of providers with `discover` now, by slug. */
  listings: ReadonlyMap<string, Listing>
}

export interface TextProblem {
  line: number
  column: number
  path: string
  message: string
}

export interface TestResult {
  name: string
  passed: boolean
  differences: string[]
}

export interface CheckResult {
  /** From the running text; null where this one is no YAML. */
  difference: LineDifference | null
  problems: TextProblem[]
  unchecked: Unchecked[]
  counts: { providers: number; models: number; keys: number } | null
  /** Settings that differ from those that run and that a reload cannot change. */
  needsRestart: string[]
  tests: TestResult[]
  testProblems: TextProblem[]
}

export const withoutFile = ({ line, column, path, message }: Problem): TextProblem => ({ line, column, path, message })
