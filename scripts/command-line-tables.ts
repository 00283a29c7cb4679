/** The table of verbs in docs/command-line.md, from the verbs themselves. */
import type { Command } from 'commander'
import { commandLine } from '../src/cli/main.ts'
import { Verb } from '../src/cli/verbs/verb.ts'
import { markdownTable } from './markdown-table.ts'

/** A table for each group of the first page of help. */
export function verbsMarkdown(): string {
  const groups = Map.groupBy(ofHelp(commandLine()), (verb) => verb.helpGroup())
  return [...groups].map(([heading, verbs]) => `### ${heading.replace(/:$/, '')}\n\n${tableOf(verbs)}`).join('\n\n')
}

function tableOf(verbs: readonly Verb[]): string {
  const rows = verbs.flatMap((verb) => {
    const below = ofHelp(verb).map((each) => [`\`${verb.name()} ${usageOf(each)}\``, each.summary(), pageOf(each)])
    return below.length > 0 ? below : [[`\`${usageOf(verb)}\``, verb.summary(), pageOf(verb)]]
  })
  return markdownTable(['Verb', 'What it does', 'Page'], rows)
}

const ofHelp = (command: Command): Verb[] =>
  command.commands.filter((verb): verb is Verb => verb instanceof Verb && verb.facts !== undefined)

const usageOf = (verb: Verb): string =>
  [verb.name(), ...verb.registeredArguments.map((word) => (word.required ? word.name() : `[${word.name()}]`))].join(' ')

function pageOf({ facts }: Verb): string {
  const page = facts?.page.replace('docs/', '') ?? ''
  return `[${page}](${page})`
}
