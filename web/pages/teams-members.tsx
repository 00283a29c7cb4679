/** Members of an organization or a workspace: a page of the list, and those that are added and removed. */
import { useState } from 'preact/hooks'
import { apiAddress, call } from '../api.ts'
import type { MembersReply } from '../api-types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Checkbox, Choice, Field, FormError, TextArea } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { firstShown, PAGE, PageTurns } from '../components/page-turns.tsx'
import { Table } from '../components/table.tsx'
import { toast } from '../components/toast.tsx'
import { Section } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { pathTo, useQuery } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { ROLES } from './teams-forms.tsx'
import { GROUPS, type Level, levelName, type Member } from './teams-levels.ts'
import { useLimits, WindowLimits } from './teams-limits.tsx'
import { LevelState } from './teams-state.tsx'

interface MembersProps {
  readonly kind: keyof typeof GROUPS
  readonly level: Level
}

const ROLE_NAMES: Meanings<Member['role'], string> = {
  owner: 'Owner',
  admin: 'Admin',
  billing: 'Billing',
  viewer: 'Viewer',
  member: 'Member',
}

export const roleName = ({ role }: Member): string => wordMeaning(ROLE_NAMES, role) ?? plainWord(role)

export function Members({ kind, level }: MembersProps) {
  const [query, set] = useQuery()
  const { member: search = '' } = query
  const from = firstShown(query.members_from)
  const address = apiAddress(GROUPS[kind].members(level.id), { search, offset: from, limit: PAGE })
  const members = useResource<MembersReply>((signal) => call(address, { signal }), [address])
  const limits = useLimits(members.data?.data)
  const [isAdding, setAdding] = useState(false)
  const [leaving, setLeaving] = useState<Member>()
  const add = useControl(GROUPS[kind].addMembers)
  const remove = useControl(GROUPS[kind].removeMembers)
  return (
    <Section
      title="Members"
      actions={
        <button type="button" class="button small" onClick={() => setAdding(true)} {...add}>
          Add members
        </button>
      }
    >
      <search class="filters keys-filters">
        <Field
          name="member"
          label="Search members"
          type="search"
          value={search}
          onInput={(text) => set({ member: text, members_from: undefined })}
        />
      </search>
      <Table
        caption={`Members of the ${kind}`}
        rows={members.data?.data}
        error={members.error}
        onRetry={members.reload}
        rowKey={({ id }) => id}
        empty={
          <EmptyNote title={search === '' ? 'No member yet' : 'No member is called so'}>
            {search === '' && 'A key or a token without a member is in the workspace alone.'}
          </EmptyNote>
        }
        columns={[
          {
            name: 'name',
            title: 'Member',
            cell: (member) => (
              <>
                <a href={pathTo(['teams', 'member', member.id])}>{member.user_id}</a>
                <span class="key-note">
                  {member.name !== member.user_id && `${member.name}, `}
                  {member.is_service_account ? 'service account' : 'person'}
                </span>
              </>
            ),
          },
          { name: 'role', title: 'Role', cell: roleName },
          { name: 'limits', title: 'Limits', cell: ({ id }) => <WindowLimits limits={limits} id={id} /> },
          { name: 'state', title: 'State', cell: (member) => <LevelState level={member} /> },
          {
            name: 'do',
            title: 'Change',
            cell: (member) => (
              <button
                type="button"
                class="button small"
                aria-label={`Remove ${member.user_id}`}
                onClick={() => setLeaving(member)}
                {...remove}
              >
                Remove
              </button>
            ),
          },
        ]}
      />
      <PageTurns
        label="Pages of members"
        from={from}
        total={members.data?.total_count ?? 0}
        onTurn={(to) => set({ members_from: to > 0 ? String(to) : undefined }, false)}
      />
      <Dialog title={`Add members to ${levelName(level)}`} isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddForm
          kind={kind}
          level={level}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false)
            members.reload()
          }}
        />
      </Dialog>
      <Dialog title={`Remove ${leaving?.user_id ?? ''}`} isOpen={leaving !== undefined} onClose={() => setLeaving(undefined)}>
        {leaving && (
          <RemoveForm
            kind={kind}
            level={level}
            member={leaving}
            onClose={() => setLeaving(undefined)}
            onDone={() => {
              setLeaving(undefined)
              members.reload()
            }}
          />
        )}
      </Dialog>
    </Section>
  )
}

interface FormProps extends MembersProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

function AddForm({ kind, level, onClose, onDone }: FormProps) {
  const [text, setText] = useState('')
  const [role, setRole] = useState('member')
  const [isServiceAccount, setServiceAccount] = useState(false)
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    const users = text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    const body = { user_ids: users, role, is_service_account: isServiceAccount }
    try {
      const reply = await call<{ added_count: number }>(`${GROUPS[kind].members(level.id)}/add`, { method: 'POST', body })
      toast(`${formatCount(reply.added_count)} ${reply.added_count === 1 ? 'member is' : 'members are'} in ${levelName(level)}`)
      onDone()
    } catch (thrown) {
      setError(thrown as Error)
      setBusy(false)
    }
  }
  return (
    <form class="form" onSubmit={send}>
      <TextArea
        name="user_ids"
        label="Addresses or ids"
        required
        value={text}
        error={error}
        onInput={setText}
        hint="As the identity provider names them, one a line, 100 at most. Those that are members already get this role and kind."
      />
      <Choice name="role" label="Role" error={error} value={role} onChange={setRole} options={ROLES} />
      <Checkbox name="is_service_account" label="Service accounts, not people" checked={isServiceAccount} onChange={setServiceAccount} />
      <FormError error={error} fields={['user_ids', 'role', 'is_service_account']} />
      <p class="actions">
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Add them'}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}

function RemoveForm({ kind, level, member, onClose, onDone }: FormProps & { readonly member: Member }) {
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    try {
      await call(`${GROUPS[kind].members(level.id)}/remove`, { method: 'POST', body: { user_ids: [member.user_id] } })
      toast(`${member.user_id} is no member of ${levelName(level)} any more`)
      onDone()
    } catch (thrown) {
      setError(thrown as Error)
      setBusy(false)
    }
  }
  return (
    <form class="form" onSubmit={send}>
      <p>
        Keys of {member.user_id} in {levelName(level)} are refused from that moment on, until they get another place. What they have spent
        stays in the ledger.
      </p>
      <FormError error={error} fields={[]} />
      <p class="actions">
        <button type="submit" class="button danger" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Remove it'}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
