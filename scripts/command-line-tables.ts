/** The table of verbs in docs/command-line.md, from the verbs themselves. */
import type { Command } from 'commander'
import { commandLine } from '../src/cli/main.ts'
import { Verb } from '../src/cli/verbs/verb.ts'
import { markdownTable } from './markdown-table.ts'

/** A table for each group of the first page of help. */
export function verbsMarkdown(): string {
  const groups = Map.groupBy(ofHelp(commandLine()), (verb) => verb.helpGroup())
  return [...groups].map(([heading, verbs]) => `### ${heading.replace(/:$/, '')}\n\n${verbTable(verbs)}`).join('\n\n')
}

function verbTable(verbs: readonly Verb[]): string {
  const rows = verbs.flatMap((verb) => {
    const below = ofHelp(verb).map((each) => [`\`${verb.name()} ${verbUsage(each)}\``, each.summary(), verbPage(each)])
    return below.length > 0 ? below : [[`\`${verbUsage(verb)}\``, verb.summary(), verbPage(verb)]]
  })
  return markdownTable(['Verb', 'What it does', 'Page'], rows)
}

const ofHelp = (command: Command): Verb[] =>
  command.commands.filter((verb): verb is Verb => verb instanceof Verb && verb.facts !== undefined)

const verbUsage = (verb: Verb): string =>
  [verb.name(), ...verb.registeredArguments.map((word) => (word.required ? word.name() : `[${word.name()}]`))].join(' ')

function verbPage({ facts }: Verb): string {
  const page = facts?.page.replace('docs/', '') ?? ''
  return `[${page}](${page})`
}
