/** What crosses between the gateway and the thread that looks at submitted configurations: plain data. */

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

export interface CheckJob {
  submitted: SubmittedText
  /** Text of the file that runs now. */
  running: string
  /** Text of a file of policy tests. */
  tests?: string | undefined
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
  problems: TextProblem[]
  unchecked: Unchecked[]
  counts: { providers: number; models: number; keys: number } | null
  /** Settings that differ from those that run and that a reload cannot change. */
  needsRestart: string[]
  tests: TestResult[]
  testProblems: TextProblem[]
}
