/** Differences of the text from the running file, line by line, as the check of it says; what is the same is folded. */
import type { ConfigurationCheckReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { formatCount } from '../format.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

/** Null where the text is no YAML. */
type TextDifference = ConfigurationCheckReply['data']['difference']
type Kind = NonNullable<TextDifference>['lines'][number]['kind']

/** Mark before a line, and its word for a screen reader. */
const KINDS: Meanings<Kind, readonly [mark: string, name: string]> = {
  same: [' ', ''],
  removed: ['−', 'removed: '],
  added: ['+', 'added: '],
  folded: ['', ''],
}

const shownKind = (kind: Kind): readonly [mark: string, name: string] => wordMeaning(KINDS, kind) ?? ['?', `${plainWord(kind)}: `]

export function Difference({ difference }: { difference: TextDifference }) {
  if (!difference) return <EmptyNote title="The text is no YAML, so nothing is compared" />
  const { added, removed, lines, left_out: more } = difference
  if (added + removed === 0) return <EmptyNote title="Nothing differs that can be seen" />
  return (
    <>
      <p>
        Lines added: {formatCount(added)}, removed: {formatCount(removed)}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
      <section class="difference-lines" tabIndex={0} aria-label="Lines that differ">
        <table>
          <caption class="hidden">Lines that differ</caption>
          <thead class="hidden">
            <tr>
              <th scope="col">Line of the running file</th>
              <th scope="col">Line of the text</th>
              <th scope="col">What it says</th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ kind, was, now, text, count }, at) => (
              <tr key={at} class={kind}>
                {kind === 'folded' ? (
                  <td colSpan={3}>{count === 1 ? 'One line' : `${formatCount(count)} lines`} without a change</td>
                ) : (
                  <>
                    <td class="line-number">{was}</td>
                    <td class="line-number">{now}</td>
                    <td>
                      <span aria-hidden="true">{shownKind(kind)[0]} </span>
                      <span class={wordMeaning(KINDS, kind) ? 'hidden' : undefined}>{shownKind(kind)[1]}</span>
                      {text}
                    </td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="quiet note-line">
        {more > 0 && `${formatCount(more)} lines more are not shown. `}
        Both are compared in one form of YAML: without comments, without the catalogue files, and with secrets hidden, so that a secret that
        has changed is not seen.
      </p>
    </>
  )
}
