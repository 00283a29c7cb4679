/** The licences of the packages that a bundle holds. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//

/** @param inputs paths of all bundled sources, from the root. @throws where a package has neither a licence nor its name. */
export function collectLicences(root: string, inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))
  const entries = new Map([...folders].map((folder) => readLicence(join(root, folder))))
  const texts = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, text]) => `${'='.repeat(72)}\n${name}\n\n${text.trim()}\n`)
  return `headgate's single file holds these packages, each under its own licence.\n\n${texts.join('\n')}`
}

function readLicence(folder: string): [name: string, text: string] {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file) && !/\.(js|ts)$/.test(file))
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8'))
  if (texts.length === 0 && !license) throw new Error(`${folder}: no licence`)
  return [`${name} ${version} (${license})`, texts.length === 0 ? `Under ${license}; the package has no text of it.` : texts.join('\n\n')]
}
