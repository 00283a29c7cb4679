/** One organization, workspace or member: its limits, what is below it, and what can be done with it. */
import { useState } from 'preact/hooks'
import { ApiError, call } from '../api.ts'
import type { AuditEntriesReply, OneOrganizationReply, OneWorkspaceReply } from '../api-types.ts'
import { NamedDialog } from '../components/named-dialog.tsx'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { Badge, PageHead, Section, Time } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { useControl, useRight } from '../rights.ts'
import { navigate, pathTo } from '../router.ts'
import { CHANGE_COLUMNS } from './changes.tsx'
import { EditLevel } from './teams-forms.tsx'
import { LevelGuardrail } from './teams-guardrail.tsx'
import { KeysBelow } from './teams-keys.tsx'
import { KINDS, type Kind, type Level, levelName, levelWord } from './teams-levels.ts'
import { Limits } from './teams-limits.tsx'
import { Members, roleName } from './teams-members.tsx'
import { LevelState } from './teams-state.tsx'
import { Workspaces } from './teams-workspaces.tsx'

export function OneLevel({ kind, id }: { kind: Kind; id: string }) {
  const { address, noun } = KINDS[kind]
  const one = useResource<{ data: Level }>((signal) => call(address(encodeURIComponent(id)), { signal }), [kind, id])
  const level = one.data?.data
  const seesChanges = useRight('GET /v1/audit')
  if (one.error instanceof ApiError && one.error.status === 404)
    return (
      <>
        <PageHead title="Teams" />
        <EmptyNote title={`There is no such ${noun}`}>
          <a href={pathTo(['teams'])}>All teams</a>
        </EmptyNote>
      </>
    )
  if (!level) return one.error ? <ErrorNote error={one.error} onRetry={one.reload} /> : <Loading />
  return (
    <>
      <p class="back">
        <a href={pathTo(['teams'])}>All teams</a>
      </p>
      <PageHead
        title={levelName(level)}
        actions={<Actions kind={kind} level={level} onChanged={(data) => one.replace(() => ({ data }))} />}
      >
        <LevelState level={level} /> <Badge>{noun}</Badge> {kind !== 'member' && <code>{levelWord(level)}</code>}
      </PageHead>
      {level.disabled && (
        <p class="card" role="note">
          It is disabled: every request below it is refused with 403, until it is enabled again.
        </p>
      )}
      <Limits kind={kind} level={level} onChanged={one.reload} />
      <Section title="About it">
        <About level={level} />
      </Section>
      {kind === 'organization' && <Workspaces organization={level.id} />}
      {kind !== 'member' && <LevelGuardrail kind={kind} level={level} />}
      {kind !== 'member' && <Members kind={kind} level={level} />}
      {kind !== 'organization' && <KeysBelow place={kind === 'member' ? { member_id: level.id } : { workspace_id: level.id }} />}
      {seesChanges && <LevelChanges level={level} />}
    </>
  )
}

function About({ level }: { level: Level }) {
  const { requests, tokens, streams } = level.rate_limits
  const rates = [
    requests !== null && `${formatCount(requests)} requests a minute`,
    tokens !== null && `${formatCount(tokens)} tokens a minute`,
    streams !== null && `${formatCount(streams)} streams at once`,
  ].filter(Boolean)
  return (
    <dl class="about">
      {'user_id' in level && (
        <>
          <dt>Name</dt>
          <dd>{level.name}</dd>
          <dt>Kind</dt>
          <dd>{level.is_service_account ? 'Service account' : 'Person'}</dd>
          <dt>Role</dt>
          <dd>{roleName(level)}</dd>
        </>
      )}
      {'workspace_id' in level && level.workspace_id !== null && (
        <>
          <dt>Workspace</dt>
          <dd>
            <WorkspaceLink id={level.workspace_id} />
          </dd>
        </>
      )}
      {'organization_id' in level && level.organization_id !== null && (
        <>
          <dt>Organization</dt>
          <dd>
            <OrganizationLink id={level.organization_id} />
          </dd>
        </>
      )}
      {level.description && (
        <>
          <dt>Description</dt>
          <dd>{level.description}</dd>
        </>
      )}
      <dt>Rates</dt>
      <dd>{rates.length === 0 ? 'No rate is set' : rates.join(', ')}</dd>
      {'default_text_model' in level && level.default_text_model && (
        <>
          <dt>Usual model</dt>
          <dd>{level.default_text_model}</dd>
        </>
      )}
      <dt>Made</dt>
      <dd>
        {level.updated_at === null && !level.created_by && level.created_at.startsWith('1970') ? (
          'It is always there'
        ) : (
          <>
            <Time iso={level.created_at} />
            {level.created_by && <span class="under">by {level.created_by}</span>}
          </>
        )}
      </dd>
      <dt>Id</dt>
      <dd>
        <code>{level.id}</code>
      </dd>
    </dl>
  )
}

function WorkspaceLink({ id }: { id: string }) {
  const found = useResource<OneWorkspaceReply>((signal) => call(`/v1/workspaces/${id}`, { signal }), [id])
  return <a href={pathTo(['teams', 'workspace', id])}>{found.data?.data.name ?? id}</a>
}

function OrganizationLink({ id }: { id: string }) {
  const found = useResource<OneOrganizationReply>((signal) => call(`/v1/organizations/${id}`, { signal }), [id])
  return <a href={pathTo(['teams', 'organization', id])}>{found.data?.data.name ?? id}</a>
}

interface ActionsProps {
  readonly kind: Kind
  readonly level: Level
  readonly onChanged: (level: Level) => void
}

const REMOVED: Readonly<Record<Kind, string>> = {
  organization: 'It goes only once it has no workspace any more. Its members go with it.',
  workspace:
    'It goes only once no key in it is in use. Its members go with it, and its disabled keys are refused until they get another place.',
  member: 'Keys of this member are refused from that moment on, until they get another place.',
}

function Actions({ kind, level, onChanged }: ActionsProps) {
  const [question, put] = useState<'edit' | 'delete'>()
  const { noun, address, change, remove } = KINDS[kind]
  const changing = useControl(change)
  const removing = useControl(remove)
  const name = levelWord(level)
  const turn = (): Promise<void> =>
    call<{ data: Level }>(address(level.id), { method: 'PATCH', body: { disabled: !level.disabled } }).then(({ data }) => {
      toast(data.disabled ? `${levelName(data)} is disabled: all below it are refused` : `${levelName(data)} may be used again`)
      onChanged(data)
    }, toastError)
  const erase = async (): Promise<void> => {
    await call(address(level.id), { method: 'DELETE' })
    toast(`${levelName(level)} is removed`)
    navigate(pathTo(['teams']), { replace: true })
  }
  return (
    <>
      <button type="button" class="button" onClick={() => put('edit')} {...changing}>
        Change
      </button>
      <button type="button" class="button" onClick={turn} {...changing}>
        {level.disabled ? 'Enable' : 'Disable'}
      </button>
      <button type="button" class="button danger" onClick={() => put('delete')} {...removing}>
        Delete
      </button>
      <EditLevel
        kind={kind}
        level={level}
        isOpen={question === 'edit'}
        onClose={() => put(undefined)}
        onDone={(changed) => {
          put(undefined)
          onChanged(changed)
        }}
      />
      <NamedDialog
        title={`Delete the ${noun}`}
        noun={noun}
        name={name}
        verb="Delete it"
        isOpen={question === 'delete'}
        onClose={() => put(undefined)}
        act={erase}
      >
        {REMOVED[kind]} What was spent stays in the ledger. This cannot be undone.
      </NamedDialog>
    </>
  )
}

/** Changes that are shown. */
const SHOWN = 5

function LevelChanges({ level: { id, updated_at: updated } }: { level: Level }) {
  const query = { subject: id, order: 'newest', limit: SHOWN }
  const found = useResource<AuditEntriesReply>((signal) => call('/v1/audit', { query, signal }), [id, updated ?? ''])
  return (
    <Section title="Changes of it" actions={<a href={pathTo(['changes'], { subject: id })}>All of them</a>}>
      <Table
        caption="Its last changes"
        rows={found.data?.data}
        error={found.error}
        onRetry={found.reload}
        rowKey={({ sequence }) => String(sequence)}
        columns={CHANGE_COLUMNS}
        empty={<EmptyNote title="No change of it is in the audit log" />}
      />
    </Section>
  )
}
