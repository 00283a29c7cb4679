/** Differences of two configurations by the names of their sections, without any value. */
import { hash } from 'node:crypto'
import { parseDocument } from 'yaml'
import type { WrittenText } from './config.ts'

/** SHA-256 of the texts of a configuration, hex: of the file and of the catalogue files that it names. */
export function textsDigest(texts: readonly WrittenText[]): string {
  return hash('sha256', JSON.stringify(texts.map(({ file, text }) => [file, text])))
}

/** Names of the sections of the file that differ, and of other files whose text does. */
export function changedSections([first, ...others]: readonly WrittenText[], [former, ...formers]: readonly WrittenText[]): string[] {
  const [now, before] = [sections(first), sections(former)]
  const named = [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name))
  const texts = new Map(formers.map(({ file, text }) => [file, text]))
  const files = others.filter(({ file, text }) => texts.get(file) !== text).map(({ file }) => file)
  const gone = formers.filter(({ file }) => !others.some((other) => other.file === file)).map(({ file }) => file)
  return [...named, ...files, ...gone]
}

function sections(written: WrittenText | undefined): ReadonlyMap<string, string> {
  // It was read before, so that mistakes are none of this; a document never throws.
  const value: unknown = parseDocument(written?.text ?? '').toJS({ maxAliasCount: 10_000 })
  if (typeof value !== 'object' || value === null) return new Map()
  return new Map(Object.entries(value).map(([name, section]) => [name, JSON.stringify(section) ?? '']))
}
