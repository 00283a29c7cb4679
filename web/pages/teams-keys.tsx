/** Keys of a workspace or of a member: a page of the list. */
import { apiAddress, call } from '../api.ts'
import type { KeysReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { firstShown, PAGE, PageTurns } from '../components/page-turns.tsx'
import { Table } from '../components/table.tsx'
import { Money, Section } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { pathTo, useQuery } from '../router.ts'
import { Limit, State } from './keys-state.tsx'

/** @param place the filter of the API with the id of the level. */
export function KeysBelow({ place }: { place: { readonly workspace_id: string } | { readonly member_id: string } }) {
  const [query, set] = useQuery()
  const from = firstShown(query.keys_from)
  const address = apiAddress('/v1/keys', { ...place, include_disabled: true, offset: from, limit: PAGE })
  const keys = useResource<KeysReply>((signal) => call(address, { signal }), [address])
  return (
    <Section title="Keys">
      <Table
        caption="Keys below it"
        rows={keys.data?.data}
        error={keys.error}
        onRetry={keys.reload}
        rowKey={({ hash }) => hash}
        empty={
          <EmptyNote title="No key yet">
            A key gets its place when it is made or changed, on the page <a href={pathTo(['keys'])}>Keys and budgets</a>.
          </EmptyNote>
        }
        columns={[
          {
            name: 'name',
            title: 'Name',
            cell: ({ hash, name, label }) => (
              <>
                <a href={pathTo(['keys', hash])}>{name}</a>
                <span class="key-note">
                  <code>{label}</code>
                </span>
              </>
            ),
          },
          { name: 'limit', title: 'Limit of its own', cell: (key) => <Limit key_={key} /> },
          { name: 'month', title: 'This month', isNumber: true, cell: ({ usage_monthly: usage }) => <Money usd={usage} /> },
          { name: 'usage', title: 'In all', isNumber: true, cell: ({ usage }) => <Money usd={usage} /> },
          { name: 'state', title: 'State', cell: (key) => <State key_={key} /> },
        ]}
      />
      <PageTurns
        label="Pages of keys"
        from={from}
        total={keys.data?.total_count ?? 0}
        onTurn={(to) => set({ keys_from: to > 0 ? String(to) : undefined }, false)}
      />
    </Section>
  )
}
