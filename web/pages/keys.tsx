/** The page "Keys and budgets": all keys with what they may spend, one key with its burn-down, and who spent what. */
import { useState } from 'preact/hooks'
import { apiAddress, call } from '../api.ts'
import type { Key, KeysReply } from '../api-types.ts'
import { Checkbox, Field } from '../components/field.tsx'
import { EmptyNote, ErrorNote } from '../components/notes.tsx'
import { firstShown, PAGE, PageTurns } from '../components/page-turns.tsx'
import { type Column, Table } from '../components/table.tsx'
import { DownloadLink, Figure, Figures, Money, PageHead, Section, Time } from '../components/values.tsx'
import { formatCount, formatShare, formatUsd } from '../format.ts'
import type { PageProps } from '../page.ts'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { pathTo, useQuery } from '../router.ts'
import { shareSpent } from './keys-budget.ts'
import { EditKey, SecretShown } from './keys-forms.tsx'
import { OneKey } from './keys-one.tsx'
import { SharedBudgets } from './keys-shared.tsx'
import { Spending } from './keys-spending.tsx'
import { ForecastText, type KeysProps, Limit, NEAR, State, showChange, sourceText } from './keys-state.tsx'

/** Orders that the API has, by the columns of the table. */
const SORTS = { name: 'name', limit: 'limit_used', month: 'usage_monthly', usage: 'usage', expires: 'expires_at' } as const

const isSort = (name: string | undefined): name is keyof typeof SORTS => name !== undefined && Object.hasOwn(SORTS, name)

/** The page of the list that the address names. */
function listQuery({ search, unused, parent, sort, order, from }: Readonly<Record<string, string>>) {
  return {
    ...{ search, parent },
    // A search finds those that are out of use as well: somebody wants to know why.
    ...(unused === '1' || search ? { include_disabled: true } : { state: 'in_use' }),
    ...(isSort(sort) ? { sort: SORTS[sort], order: order === 'asc' ? 'asc' : 'desc' } : {}),
    ...{ offset: firstShown(from), limit: PAGE, include_forecast: true },
  }
}

export default function KeysPage({ rest }: PageProps) {
  const [query] = useQuery()
  const address = apiAddress('/v1/keys', listQuery(query))
  const keys = useResource<KeysReply>((signal) => call(address, { signal }), [address])
  const [secret, setSecret] = useState<{ name: string; secret: string }>()
  const [hash] = rest
  const show = (name: string, made: string): void => setSecret({ name, secret: made })
  return (
    <>
      {hash === undefined ? <AllKeys keys={keys} onSecret={show} /> : <OneKey hash={hash} keys={keys} onSecret={show} />}
      <SecretShown shown={secret} onClose={() => setSecret(undefined)} />
    </>
  )
}

function AllKeys({ keys, onSecret }: KeysProps) {
  const [isMaking, setMaking] = useState(false)
  const create = useControl('POST /v1/keys')
  const all = keys.data?.data
  const summary = useResource<KeysReply>(
    (signal) => call('/v1/keys', { query: { include_totals: true, limit: 1 }, signal }),
    [keys.data?.total_count],
    { enabled: all !== undefined },
  )
  return (
    <>
      <PageHead
        title="Keys and budgets"
        actions={
          <button type="button" class="button primary" onClick={() => setMaking(true)} {...create}>
            Create a key
          </button>
        }
      >
        Who may call, how much each may spend, and how long that lasts.
      </PageHead>
      {all && keys.error && <ErrorNote error={keys.error} onRetry={keys.reload} />}
      <Summary totals={summary.data?.totals} />
      <Section
        title="Keys"
        actions={
          all && (
            <DownloadLink href={apiAddress('/v1/keys', { include_disabled: true, format: 'csv' })} name="">
              Save keys as CSV
            </DownloadLink>
          )
        }
      >
        <List keys={keys} />
      </Section>
      <SharedBudgets changes={keys.data?.total_count ?? 0} />
      <Spending />
      <EditKey
        isOpen={isMaking}
        onClose={() => setMaking(false)}
        onDone={(key, secret) => {
          setMaking(false)
          showChange(keys, undefined, key)
          if (secret !== undefined) onSecret(key.name, secret)
        }}
      />
    </>
  )
}

function Summary({ totals }: { totals: KeysReply['totals'] }) {
  const reached = totals?.limit_reached ?? 0
  const near = totals?.limit_near ?? 0
  return (
    <Figures label="All keys">
      <Figure label="Keys in use" value={formatCount(totals?.in_use)} detail={totals && `of ${formatCount(totals.keys)}`} />
      <Figure label="Spent today" value={totals ? formatUsd(totals.usage_daily) : '–'} detail="since 00:00 UTC" />
      <Figure label="This week" value={totals ? formatUsd(totals.usage_weekly) : '–'} detail="since Monday" />
      <Figure label="This month" value={totals ? formatUsd(totals.usage_monthly) : '–'} detail="since the first" />
      <Figure
        label="Limits to look at"
        value={totals ? formatCount(reached + near) : '–'}
        detail={`${reached} reached, ${near} from ${formatShare(NEAR)} on`}
        {...(reached > 0 ? { tone: 'bad' as const } : near > 0 ? { tone: 'warn' as const } : {})}
      />
    </Figures>
  )
}

function List({ keys: { data, error, reload } }: Pick<KeysProps, 'keys'>) {
  const [query, set] = useQuery()
  const { search = '', parent = '', sort, order } = query
  const filter = (changes: Readonly<Record<string, string | undefined>>): void => set({ from: undefined, ...changes })
  return (
    <>
      <search class="filters keys-filters">
        <Field name="search" label="Search" type="search" value={search} onInput={(text) => filter({ search: text })} />
        {parent !== '' && (
          <Field name="parent" label="Shared budget" type="search" value={parent} onChange={(text) => filter({ parent: text })} />
        )}
        <Checkbox
          name="unused"
          label="Also disabled and expired ones"
          checked={query.unused === '1'}
          onChange={(checked) => filter({ unused: checked ? '1' : undefined })}
        />
      </search>
      <Table
        caption="Keys"
        rows={data?.data}
        error={error}
        onRetry={reload}
        rowKey={({ hash }) => hash}
        empty={<EmptyNote title={search === '' && parent === '' ? 'No key yet' : 'No key is called so'} />}
        columns={COLUMNS}
        isSorted
        {...(isSort(sort) && { sorting: { column: sort, descending: order !== 'asc' } })}
        onSort={({ column, descending }) => filter({ sort: column, order: descending ? undefined : 'asc' })}
      />
      <PageTurns
        label="Pages of keys"
        from={firstShown(query.from)}
        total={data?.total_count ?? 0}
        onTurn={(from) => set({ from: from > 0 ? String(from) : undefined }, false)}
      />
    </>
  )
}

const COLUMNS: readonly Column<Key>[] = [
  { name: 'name', title: 'Name', cell: (key) => <KeyName key_={key} />, sortBy: ({ name }) => name },
  { name: 'limit', title: 'Limit', cell: (key) => <Limit key_={key} />, sortBy: (key) => shareSpent(key) },
  { name: 'forecast', title: 'At this pace', cell: (key) => <ForecastText key_={key} forecast={key.forecast} /> },
  { name: 'state', title: 'State', cell: (key) => <State key_={key} /> },
  {
    name: 'month',
    title: 'This month',
    isNumber: true,
    cell: (key) => <Money usd={key.usage_monthly} />,
    sortBy: (key) => key.usage_monthly,
  },
  { name: 'usage', title: 'In all', isNumber: true, cell: (key) => <Money usd={key.usage} />, sortBy: (key) => key.usage },
  { name: 'expires', title: 'Expires', cell: (key) => <Time iso={key.expires_at} />, sortBy: (key) => key.expires_at },
]

function KeyName({ key_: { hash, name, label, source, role, is_management_key: manages } }: { key_: Key }) {
  return (
    <>
      <a href={pathTo(['keys', hash])}>{name}</a>
      <span class="key-note">
        <code>{label}</code>
        {manages && ` ${role}`}
        {source !== 'store' && ` ${sourceText(source)}`}
      </span>
    </>
  )
}
