/** The page "Policy": the settings that are in force, the check of another text with the lines in which it differs, and its rehearsal. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { ConfigurationCheckReply, ConfigurationReply } from '../api-types.ts'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { announce } from '../components/toast.tsx'
import { Badge, PageHead, Section } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { Difference } from './policy-difference.tsx'
import { Editor, FileButton } from './policy-editor.tsx'
import { RehearsalPart } from './policy-rehearsal.tsx'
import { Checked, type CheckResult } from './policy-results.tsx'
import { type Configuration, fileName, RunningEntries } from './policy-running.tsx'

export default function PolicyPage() {
  const running = useResource<ConfigurationReply>((signal) => call('/v1/configuration', { signal }), [])
  const configuration = running.data?.data
  return (
    <>
      <PageHead title="Policy">
        The configuration that is in force, and what another one would change. Nothing is applied from here: copy or save the text, change
        the file, and the gateway reloads it.
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
  const control = useControl('POST /v1/configuration/check', isBusy || text.trim() === '')
  const check = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      const body = tests ? { text, tests: tests.text } : { text }
      const { data: result } = await call<ConfigurationCheckReply>('/v1/configuration/check', { method: 'POST', body })
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
          <button type="button" class="button primary" onClick={check} {...control}>
            {isBusy ? 'Checking…' : 'Check it'}
          </button>
        }
      >
        <Editor name={fileName(file)} text={text} onText={setText} problems={isStale ? [] : (checked?.result.problems ?? [])} />
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
      {checked && (
        <Section title="What differs from the running file">
          <Difference difference={checked.result.difference} />
        </Section>
      )}
      <RehearsalPart text={text} />
      <Section title="Running settings">
        <RunningEntries configuration={configuration} />
      </Section>
    </>
  )
}
