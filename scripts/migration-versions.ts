/** Comparisons of the migration pages, from the readers of other gateways' files: which releases, read when. */
import { OTHER_GATEWAYS } from '../src/cli/other-gateways/gateways.ts'
import type { Compared } from '../src/cli/other-gateways/other-gateway.ts'
import { markdownTable } from './markdown-table.ts'

const versionText = ({ release, documents, read }: Compared): string =>
  `${release === undefined ? '' : `${release} and `}[its documentation](${documents}) of ${read}`

/** @param name of the gateway that the page is about. */
export function comparedMarkdown(name: string): string {
  const gateway = OTHER_GATEWAYS.find((each) => each.name === name)
  if (!gateway) throw new Error(`${name}: no such gateway`)
  return `Compared with ${versionText(gateway.compared)}.`
}

/** A row for each gateway whose files can be imported. */
export function importsMarkdown(): string {
  return markdownTable(
    ['Gateway', 'Compared with'],
    OTHER_GATEWAYS.map(({ title, compared }) => [title, versionText(compared)]),
  )
}
