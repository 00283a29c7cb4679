/** An export of a past range to a destination of the configuration, started here and run by the gateway. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { ExportRunsReply } from '../api-types.ts'
import { Choice, Field } from '../components/field.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { Badge, type Tone } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

type Run = NonNullable<ExportRunsReply['run']>

/** Milliseconds between two looks at a run. */
const LOOK = 1_000

/** Nothing where the configuration has no exports. */
export function RangeExport() {
  const status = useResource<ExportRunsReply>((signal) => call('/ledger/exports', { signal }), [])
  const [chosen, setChosen] = useState('')
  const [since, setSince] = useState('')
  const [until, setUntil] = useState('')
  const isRunning = status.data?.run?.state === 'running'
  const control = useControl('POST /ledger/exports', isRunning)
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(status.reload, LOOK)
    return () => clearInterval(timer)
  }, [isRunning])
  if (!status.data || status.data.exports.length === 0) return null
  const { exports, run } = status.data
  const name = chosen || (exports[0] ?? '')
  const start = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const query = { export: name, since: since || undefined, until: until || undefined }
    await call('/ledger/exports', { method: 'POST', query }).then(() => toast('The export has begun'), toastError)
    status.reload()
  }
  return (
    <form class="form range-export" onSubmit={start}>
      <h3>A past range to a destination</h3>
      <p>In batches, as the exports of the configuration send them; their own positions stay as they are. Days are UTC.</p>
      <div class="filters">
        <Choice name="export" label="Destination" value={name} options={exports.map((each) => [each, each])} onChange={setChosen} />
        <Field name="since" label="From" type="date" value={since} onChange={setSince} />
        <Field name="until" label="Before" type="date" value={until} onChange={setUntil} />
      </div>
      <p class="actions">
        <button type="submit" class="button" {...control}>
          {isRunning ? 'Exporting…' : 'Export this range'}
        </button>
      </p>
      {run && <State run={run} />}
    </form>
  )
}

const TONES: Meanings<Run['state'], Tone> = { running: 'accent', done: 'good', failed: 'bad' }

function State({ run: { export: name, rows, batches, state, problem } }: { run: Run }) {
  return (
    <p role="status">
      <Badge tone={wordMeaning(TONES, state) ?? 'neutral'}>{plainWord(state)}</Badge> {formatCount(rows)} requests in {formatCount(batches)}{' '}
      batches to {name}
      {problem !== null && <>: {problem}. The same range again goes on where it stopped.</>}
    </p>
  )
}
