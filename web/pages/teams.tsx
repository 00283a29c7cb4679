/** The page "Teams": organizations, workspaces and members, with what each may spend, and one of them with all that is in it. */
import { useState } from 'preact/hooks'
import { EmptyNote } from '../components/notes.tsx'
import { PageHead } from '../components/values.tsx'
import type { PageProps } from '../page.ts'
import { useControl } from '../rights.ts'
import { navigate, pathTo } from '../router.ts'
import { EditLevel } from './teams-forms.tsx'
import { GROUPS, isKind } from './teams-levels.ts'
import { OneLevel } from './teams-one.tsx'
import { Organizations, Workspaces } from './teams-workspaces.tsx'

export default function TeamsPage({ rest: [kind, id] }: PageProps) {
  if (kind === undefined) return <AllTeams />
  if (isKind(kind) && id !== undefined) return <OneLevel key={`${kind} ${id}`} kind={kind} id={id} />
  return (
    <>
      <PageHead title="Teams" />
      <EmptyNote title="There is no such page">
        <a href={pathTo(['teams'])}>All teams</a>
      </EmptyNote>
    </>
  )
}

function AllTeams() {
  const [making, make] = useState<keyof typeof GROUPS>()
  const createWorkspace = useControl(GROUPS.workspace.create)
  const createOrganization = useControl(GROUPS.organization.create)
  return (
    <>
      <PageHead
        title="Teams"
        actions={
          <>
            <button type="button" class="button primary" onClick={() => make('workspace')} {...createWorkspace}>
              Create a workspace
            </button>
            <button type="button" class="button" onClick={() => make('organization')} {...createOrganization}>
              Create an organization
            </button>
          </>
        }
      >
        The place of each person, service account and key, and how much all in one place may spend together.
      </PageHead>
      <Workspaces />
      <Organizations />
      {(['workspace', 'organization'] as const).map((kind) => (
        <EditLevel
          key={kind}
          kind={kind}
          isOpen={making === kind}
          onClose={() => make(undefined)}
          onDone={({ id }) => {
            make(undefined)
            navigate(pathTo(['teams', kind, id]))
          }}
        />
      ))}
    </>
  )
}
