/** What the check of a text and the try of recorded requests have found. */
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Badge, Figure, Figures, Time } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { pathTo } from '../router.ts'
import { goTo } from './policy-editor.tsx'

export interface Problem {
  readonly file: string
  readonly line: number
  readonly column: number
  /** Where in the data; empty for the syntax. */
  readonly path: string
  readonly message: string
}

export interface CheckResult {
  readonly problems: readonly Problem[]
  readonly counts: { readonly providers: number; readonly models: number; readonly keys: number } | null
  /** Settings that a reload cannot change. */
  readonly restart: readonly string[]
  readonly tests: readonly { readonly name: string; readonly passed: boolean; readonly differences: readonly string[] }[]
}

interface Outcome {
  readonly endpoint: string | null
  readonly provider_name: string | null
  /** Why it would be refused. */
  readonly error: string | null
}

export interface RehearsalResult {
  /** Requests that were tried. */
  readonly count: number
  readonly changed: readonly {
    readonly id: string
    readonly created_at: string
    readonly model: string
    readonly before: Outcome
    readonly after: Outcome
  }[]
}

const Stale = ({ isStale }: { isStale: boolean }) => (isStale ? <Badge tone="warn">The text has changed since</Badge> : null)

export function Checked({ file, result, isStale }: { file: string; result: CheckResult; isStale: boolean }) {
  const { problems, counts, restart, tests } = result
  const failed = tests.filter(({ passed }) => !passed)
  return (
    <>
      <p class="verdict" role="status">
        {problems.length === 0 ? <Badge tone="good">No problem</Badge> : <Badge tone="bad">{formatCount(problems.length)} problems</Badge>}
        {counts && (
          <span>
            {formatCount(counts.providers)} providers, {formatCount(counts.models)} models, {formatCount(counts.keys)} keys
          </span>
        )}
        {restart.length > 0 && (
          <span>
            <Badge tone="warn">Needs a restart</Badge> {restart.join(', ')}
          </span>
        )}
        <Stale isStale={isStale} />
      </p>
      {problems.length > 0 && (
        <Table
          caption="Problems"
          rows={problems}
          rowKey={({ file: of, line, column, path, message }) => [of, line, column, path, message].join(' ')}
          columns={[
            {
              name: 'place',
              title: 'Place',
              cell: ({ file: of, line, column }) =>
                of === file ? (
                  <button type="button" class="place" onClick={() => goTo(line, column)}>
                    Line {line}, column {column}
                  </button>
                ) : (
                  `${of}, line ${line}`
                ),
              sortBy: ({ line }) => line,
            },
            { name: 'path', title: 'Setting', cell: ({ path }) => (path === '' ? '–' : <code>{path}</code>) },
            { name: 'message', title: 'What, and what was expected', cell: ({ message }) => message },
          ]}
        />
      )}
      {tests.length > 0 && (
        <>
          <h3 class="tests-head">
            Policy tests: {formatCount(tests.length - failed.length)} passed, {formatCount(failed.length)} failed
          </h3>
          <ul class="tests">
            {tests.map(({ name, passed, differences }) => (
              <li key={name}>
                <Badge tone={passed ? 'good' : 'bad'}>{passed ? 'pass' : 'fail'}</Badge> {name}
                {differences.map((line) => (
                  <span key={line} class="key-note">
                    {line}
                  </span>
                ))}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

export function Rehearsed({ result: { count, changed }, isStale }: { result: RehearsalResult; isStale: boolean }) {
  const refused = changed.filter(({ after }) => after.error !== null).length
  return (
    <>
      <Stale isStale={isStale} />
      <Figures label="Recorded requests">
        <Figure label="Tried" value={formatCount(count)} detail="nothing was called" />
        <Figure label="As before" value={formatCount(count - changed.length)} />
        <Figure
          label="Elsewhere"
          value={formatCount(changed.length - refused)}
          {...(changed.length > refused ? { tone: 'warn' as const } : {})}
        />
        <Figure label="Refused" value={formatCount(refused)} {...(refused > 0 ? { tone: 'bad' as const } : {})} />
      </Figures>
      <Table
        caption="Requests that would go otherwise"
        rows={changed}
        rowKey={({ id }) => id}
        empty={<EmptyNote title={count === 0 ? 'No request is recorded yet' : 'All would go as they went'} />}
        columns={[
          { name: 'id', title: 'Request', cell: ({ id }) => <a href={pathTo(['requests', id])}>{id}</a> },
          { name: 'at', title: 'Time', cell: ({ created_at: at }) => <Time iso={at} />, sortBy: ({ created_at: at }) => at },
          { name: 'model', title: 'Model', cell: ({ model }) => model, sortBy: ({ model }) => model },
          { name: 'before', title: 'It went to', cell: ({ before }) => <Went outcome={before} /> },
          { name: 'after', title: 'It would go to', cell: ({ after }) => <Went outcome={after} /> },
        ]}
      />
    </>
  )
}

function Went({ outcome: { endpoint, provider_name: provider, error } }: { outcome: Outcome }) {
  if (error !== null)
    return (
      <>
        <Badge tone="bad">Refused</Badge> {error}
      </>
    )
  return (
    <>
      {endpoint ?? '–'}
      {provider && <span class="key-note">{provider}</span>}
    </>
  )
}
