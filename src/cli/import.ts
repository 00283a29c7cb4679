/** `headgate import FILE`: translates a configuration of another gateway, and lists the values that do not carry over. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parse as parseToml } from 'smol-toml'
import { parse as parseYaml } from 'yaml'
import { isObject, type JsonObject } from '../core/json.ts'
import { plural } from './console.ts'
import { ConfigDraft } from './other-gateways/config-draft.ts'
import { OTHER_GATEWAYS } from './other-gateways/gateways.ts'
import type { OtherGateway } from './other-gateways/other-gateway.ts'
import { type Fate, SourceFile } from './other-gateways/source-file.ts'

export interface ImportFlags {
  from?: string
  output?: string
  force?: boolean
  json?: boolean
}

export interface Imported {
  readonly gateway: OtherGateway
  readonly yaml: string
  /** One for each value of the file. */
  readonly fates: readonly Fate[]
  /** Variables that have to be set, by name, with their meaning. */
  readonly variables: ReadonlyMap<string, string>
  /** Effects that no single value of the file shows. */
  readonly remarks: readonly string[]
  /** Name of a key that may call models. */
  readonly caller: string | undefined
}

/** @returns the exit code: 2 where nothing was read or written. */
export function importFile([file = '']: readonly string[], flags: ImportFlags): number {
  try {
    if (flags.output !== undefined && existsSync(flags.output) && flags.force !== true)
      throw new Error(`${flags.output} is there already: --force replaces it`)
    const imported = importText(file, readFileSync(file, 'utf8'), flags.from)
    if (flags.output === undefined) process.stdout.write(imported.yaml)
    else writeFileSync(flags.output, imported.yaml)
    process.stderr.write(
      flags.json === true ? `${JSON.stringify(importReport(imported), null, 2)}\n` : reportText(file, imported, flags.output),
    )
    return 0
  } catch (error) {
    process.stderr.write(`headgate: ${error instanceof Error ? error.message : String(error)}\n`)
    return 2
  }
}

/** @param from name of the gateway; absent where its file is to be recognised. @throws Error that says what was expected. */
export function importText(file: string, text: string, from?: string): Imported {
  const value = parsed(file, text)
  const names = OTHER_GATEWAYS.map(({ name }) => name).join(', ')
  const gateway = OTHER_GATEWAYS.find((each) => (from === undefined ? each.recognises(value) : each.name === from))
  if (gateway === undefined)
    throw new Error(
      from === undefined
        ? `${file}: of no gateway that is known: --from names it, one of ${names}`
        : `--from: expected one of ${names}, found ${from}`,
    )
  const source = new SourceFile(value)
  const draft = new ConfigDraft()
  gateway.read(source, draft)
  if (!draft.hasCallers())
    draft.key({ name: 'app', key: draft.variable('HEADGATE_APP_KEY', 'Key for callers, such as sk-app- and 32 random digits') })
  const fates = source.fates()
  const left = fates.filter(({ fate }) => fate === 'left').length
  const head = [`From a configuration of ${gateway.title}, by headgate import. ${plural(left, 'value')} of it did not carry over.`]
  return { gateway, yaml: draft.yaml(head), fates, variables: draft.variables, remarks: draft.remarks(), caller: draft.caller() }
}

function parsed(file: string, text: string): JsonObject {
  let value: unknown
  try {
    // JSON is YAML.
    value = file.endsWith('.toml') ? parseToml(text) : parseYaml(text)
  } catch (error) {
    // The parser's own message shows lines of the file, which may hold secrets.
    const { line } = error as { line?: number }
    throw new Error(`${file}: no ${file.endsWith('.toml') ? 'TOML' : 'YAML or JSON'}${line === undefined ? '' : ` at line ${line}`}`, {
      cause: error,
    })
  }
  if (!isObject(value)) throw new Error(`${file}: expected an object`)
  return value
}

function importReport({ gateway, fates, variables, remarks, caller }: Imported) {
  return { from: gateway.name, variables: Object.fromEntries(variables), values: fates, remarks, caller: caller ?? null }
}

function reportText(file: string, { gateway, fates, variables, remarks, caller }: Imported, output = 'FILE'): string {
  const of = (wanted: Fate['fate']): Fate[] => fates.filter(({ fate }) => fate === wanted)
  const [carried, replaced, left] = [of('carried'), of('replaced'), of('left')]
  const lines = (list: readonly Fate[]): string[] => list.map(({ path, note }) => `  ${path}${note === undefined ? '' : `: ${note}`}`)
  return [
    `${file}: ${gateway.title}. ${carried.length} of ${plural(fates.length, 'value')} carried, ${replaced.length} replaced, ${left.length} left.`,
    ...(replaced.length > 0 ? ['Replaced:', ...lines(replaced)] : []),
    ...(left.length > 0 ? ['Left, with what would do it here:', ...lines(left)] : []),
    ...(remarks.length > 0 ? ['Look at:', ...remarks.map((remark) => `  ${remark}`)] : []),
    ...(variables.size > 0
      ? ['Set these variables:', ...[...variables].map(([name, what]) => `  ${name}${what === '' ? '' : `: ${what}`}`)]
      : []),
    `Then: headgate check ${output}`,
    ...(caller === undefined ? [] : [`and: headgate plan ${output} REQUEST.json --key ${caller}`]),
    '',
  ].join('\n')
}
