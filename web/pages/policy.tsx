/** The page "Policy": the running configuration, a text that is checked and tried out in its place, and what differs. */
import { useState } from 'preact/hooks'
import { ApiError, call } from '../api.ts'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { announce } from '../components/toast.tsx'
import { Badge, PageHead, Section, Time } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { type DiffLine, diffOf, shortened } from './policy-diff.ts'
import { Editor } from './policy-editor.tsx'
import { Checked, type CheckResult, type RehearsalResult, Rehearsed } from './policy-results.tsx'

interface Configuration {
  readonly file: string
  /** With the catalogues that it names. */
  readonly files: readonly string[]
  readonly text: string
  readonly loaded_at: string
}

export default function PolicyPage() {
  const running = useResource<{ data: Configuration }>((signal) => call('/v1/configuration', { signal }), [])
  const configuration = running.data?.data
  const isMissing = running.error instanceof ApiError && running.error.status === 404
  return (
    <>
      <PageHead title="Policy">
        The configuration that is in force, and what another one would do. Nothing is applied from here: change the file, and the gateway
        reloads it.
      </PageHead>
      {configuration ? (
        <Workbench configuration={configuration} />
      ) : isMissing ? (
        <EmptyNote title="This gateway does not show its configuration over the API">
          <code>headgate check FILE</code> checks a file, <code>headgate test FOLDER</code> runs policy tests.
        </EmptyNote>
      ) : running.error ? (
        <ErrorNote error={running.error} onRetry={running.reload} />
      ) : (
        <Loading />
      )}
    </>
  )
}

function Workbench({ configuration: { file, files, text: before, loaded_at: loadedAt } }: { configuration: Configuration }) {
  const [text, setText] = useState(before)
  const [checked, setChecked] = useState<{ text: string; result: CheckResult }>()
  const [rehearsed, setRehearsed] = useState<{ text: string; result: RehearsalResult }>()
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState<'check' | 'rehearse'>()
  const run = async <T,>(verb: 'check' | 'rehearse', take: (result: T) => string): Promise<void> => {
    setBusy(verb)
    setError(undefined)
    try {
      announce(take((await call<{ data: T }>(`/v1/configuration/${verb}`, { method: 'POST', body: { text } })).data))
    } catch (thrown) {
      setError(thrown as Error)
    }
    setBusy(undefined)
  }
  const check = (): Promise<void> =>
    run<CheckResult>('check', (result) => {
      setChecked({ text, result })
      return result.problems.length === 0 ? 'No problem found' : `${result.problems.length} problems`
    })
  const rehearse = (): Promise<void> =>
    run<RehearsalResult>('rehearse', (result) => {
      setRehearsed({ text, result })
      return `${result.changed.length} of ${result.count} requests would go otherwise`
    })
  const isStale = (of: { text: string } | undefined): boolean => of !== undefined && of.text !== text
  return (
    <>
      <p class="policy-file">
        <Badge tone="accent">In force</Badge> <code>{file}</code>
        <span class="quiet">
          since <Time iso={loadedAt} />
          {files.length > 1 && `, with ${files.filter((each) => each !== file).join(', ')}`}
        </span>
      </p>
      <Section
        title="Text"
        actions={
          <>
            <button type="button" class="button primary" onClick={check} disabled={busy !== undefined}>
              {busy === 'check' ? 'Checking…' : 'Check it'}
            </button>
            <button type="button" class="button" onClick={rehearse} disabled={busy !== undefined}>
              {busy === 'rehearse' ? 'Trying…' : 'Try recorded requests'}
            </button>
          </>
        }
      >
        <Editor
          file={file}
          text={text}
          before={before}
          onText={setText}
          problems={isStale(checked) ? [] : (checked?.result.problems ?? [])}
        />
        {error && <ErrorNote error={error} />}
      </Section>
      {checked && (
        <Section title="Check">
          <Checked file={file} result={checked.result} isStale={isStale(checked)} />
        </Section>
      )}
      {rehearsed && (
        <Section title="Recorded requests under this text">
          <Rehearsed result={rehearsed.result} isStale={isStale(rehearsed)} />
        </Section>
      )}
      <Section title="What differs from the running text">
        <Difference before={before} after={text} />
      </Section>
    </>
  )
}

const SIGNS = { same: ' ', old: '−', new: '+' } as const
const WORDS = { same: '', old: 'removed: ', new: 'added: ' } as const

function Difference({ before, after }: { before: string; after: string }) {
  if (before === after) return <EmptyNote title="Nothing: it is the running text" />
  const lines = diffOf(before, after)
  const count = (kind: DiffLine['kind']): string => formatCount(lines.filter((line) => line.kind === kind).length)
  return (
    <>
      <p class="quiet">
        {count('new')} lines added, {count('old')} removed.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
      <section class="diff" tabIndex={0} aria-label="Lines that differ">
        {shortened(lines).map((line, at) =>
          line === null ? (
            <div key={`${at} left out`} class="diff-gap">
              …
            </div>
          ) : (
            <div key={`${line.old} ${line.new}`} class={`diff-line ${line.kind}`}>
              <span class="diff-number" aria-hidden="true">
                {line.old ?? ''}
              </span>
              <span class="diff-number" aria-hidden="true">
                {line.new ?? ''}
              </span>
              <span aria-hidden="true">{SIGNS[line.kind]}</span>
              <code>
                <span class="hidden">{WORDS[line.kind]}</span>
                {line.text}
              </code>
            </div>
          ),
        )}
      </section>
    </>
  )
}
