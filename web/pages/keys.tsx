/** The page "Keys and budgets": all keys with what they may spend, one key with its burn-down, and who spent what. */
import { useState } from 'preact/hooks'
import { apiAddress, call } from '../api.ts'
import type { Key, KeysReply } from '../api-types.ts'
import { Checkbox, Field } from '../components/field.tsx'
import { EmptyNote, ErrorNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { DownloadLink, Figure, Figures, Money, PageHead, Section, Time } from '../components/values.tsx'
import { formatCount, formatShare, formatUsd } from '../format.ts'
import type { PageProps } from '../page.ts'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { pathTo, useQuery } from '../router.ts'
import { hasExpired, shareSpent } from './keys-budget.ts'
import { EditKey, SecretShown } from './keys-forms.tsx'
import { OneKey } from './keys-one.tsx'
import { SharedBudgets } from './keys-shared.tsx'
import { Spending } from './keys-spending.tsx'
import { ForecastText, type KeysProps, keyState, Limit, NEAR, State, showChange, sourceText } from './keys-state.tsx'

/** Keys that are listed at first: what all of them spent stands below. */
const SHOWN = 25

export default function KeysPage({ rest }: PageProps) {
  const keys = useResource<KeysReply>(
    (signal) => call('/v1/keys', { query: { include_disabled: true, include_forecast: true }, signal }),
    [],
  )
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
      <Summary keys={all} />
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
      <SharedBudgets changes={all?.length ?? 0} />
      <Spending keys={all ?? []} />
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

function Summary({ keys }: { keys: readonly Key[] | undefined }) {
  const usable = keys?.filter((key) => !key.disabled && !hasExpired(key))
  const sum = (of: (key: Key) => number): string => (keys ? formatUsd(withoutIssued(keys).reduce((all, key) => all + of(key), 0)) : '–')
  const spent = usable?.filter((key) => (key.limit_remaining ?? 1) <= 0).length ?? 0
  const near = usable?.filter((key) => (key.limit_remaining ?? 0) > 0 && (shareSpent(key) ?? 0) >= NEAR).length ?? 0
  return (
    <Figures label="All keys">
      <Figure label="Keys in use" value={formatCount(usable?.length)} detail={keys && `of ${formatCount(keys.length)}`} />
      <Figure label="Spent today" value={sum((key) => key.usage_daily)} detail="since 00:00 UTC" />
      <Figure label="This week" value={sum((key) => key.usage_weekly)} detail="since Monday" />
      <Figure label="This month" value={sum((key) => key.usage_monthly)} detail="since the first" />
      <Figure
        label="Limits to look at"
        value={keys ? formatCount(spent + near) : '–'}
        detail={`${spent} reached, ${near} from ${formatShare(NEAR)} on`}
        {...(spent > 0 ? { tone: 'bad' as const } : near > 0 ? { tone: 'warn' as const } : {})}
      />
    </Figures>
  )
}

/** Spending of keys that were issued through sign-in is in the figures of the key that consented; of one whose issuer is gone it is its own. */
function withoutIssued(keys: readonly Key[]): readonly Key[] {
  const hashes = new Set(keys.map(({ hash }) => hash))
  return keys.filter(({ parent_hash: parent }) => parent === null || !hashes.has(parent))
}

function List({ keys: { data, error, reload } }: Pick<KeysProps, 'keys'>) {
  const [query, set] = useQuery()
  const search = query.search ?? ''
  const isAll = query.unused === '1'
  const now = Date.now()
  const rows = data?.data.filter(
    (key) =>
      (isAll || !(key.disabled || hasExpired(key, now))) &&
      [key.name, key.label, key.hash].some((text) => text.toLowerCase().includes(search.toLowerCase())),
  )
  return (
    <>
      <search class="filters keys-filters">
        <Field name="search" label="Search" type="search" value={search} onInput={(text) => set({ search: text })} />
        <Checkbox
          name="unused"
          label="Also disabled and expired ones"
          checked={isAll}
          onChange={(checked) => set({ unused: checked ? '1' : undefined })}
        />
      </search>
      <Table
        caption="Keys"
        rows={rows}
        most={SHOWN}
        error={error}
        onRetry={reload}
        rowKey={({ hash }) => hash}
        empty={<EmptyNote title={search === '' ? 'No key yet' : 'No key is called so'} />}
        columns={[
          { name: 'name', title: 'Name', cell: (key) => <KeyName key_={key} />, sortBy: ({ name }) => name },
          { name: 'limit', title: 'Limit', cell: (key) => <Limit key_={key} />, sortBy: (key) => shareSpent(key) },
          { name: 'forecast', title: 'At this pace', cell: (key) => <ForecastText key_={key} forecast={key.forecast} /> },
          { name: 'state', title: 'State', cell: (key) => <State key_={key} />, sortBy: (key) => keyState(key, now)[1] },
          {
            name: 'month',
            title: 'This month',
            isNumber: true,
            cell: (key) => <Money usd={key.usage_monthly} />,
            sortBy: (key) => key.usage_monthly,
          },
          { name: 'usage', title: 'In all', isNumber: true, cell: (key) => <Money usd={key.usage} />, sortBy: (key) => key.usage },
          { name: 'expires', title: 'Expires', cell: (key) => <Time iso={key.expires_at} />, sortBy: (key) => key.expires_at },
        ]}
      />
    </>
  )
}

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
