/** Dialogs of keys: make or change one, and see a new secret once. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { Key, MadeKeyReply, OneKeyReply } from '../api-types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Choice, Field, FormError } from '../components/field.tsx'
import { toast } from '../components/toast.tsx'
import { useRole } from '../rights.ts'
import { PlaceFields } from './keys-place.tsx'
import { ParentChoice } from './keys-shared.tsx'

type Role = NonNullable<Key['role']>

/** A visitor of the role `owner` gives all of them, another one those that are marked. */
const ROLES: readonly { readonly role: Role; readonly text: string; readonly isLesser?: true }[] = [
  { role: 'member', text: 'Member: calls models', isLesser: true },
  { role: 'viewer', text: 'Viewer: reads all, changes nothing', isLesser: true },
  { role: 'billing', text: 'Billing: spending, corrections and refunds', isLesser: true },
  { role: 'admin', text: 'Admin: manages all but admins and owners' },
  { role: 'owner', text: 'Owner: manages all' },
]

/** Those of a key that is made stand last. */
const FIELDS = ['name', 'limit', 'limit_reset', 'parent', 'workspace_id', 'member_id', 'expires_at', 'creator_user_id', 'role']

export interface EditKeyProps {
  /** The key that is changed; absent: one is made. */
  readonly key_?: Key
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onDone: (key: Key, secret: string | undefined) => void
}

export function EditKey(props: EditKeyProps) {
  const { key_, isOpen, onClose } = props
  return (
    <Dialog title={key_ ? `Change ${key_.name}` : 'Create a key'} isOpen={isOpen} onClose={onClose}>
      <KeyForm {...props} />
    </Dialog>
  )
}

function KeyForm({ key_, onClose, onDone }: EditKeyProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({
    name: key_?.name ?? '',
    role: 'member',
    limit: key_?.limit == null ? '' : String(key_.limit),
    limit_reset: key_?.limit_reset ?? '',
    parent: key_?.parent ?? '',
    expires_at: '',
    creator_user_id: '',
  })
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const set = (name: string) => (value: string) => setValues((last) => ({ ...last, [name]: value }))
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    const request = { method: key_ ? ('PATCH' as const) : ('POST' as const), body: formBody(values, key_ !== undefined) }
    try {
      const reply = await call<OneKeyReply | MadeKeyReply>(key_ ? `/v1/keys/${key_.hash}` : '/v1/keys', request)
      const { data } = reply
      onDone(data, 'key' in reply ? reply.key : undefined)
      if (key_) toast(`${data.name} is changed`)
    } catch (thrown) {
      setError(thrown as Error)
    }
    setBusy(false)
  }
  const isOwner = useRole() === 'owner'
  const field = (name: string) => ({ name, error, value: values[name] ?? '', onInput: set(name) })
  return (
    <form class="form" onSubmit={send}>
      <Field {...field('name')} label="Name" required autocomplete="off" />
      {!key_ && (
        <Choice
          name="role"
          label="Role"
          error={error}
          value={values.role ?? 'member'}
          onChange={set('role')}
          options={ROLES.filter(({ isLesser }) => isOwner || isLesser).map(({ role, text }) => [role, text])}
        />
      )}
      <Field {...field('limit')} label="Limit in USD" type="number" min="0" step="any" hint="Empty: no limit." />
      <Choice
        name="limit_reset"
        label="The limit begins anew"
        error={error}
        value={values.limit_reset ?? ''}
        onChange={set('limit_reset')}
        options={[
          ['', 'Never'],
          ['daily', 'Every day'],
          ['weekly', 'Every Monday'],
          ['monthly', 'On the first of the month'],
        ]}
        hint="At 00:00 UTC."
      />
      <ParentChoice parent={key_?.parent ?? null} value={values.parent ?? ''} error={error} onChange={set('parent')} />
      {!key_?.parent_hash && (
        <PlaceFields
          key_={key_}
          workspace={values.workspace_id}
          member={values.member_id}
          error={error}
          onChange={(place) => setValues((last) => ({ ...last, ...place }))}
        />
      )}
      {!key_ && (
        <>
          <Field {...field('expires_at')} label="Expires" type="datetime-local" hint="In your local time. Empty: never." />
          <Field {...field('creator_user_id')} label="Made for" hint="A user or a team, if you like. It is found again in activity." />
        </>
      )}
      <FormError error={error} fields={key_ ? FIELDS.slice(0, 6) : FIELDS} />
      <p class="actions">
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : key_ ? 'Change it' : 'Create it'}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}

function formBody(values: Readonly<Record<string, string>>, isChange: boolean): object {
  const { name, role, limit, limit_reset: reset, parent, expires_at: expires, creator_user_id: creator } = values
  const { workspace_id: workspace, member_id: member } = values
  const body = {
    ...{ name, limit: limit ? Number(limit) : null, limit_reset: reset || null, parent: parent || null },
    // A place that the visitor has not touched stays as it is.
    ...(workspace !== undefined && { workspace_id: workspace.trim() || null }),
    ...(member !== undefined && { member_id: member.trim() || null }),
  }
  if (isChange) return body
  return { ...body, role, expires_at: expires ? new Date(expires).toISOString() : null, creator_user_id: creator || null }
}

/** Shows a secret that cannot be read again. It stands in the memory of the page until the dialog is closed, and nowhere else. */
export function SecretShown({ shown, onClose }: { shown: { name: string; secret: string } | undefined; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => setCopied(false), [shown])
  const copy = (): void => {
    navigator.clipboard?.writeText(shown?.secret ?? '').then(
      () => setCopied(true),
      () => toast('The browser does not allow to copy: mark the text', { isError: true }),
    ) ?? toast('The browser copies only over TLS: mark the text', { isError: true })
  }
  return (
    <Dialog title={`Secret of ${shown?.name ?? ''}`} isOpen={shown !== undefined} onClose={onClose}>
      <div class="form">
        <p>Copy it now. The gateway keeps its hash alone and cannot show it again.</p>
        <p class="secret">
          <code>{shown?.secret}</code>
        </p>
        <p class="actions">
          <button type="button" class="button primary" onClick={copy}>
            {isCopied ? 'Copied' : 'Copy'}
          </button>
          <button type="button" class="button" onClick={onClose}>
            I have it
          </button>
        </p>
      </div>
    </Dialog>
  )
}
