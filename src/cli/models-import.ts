/** `headgate models import`: what a public price list knows better than the configuration, and a catalogue file with it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { parse } from 'yaml'
import type { Config } from '../config/config.ts'
import { loadCatalogFile } from '../config/load.ts'
import { catalogText, FIRST_LINE } from './price-lists/catalog-text.ts'
import { type ImportPlan, planImport } from './price-lists/import-plan.ts'
import { importJson, importText } from './price-lists/import-text.ts'
import { readPriceList } from './price-lists/read.ts'

export interface ImportFlags {
  readonly from: string
  readonly json: boolean
  readonly providers?: readonly string[] | undefined
  readonly match?: string | undefined
  readonly write?: string | undefined
}

/** @param config with every entry of the file. @returns what to print. @throws Error with a sentence. */
export function importModels(config: Config, { from, json, providers, match, write }: ImportFlags): string {
  const today = new Date().toISOString().slice(0, 10)
  const list = readPriceList(from, today)
  const written = write === undefined ? {} : earlier(write)
  const plan = planImport(list, {
    config: { providers: config.providers, models: { ...config.models, ...written } },
    today,
    ...(providers === undefined ? {} : { providers }),
    ...(match === undefined ? {} : { match }),
  })
  const hasChanges = plan.added.length + plan.changed.length > 0
  if (write !== undefined && hasChanges) {
    const head = `from ${list.title}, imported on ${today}. Prices in USD per million tokens`
    replace(write, catalogText(head, { ...written, ...plan.models }))
  }
  const note = importNote(config, plan, { write, hasChanges })
  return json ? importJson(from, list, { plan, written: hasChanges ? write : undefined }) : `${importText(from, list, plan)}\n\n${note}`
}

/** Text that an earlier import has written into the file. Files of other origin hold comments and anchors that would be lost. */
function earlier(file: string): Config['models'] {
  if (!existsSync(file)) return {}
  if (!readFileSync(file, 'utf8').startsWith(FIRST_LINE))
    throw new Error(`${file} was not written by this command, which would lose its comments: name a new file`)
  return loadCatalogFile(file, {})
}

/** In one step: a gateway that watches the file never reads half of it. */
function replace(file: string, text: string): void {
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, text, { flag: 'wx' })
  renameSync(draft, file)
}

function importNote(
  config: Config,
  { models }: ImportPlan,
  { write, hasChanges }: { write: string | undefined; hasChanges: boolean },
): string {
  if (!hasChanges) return write === undefined ? 'Nothing would be written.' : 'No file is written.'
  const count = Object.keys(models).length
  const what = `${count} model${count === 1 ? '' : 's'}`
  const own = parse(readFileSync(config.file, 'utf8'), { maxAliasCount: 10_000 }) as { models?: object; catalog?: readonly string[] } | null
  const kept = Object.keys(models).filter((slug) => Object.hasOwn(own?.models ?? {}, slug))
  const precedence =
    kept.length === 0
      ? ''
      : `\nModels under \`models\` of ${config.file} take precedence, so change these there: ${kept.slice(0, 20).join(', ')}.`
  if (write === undefined) return `Nothing is written. With --write FILE, ${what} would be written into a catalogue file.${precedence}`
  const isNamed = config.files.some((file) => resolve(file) === resolve(write))
  const next = isNamed
    ? ''
    : ` Name it as the last file under \`catalog\` of ${config.file}: ${relative(resolve(config.file, '..'), resolve(write))}.`
  return `Written: ${what} into ${write}.${next}${precedence}`
}
