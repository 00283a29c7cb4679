/** The running configuration, entry by entry, with the place of each. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { ConfigurationReply } from '../api-types.ts'
import { Field } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Badge } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'

export type Configuration = ConfigurationReply['data']

/** Rows that are drawn unless the visitor wants all. */
const FIRST_ROWS = 50

export function RunningEntries({ configuration }: { configuration: Configuration }) {
  const [path, setPath] = useState('')
  const [showsAll, setShowsAll] = useState(false)
  const found = useResource<ConfigurationReply>((signal) => call('/v1/configuration', { query: { path }, signal }), [path], {
    enabled: path !== '',
  })
  const some = path === '' ? configuration : found.data?.data
  const entries = some?.entries
  const rows = showsAll ? entries : entries?.slice(0, FIRST_ROWS)
  return (
    <>
      <div class="filters policy-filter">
        <Field
          name="path"
          label="Settings that begin with"
          type="search"
          value={path}
          placeholder="providers.openai"
          error={path === '' ? undefined : found.error}
          onChange={(text) => setPath(text.trim())}
        />
      </div>
      <Table
        caption="Running settings"
        rows={rows}
        rowKey={({ file, line, column, path: at }) => `${file} ${line} ${column} ${at}`}
        error={path === '' ? undefined : found.error}
        onRetry={found.reload}
        empty={<EmptyNote title={path === '' ? 'The file has no settings' : `No setting begins with ${path}`} />}
        columns={[
          { name: 'path', title: 'Setting', cell: ({ path: at }) => <code>{at}</code> },
          {
            name: 'value',
            title: 'Value as written',
            cell: ({ value, secret }) => (
              <>
                <code>{shown(value)}</code> {secret && <Badge>secret</Badge>}
              </>
            ),
          },
          { name: 'place', title: 'Place', cell: ({ file, line }) => `${fileName(file)}, line ${formatCount(line)}` },
        ]}
      />
      {entries && rows && rows.length < entries.length && (
        <p class="note-line">
          {formatCount(rows.length)} of {formatCount(entries.length)} are shown.{' '}
          <button type="button" class="button small" onClick={() => setShowsAll(true)}>
            Show all
          </button>
        </p>
      )}
      {some !== undefined && some.left_out > 0 && (
        <p class="note-line">
          There are {formatCount(some.left_out)} more than the gateway lists at once: name the beginning of a setting to see them.
        </p>
      )}
    </>
  )
}

const shown = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value))

/** A path without its folders. */
export const fileName = (file: string): string => file.split(/[\\/]/).at(-1) ?? file
