/** The secrets that a configuration refers to, such as `${vault:secret/data/app#key}`. */
import { dirname, resolve } from 'node:path'
import { type Environment, SECRET_SCHEMES } from './expand.ts'
import { ConfigError } from './problems.ts'
import { Source } from './source.ts'

const MAY_REFER = new RegExp(`\\$\\{(?:${SECRET_SCHEMES.join('|')}):`)
const FILE = 'file:'

export class SecretReferences {
  /** Each once, without the braces. */
  readonly all: readonly string[]
  private readonly source: Source

  /** @param env the variables, without any secrets: none counts as read. */
  constructor(path: string, text: string, env: Environment) {
    this.source = new Source(path, MAY_REFER.test(text) ? text : '{}', env)
    this.all = [...this.source.references.keys()]
  }

  /** @param failed why each of these references cannot be read. @throws ConfigError with their places. */
  refuse(failed: ReadonlyMap<string, string>): never {
    const { source } = this
    const before = source.problems.length
    for (const [reference, why] of failed)
      source.report(source.references.get(reference) ?? [], `the secret ${reference} cannot be read: ${why}`)
    throw new ConfigError(source.problems.slice(before))
  }
}

/** Absolute paths of the files that are secrets. @param path of the configuration, which theirs are relative to. */
export function secretFiles(references: Iterable<string>, path: string): string[] {
  const names = [...references].filter((reference) => reference.startsWith(FILE)).map((reference) => reference.slice(FILE.length))
  return names.map((name) => resolve(dirname(path), name))
}
