/** Problems of a file, with positions. */

export interface Problem {
  file: string
  /** From 1. */
  line: number
  column: number
  /** Place in the data, such as `providers.local.base_url`; empty for the syntax of the file. */
  path: string
  /** Problem, and the expectation. */
  message: string
}

/** Longest list of problems that one load reports: no file written by hand has more. */
export const MAX_PROBLEMS = 100

/** `file:line:column: what, and what was expected`. */
export function problemText(problem: Problem): string {
  const where = problem.path === '' ? '' : `${problem.path}: `
  return `${problem.file}:${problem.line}:${problem.column}: ${where}${problem.message}`
}

export class ConfigError extends Error {
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    super(problems.map(problemText).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export type Path = readonly (string | number)[]

/** A path as people write it: `models["openai/gpt-5"].endpoints[0].price`. */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[\w-]+$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step)}]`
  }
  return text
}
