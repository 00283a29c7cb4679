/** A table of rows with columns that can be sorted, and with its states: loading, error, nothing there. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatCount } from '../format.ts'
import { EmptyNote, ErrorNote, Loading } from './notes.tsx'

export interface Column<Row> {
  readonly name: string
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Sort key of the column; absent: it cannot be sorted. */
  readonly sortBy?: (row: Row) => number | string | null | undefined
  /** Numbers stand at the right. */
  readonly isNumber?: boolean
}

export interface Sorting {
  readonly column: string
  readonly descending: boolean
}

export interface TableProps<Row> {
  /** Contents of the table; screen readers announce it. */
  readonly caption: string
  /** True: the caption is visible. */
  readonly showsCaption?: boolean
  readonly columns: readonly Column<Row>[]
  /** Undefined while they are loaded. */
  readonly rows: readonly Row[] | undefined
  readonly rowKey: (row: Row) => string
  readonly error?: Error | undefined
  readonly onRetry?: () => void
  readonly empty?: ComponentChildren
  readonly sorting?: Sorting
  /** True: the rows come in that order. */
  readonly isSorted?: boolean
  /** Rows that are shown until the visitor wants all; absent: all. */
  readonly most?: number
  /** Absent: the table keeps its sorting itself. */
  readonly onSort?: (sorting: Sorting) => void
}

/** The first column heads its row. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, error, onRetry, empty, onSort } = props
  const [own, setOwn] = useState(props.sorting)
  const [isWhole, setWhole] = useState(false)
  const sorting = onSort ? props.sorting : own
  if (rows === undefined) return error ? <ErrorNote error={error} {...(onRetry && { onRetry })} /> : <Loading />
  const sort = (column: string): void => {
    const next = { column, descending: sorting?.column === column ? !sorting.descending : true }
    if (onSort) onSort(next)
    else setOwn(next)
  }
  const all = props.isSorted ? rows : sorted(rows, columns, sorting)
  const shown = isWhole ? all : all.slice(0, props.most)
  return (
    <>
      {error && <ErrorNote error={error} {...(onRetry && { onRetry })} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
      <section class="table-scroll" tabIndex={0} aria-label={caption}>
        <table>
          <caption class={props.showsCaption ? undefined : 'hidden'}>{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <Heading key={column.name} column={column} sorting={sorting} onSort={sort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={props.rowKey(row)}>
                {columns.map((column, index) => {
                  const className = column.isNumber ? 'right' : undefined
                  return index === 0 ? (
                    <th key={column.name} scope="row" class={className}>
                      {column.cell(row)}
                    </th>
                  ) : (
                    <td key={column.name} class={className}>
                      {column.cell(row)}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < all.length && (
        <button type="button" class="button" onClick={() => setWhole(true)}>
          Show all {formatCount(all.length)}
        </button>
      )}
      {rows.length === 0 && (empty ?? <EmptyNote title="Nothing here yet" />)}
    </>
  )
}

interface HeadingProps<Row> {
  readonly column: Column<Row>
  readonly sorting: Sorting | undefined
  readonly onSort: (column: string) => void
}

function Heading<Row>({ column, sorting, onSort }: HeadingProps<Row>) {
  const { name, title, sortBy, isNumber } = column
  const direction = sorting?.column !== name ? undefined : sorting.descending ? 'descending' : 'ascending'
  return (
    <th scope="col" class={isNumber ? 'right' : undefined} aria-sort={direction}>
      {sortBy ? (
        <button type="button" class="sort" onClick={() => onSort(name)}>
          {title}
          <span class="sort-mark" aria-hidden="true">
            {direction === 'descending' ? '↓' : direction === 'ascending' ? '↑' : '↕'}
          </span>
        </button>
      ) : (
        title
      )}
    </th>
  )
}

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sorting: Sorting | undefined): readonly Row[] {
  const sortBy = columns.find(({ name }) => name === sorting?.column)?.sortBy
  if (!sorting || !sortBy) return rows
  const sign = sorting.descending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [left, right] = [sortBy(a), sortBy(b)]
    // What has no value comes last either way.
    if (left == null || right == null) return left == null ? (right == null ? 0 : 1) : -1
    return sign * (typeof left === 'string' ? left.localeCompare(String(right)) : left - Number(right))
  })
}
