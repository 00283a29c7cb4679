/** Lists of workspaces and of organizations: a page of each, with what is below them and what is spent of their limits. */
import { apiAddress, call } from '../api.ts'
import type { OrganizationsReply, WorkspacesReply } from '../api-types.ts'
import { Field } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { firstShown, PAGE, PageTurns } from '../components/page-turns.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Section } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo, useQuery } from '../router.ts'
import { GROUPS, type Organization, type Workspace } from './teams-levels.ts'
import { useLimits, WindowLimits } from './teams-limits.tsx'
import { LevelState } from './teams-state.tsx'

/** Organizations whose names a list shows: of another one it has the id. */
const NAMED = 100

function Name({ kind, level: { id, name, slug } }: { kind: 'organization' | 'workspace'; level: Organization | Workspace }) {
  return (
    <>
      <a href={pathTo(['teams', kind, id])}>{name}</a>
      <span class="key-note">
        <code>{slug}</code>
      </span>
    </>
  )
}

/** @param organization id of the one whose workspaces are listed; absent: all. */
export function Workspaces({ organization }: { organization?: string }) {
  const [query, set] = useQuery()
  const { search = '' } = query
  const from = firstShown(query.from)
  const wanted = { search, organization_id: organization, include_counts: true, offset: from, limit: PAGE }
  const address = apiAddress(GROUPS.workspace.list, wanted)
  const workspaces = useResource<WorkspacesReply>((signal) => call(address, { signal }), [address])
  const organizations = useResource<OrganizationsReply>((signal) => call('/v1/organizations', { query: { limit: NAMED }, signal }), [], {
    enabled: organization === undefined,
  })
  const limits = useLimits(workspaces.data?.data)
  const columns: readonly Column<Workspace>[] = [
    { name: 'name', title: 'Workspace', cell: (workspace) => <Name kind="workspace" level={workspace} /> },
    ...(organization === undefined
      ? [
          {
            name: 'organization',
            title: 'Organization',
            cell: ({ organization_id: id }: Workspace) => (
              <a href={pathTo(['teams', 'organization', id])}>{organizations.data?.data.find((each) => each.id === id)?.name ?? id}</a>
            ),
          },
        ]
      : []),
    { name: 'limits', title: 'Limits', cell: ({ id }) => <WindowLimits limits={limits} id={id} /> },
    { name: 'members', title: 'Members', isNumber: true, cell: ({ member_count: count }) => formatCount(count) },
    { name: 'keys', title: 'Keys in use', isNumber: true, cell: ({ key_count: count }) => formatCount(count) },
    { name: 'state', title: 'State', cell: (workspace) => <LevelState level={workspace} /> },
  ]
  return (
    <Section title="Workspaces">
      <search class="filters keys-filters">
        <Field
          name="search"
          label="Search workspaces"
          type="search"
          value={search}
          onInput={(text) => set({ search: text, from: undefined })}
        />
      </search>
      <Table
        caption="Workspaces"
        rows={workspaces.data?.data}
        error={workspaces.error}
        onRetry={workspaces.reload}
        rowKey={({ id }) => id}
        empty={<EmptyNote title={search === '' ? 'No workspace yet' : 'No workspace is called so'} />}
        columns={columns}
      />
      <PageTurns
        label="Pages of workspaces"
        from={from}
        total={workspaces.data?.total_count ?? 0}
        onTurn={(to) => set({ from: to > 0 ? String(to) : undefined }, false)}
      />
    </Section>
  )
}

export function Organizations() {
  const [query, set] = useQuery()
  const from = firstShown(query.organizations_from)
  const address = apiAddress(GROUPS.organization.list, { include_counts: true, offset: from, limit: PAGE })
  const organizations = useResource<OrganizationsReply>((signal) => call(address, { signal }), [address])
  const limits = useLimits(organizations.data?.data)
  return (
    <Section title="Organizations">
      <Table
        caption="Organizations"
        rows={organizations.data?.data}
        error={organizations.error}
        onRetry={organizations.reload}
        rowKey={({ id }) => id}
        columns={[
          { name: 'name', title: 'Organization', cell: (each) => <Name kind="organization" level={each} /> },
          { name: 'limits', title: 'Limits', cell: ({ id }) => <WindowLimits limits={limits} id={id} /> },
          { name: 'workspaces', title: 'Workspaces', isNumber: true, cell: ({ workspace_count: count }) => formatCount(count) },
          { name: 'members', title: 'Members of its own', isNumber: true, cell: ({ member_count: count }) => formatCount(count) },
          { name: 'keys', title: 'Keys in use', isNumber: true, cell: ({ key_count: count }) => formatCount(count) },
          { name: 'state', title: 'State', cell: (each) => <LevelState level={each} /> },
        ]}
      />
      <PageTurns
        label="Pages of organizations"
        from={from}
        total={organizations.data?.total_count ?? 0}
        onTurn={(to) => set({ organizations_from: to > 0 ? String(to) : undefined }, false)}
      />
    </Section>
  )
}
