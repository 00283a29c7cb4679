/** Findings of the check of a text. */
import type { ConfigurationCheckReply } from '../api-types.ts'
import { Table } from '../components/table.tsx'
import { Badge } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { goTo, type Problem } from './policy-editor.tsx'

export type CheckResult = ConfigurationCheckReply['data']

export function Checked({ result, isStale }: { result: CheckResult; isStale: boolean }) {
  const { ok, problems, not_checked: unseen, counts, needs_restart: restart, test_problems: testProblems } = result
  return (
    <>
      <p class="verdict" role="status">
        {ok ? <Badge tone="good">No problem</Badge> : <Badge tone="bad">Problems: {formatCount(problems.length)}</Badge>}
        {counts && (
          <span>
            Providers: {formatCount(counts.providers)}, models: {formatCount(counts.models)}, keys: {formatCount(counts.keys)}
          </span>
        )}
        {restart.length > 0 && (
          <span>
            <Badge tone="warn">Needs a restart</Badge> {restart.join(', ')}
          </span>
        )}
        {isStale && <Badge tone="warn">The text has changed since</Badge>}
      </p>
      {problems.length > 0 && <Problems caption="Problems" problems={problems} isOfText />}
      {testProblems.length > 0 && <Problems caption="Problems of the policy tests" problems={testProblems} />}
      <Tests result={result} />
      {unseen.length > 0 && (
        <details class="unseen">
          <summary>Not checked: {formatCount(unseen.length)} values (variables, secrets, other files, plugins)</summary>
          <ul>
            {unseen.map(({ line, column, path, what }) => (
              <li key={`${line} ${column} ${path} ${what}`}>
                <code>{path}</code>: <code>{what}</code> <Go line={line} column={column} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

export function Problems({ caption, problems, isOfText = false }: { caption: string; problems: readonly Problem[]; isOfText?: boolean }) {
  return (
    <Table
      caption={caption}
      showsCaption
      rows={problems}
      rowKey={({ line, column, path, message }) => [line, column, path, message].join(' ')}
      columns={[
        {
          name: 'place',
          title: 'Place',
          cell: ({ line, column }) => (isOfText ? <Go line={line} column={column} /> : `Line ${line}, column ${column}`),
          sortBy: ({ line }) => line,
        },
        { name: 'path', title: 'Setting', cell: ({ path }) => (path === '' ? '–' : <code>{path}</code>) },
        { name: 'message', title: 'What, and what was expected', cell: ({ message }) => message },
      ]}
    />
  )
}

function Go({ line, column }: { line: number; column: number }) {
  return (
    <button type="button" class="place" onClick={() => goTo(line, column)}>
      Line {line}, column {column}
    </button>
  )
}

function Tests({ result: { tests, passed, failed } }: { result: CheckResult }) {
  if (tests.length === 0) return null
  return (
    <>
      <h3 class="tests-head">
        Policy tests: {formatCount(passed)} passed, {formatCount(failed)} failed
      </h3>
      <ul class="tests">
        {tests.map(({ name, passed: isPassed, differences }) => (
          <li key={name}>
            <Badge tone={isPassed ? 'good' : 'bad'}>{isPassed ? 'pass' : 'fail'}</Badge> {name}
            {differences.map((line) => (
              <span key={line} class="key-note">
                {line}
              </span>
            ))}
          </li>
        ))}
      </ul>
    </>
  )
}
