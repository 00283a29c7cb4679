/** The place of a key in an organization: its workspace and its member, as its page shows them and as its form takes them. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { Key, MembersReply, OneMemberReply, OneWorkspaceReply, WorkspacesReply } from '../api-types.ts'
import { Field } from '../components/field.tsx'
import { type Resource, useResource } from '../resource.ts'
import { useRight } from '../rights.ts'
import { pathTo } from '../router.ts'

/** Suggestions of a field. */
const SUGGESTED = 20

type Placed = Pick<Key, 'workspace_id' | 'member_id'>

function usePlace(key: Placed | undefined): { workspace: Resource<OneWorkspaceReply>; member: Resource<OneMemberReply> } {
  const { workspace_id: named, member_id: member = null } = key ?? {}
  const workspace = named ?? ''
  return {
    workspace: useResource((signal) => call(`/v1/workspaces/${encodeURIComponent(workspace)}`, { signal }), [workspace], {
      enabled: workspace !== '',
    }),
    member: useResource((signal) => call(`/v1/members/${encodeURIComponent(member ?? '')}`, { signal }), [member ?? ''], {
      enabled: member !== null,
    }),
  }
}

/** Rows of the list about a key. */
export function KeyPlace({ key_: key }: { key_: Key }) {
  const { workspace, member } = usePlace(key)
  const isOpen = useRight('GET /v1/workspaces')
  if (!isOpen) return null
  if (key.workspace_id === null)
    return (
      key.organization_id !== null && (
        <>
          <dt>Organization</dt>
          <dd>
            <a href={pathTo(['teams', 'organization', key.organization_id])}>{key.organization_id}</a>
          </dd>
        </>
      )
    )
  return (
    <>
      <dt>Workspace</dt>
      <dd>
        {workspace.error ? (
          'It is not there any more: requests are refused'
        ) : (
          <a href={pathTo(['teams', 'workspace', key.workspace_id])}>{workspace.data?.data.name ?? key.workspace_id}</a>
        )}
      </dd>
      {key.member_id && (
        <>
          <dt>Member</dt>
          <dd>
            {member.error ? (
              `${key.member_id} is not there any more: requests are refused`
            ) : (
              <a href={pathTo(['teams', 'member', key.member_id])}>{member.data?.data.user_id ?? key.member_id}</a>
            )}
          </dd>
        </>
      )}
    </>
  )
}

export interface PlaceFieldsProps {
  /** The key that is changed; undefined: one is made. */
  readonly key_: Key | undefined
  /** As typed: slug or id; undefined: not touched. */
  readonly workspace: string | undefined
  readonly member: string | undefined
  readonly error: Error | undefined
  readonly onChange: (place: { readonly workspace_id?: string; readonly member_id?: string }) => void
}

export function PlaceFields({ key_, workspace, member, error, onChange }: PlaceFieldsProps) {
  const place = usePlace(key_)
  const [isUsed, use] = useState(false)
  const slug = workspace ?? place.workspace.data?.data.slug ?? ''
  const user = member ?? place.member.data?.data.user_id ?? ''
  const workspaces = useResource<WorkspacesReply>(
    (signal) => call('/v1/workspaces', { query: { search: workspace, limit: SUGGESTED }, signal }),
    [workspace],
    { enabled: isUsed },
  )
  const isKnown = slug === place.workspace.data?.data.slug || workspaces.data?.data.some((each) => each.slug === slug)
  const members = useResource<MembersReply>(
    (signal) => call(`/v1/workspaces/${encodeURIComponent(slug)}/members`, { query: { search: member, limit: SUGGESTED }, signal }),
    [slug, member],
    { enabled: isUsed && slug !== '' && isKnown === true },
  )
  return (
    <div class="form" onFocusIn={() => use(true)}>
      <Field
        name="workspace_id"
        label="Workspace"
        value={slug}
        error={error}
        placeholder="default"
        autocomplete="off"
        list={workspaces.data?.data.map((each) => each.slug) ?? []}
        // A member of one workspace is none of another one.
        onInput={(text) => onChange(user === '' ? { workspace_id: text } : { workspace_id: text, member_id: '' })}
        hint="Its slug or id. Its limits hold as well. Empty: the default one."
      />
      <Field
        name="member_id"
        label="Member"
        value={user}
        error={error}
        autocomplete="off"
        list={members.data?.data.map((each) => each.user_id) ?? []}
        onInput={(text) => onChange({ member_id: text })}
        hint="Of the workspace or its organization, as the identity provider names it. Empty: none."
      />
    </div>
  )
}
