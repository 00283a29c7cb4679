/** The page "Policy": the settings that are in force, and the check of another text, with the settings in which it differs. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { announce } from '../components/toast.tsx'
import { Badge, PageHead, Section } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { type Comparison, type Configuration, comparisonOf, isWhole } from './policy-changes.ts'
import { Editor, FileButton } from './policy-editor.tsx'
import { Checked, type CheckResult } from './policy-results.tsx'
import { nameOf, RunningEntries } from './policy-running.tsx'

export default function PolicyPage() {
  const running = useResource<{ data: Configuration }>((signal) => call('/v1/configuration', { signal }), [])
  const configuration = running.data?.data
  return (
    <>
      <PageHead title="Policy">
        The configuration that is in force, and what is wrong with another one. Nothing is applied from here: change the file, and the
        gateway reloads it.
      </PageHead>
      {configuration ? (
        <Workbench configuration={configuration} />
      ) : running.error ? (
        <ErrorNote error={running.error} onRetry={running.reload} />
      ) : (
        <Loading />
      )}
    </>
  )
}

interface TestFile {
  readonly name: string
  readonly text: string
}

function Workbench({ configuration }: { configuration: Configuration }) {
  const { file, files } = configuration
  const [text, setText] = useState('')
  const [tests, setTests] = useState<TestFile>()
  const [checked, setChecked] = useState<{ text: string; result: CheckResult }>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const check = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      const body = tests ? { text, tests: tests.text } : { text }
      const { data: result } = await call<{ data: CheckResult }>('/v1/configuration/check', { method: 'POST', body })
      setChecked({ text, result })
      announce(result.ok ? 'No problem found' : `Problems found: ${result.problems.length}`)
    } catch (thrown) {
      setError(thrown as Error)
    }
    setBusy(false)
  }
  const isStale = checked !== undefined && checked.text !== text
  return (
    <>
      <p class="policy-file">
        <Badge tone="accent">In force</Badge> <code>{file}</code>
        {files.length > 1 && <span class="quiet">with {files.filter((each) => each !== file).join(', ')}</span>}
      </p>
      <Section
        title="Check a text"
        actions={
          <button type="button" class="button primary" onClick={check} disabled={isBusy || text.trim() === ''}>
            {isBusy ? 'Checking…' : 'Check it'}
          </button>
        }
      >
        <Editor name={nameOf(file)} text={text} onText={setText} problems={isStale ? [] : (checked?.result.problems ?? [])} />
        <div class="actions">
          <FileButton label="Add policy tests" onOpen={(opened, name) => setTests({ name, text: opened })} />
          {tests && (
            <>
              <code>{tests.name}</code>
              <button type="button" class="button small" onClick={() => setTests(undefined)}>
                Leave them out
              </button>
            </>
          )}
        </div>
        {error && <ErrorNote error={error} />}
      </Section>
      {checked && (
        <Section title="Check">
          <Checked result={checked.result} isStale={isStale} />
        </Section>
      )}
      {text.trim() !== '' && (
        <Section title="What differs from the running file">
          <Difference text={text} configuration={configuration} />
        </Section>
      )}
      <Section title="Running settings">
        <RunningEntries configuration={configuration} />
      </Section>
    </>
  )
}

/** Milliseconds after the last key press: a long text is not read for each. */
const PAUSE = 250
/** Of another gateway's file all may differ. */
const MOST_ROWS = 200

function Difference({ text, configuration }: { text: string; configuration: Configuration }) {
  const [found, setFound] = useState<{ comparison: Comparison | undefined }>()
  const canCompare = isWhole(configuration)
  useEffect(() => {
    if (!canCompare) return
    const timer = setTimeout(() => setFound({ comparison: comparisonOf(text, configuration) }), PAUSE)
    return () => clearTimeout(timer)
  }, [text, configuration, canCompare])
  if (!canCompare) return <EmptyNote title="The running file has more settings than the gateway lists, so nothing is compared" />
  if (!found) return <Loading />
  if (!found.comparison) return <EmptyNote title="The text is no YAML, so nothing is compared" />
  const { changes, unseen } = found.comparison
  const nothing = <EmptyNote title={unseen === 0 ? 'Nothing' : 'Nothing that can be seen'} />
  return (
    <>
      <Table
        caption="Settings that differ"
        rows={changes.slice(0, MOST_ROWS)}
        rowKey={({ path }) => path}
        empty={nothing}
        columns={[
          { name: 'path', title: 'Setting', cell: ({ path }) => <code>{path}</code> },
          { name: 'was', title: 'Running', cell: ({ was }) => <Value text={was} /> },
          { name: 'now', title: 'In the text', cell: ({ now }) => <Value text={now} /> },
        ]}
      />
      <p class="quiet note-line">
        {changes.length > MOST_ROWS && `The first ${MOST_ROWS} of ${formatCount(changes.length)}. `}
        Values are compared as they are written, without comments, and without the catalogue files.
        {unseen > 0 && ` Not compared, since the gateway does not show them: ${formatCount(unseen)} (secrets and very long texts).`}
      </p>
    </>
  )
}

const Value = ({ text }: { text: string | undefined }) => (text === undefined ? <span class="quiet">not there</span> : <code>{text}</code>)
