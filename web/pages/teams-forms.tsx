/** Forms of teams: make or change an organization, a workspace or a member. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { OneOrganizationReply, OneWorkspaceReply, OrganizationsReply } from '../api-types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Checkbox, Choice, Field, FormError } from '../components/field.tsx'
import { toast } from '../components/toast.tsx'
import { useResource } from '../resource.ts'
import { GROUPS, KINDS, type Kind, type Level, levelName } from './teams-levels.ts'

type Values = Readonly<Record<string, string>>

const RATES = {
  requests: 'Requests per minute',
  tokens: 'Tokens per minute',
  streams: 'Streams at once',
} as const
type Rate = keyof typeof RATES
const RATE_NAMES = Object.keys(RATES) as Rate[]

export interface EditLevelProps {
  readonly kind: Kind
  /** The one that is changed; absent: an organization or a workspace is made. */
  readonly level?: Level
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onDone: (level: Level) => void
}

export function EditLevel(props: EditLevelProps) {
  const { kind, level, isOpen, onClose } = props
  const article = kind === 'organization' ? 'an' : 'a'
  return (
    <Dialog title={level ? `Change ${levelName(level)}` : `Create ${article} ${kind}`} isOpen={isOpen} onClose={onClose}>
      <LevelForm {...props} />
    </Dialog>
  )
}

function LevelForm({ kind, level, onClose, onDone }: EditLevelProps) {
  const [values, setValues] = useState<Values>(() => startValues(level))
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const set = (name: string) => (value: string) => setValues((last) => ({ ...last, [name]: value }))
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    const body = formBody(kind, values, level !== undefined)
    try {
      const { data } =
        level || kind === 'member'
          ? await call<{ data: Level }>(KINDS[kind].address(level?.id ?? ''), { method: 'PATCH', body })
          : await call<OneOrganizationReply | OneWorkspaceReply>(GROUPS[kind].list, { method: 'POST', body })
      toast(`${levelName(data)} is ${level ? 'changed' : 'made'}`)
      onDone(data)
    } catch (thrown) {
      setError(thrown as Error)
      setBusy(false)
    }
  }
  const field = (name: string) => ({ name, error, value: values[name] ?? '', onInput: set(name) })
  const rates = RATE_NAMES.map((name) => `rate_limits.${name}`)
  return (
    <form class="form" onSubmit={send}>
      <Field {...field('name')} label="Name" required autocomplete="off" />
      {kind !== 'member' && (
        <Field
          {...field('slug')}
          label="Slug"
          required
          autocomplete="off"
          hint="The name in paths, files and rules: small letters, digits and hyphens."
        />
      )}
      {kind === 'workspace' && !level && (
        <OrganizationChoice value={values.organization_id ?? ''} error={error} onChange={set('organization_id')} />
      )}
      {kind === 'member' && (
        <>
          <Choice
            name="role"
            label="Role"
            error={error}
            value={values.role ?? 'member'}
            onChange={set('role')}
            options={ROLES}
            hint="It is shown to clients. What a caller may do is the role of its key or rule."
          />
          <Checkbox
            name="is_service_account"
            label="A service account, not a person"
            checked={values.is_service_account === 'yes'}
            onChange={(checked) => set('is_service_account')(checked ? 'yes' : '')}
          />
        </>
      )}
      <Field {...field('description')} label="Description" autocomplete="off" />
      {kind === 'workspace' && (
        <Field {...field('default_text_model')} label="Model of requests that name none" autocomplete="off" hint="Empty: none." />
      )}
      {RATE_NAMES.map((name) => (
        <Field
          key={name}
          {...field(`rate_limits.${name}`)}
          label={RATES[name]}
          type="number"
          min="1"
          step="1"
          hint="Of all below it together. Empty: no limit."
        />
      ))}
      <FormError
        error={error}
        fields={['name', 'slug', 'organization_id', 'role', 'is_service_account', 'description', 'default_text_model', ...rates]}
      />
      <p class="actions">
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : level ? 'Change it' : 'Create it'}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}

export const ROLES = [
  ['member', 'Member'],
  ['admin', 'Admin'],
] as const

function startValues(level: Level | undefined): Values {
  if (!level) return {}
  const { name, description, rate_limits: rates } = level
  return {
    ...{ name, description: description ?? '' },
    ...('slug' in level && { slug: level.slug }),
    ...('default_text_model' in level && { default_text_model: level.default_text_model ?? '' }),
    ...('user_id' in level && { role: level.role, is_service_account: level.is_service_account ? 'yes' : '' }),
    ...Object.fromEntries(RATE_NAMES.map((rate) => [`rate_limits.${rate}`, rates[rate] === null ? '' : String(rates[rate])])),
  }
}

function formBody(kind: Kind, values: Values, isChange: boolean): object {
  const { name, slug, description, role, organization_id: organization, default_text_model: model } = values
  const rate = (each: Rate): number | null => (values[`rate_limits.${each}`] ? Number(values[`rate_limits.${each}`]) : null)
  return {
    name,
    description: description || null,
    rate_limits: Object.fromEntries(RATE_NAMES.map((each) => [each, rate(each)])),
    ...(kind === 'member' ? { role, is_service_account: values.is_service_account === 'yes' } : { slug }),
    ...(kind === 'workspace' && { default_text_model: model || null }),
    ...(kind === 'workspace' && !isChange && organization && { organization_id: organization }),
  }
}

/** Suggestions of one field. */
const SUGGESTED = 20

interface OrganizationChoiceProps {
  readonly value: string
  readonly error: Error | undefined
  readonly onChange: (value: string) => void
}

function OrganizationChoice({ value, error, onChange }: OrganizationChoiceProps) {
  const query = { search: value, limit: SUGGESTED }
  const found = useResource<OrganizationsReply>((signal) => call(GROUPS.organization.list, { query, signal }), [value])
  return (
    <Field
      name="organization_id"
      label="Organization"
      value={value}
      error={error}
      placeholder="default"
      list={found.data?.data.map(({ slug }) => slug) ?? []}
      onInput={onChange}
      hint="Its slug. Empty: the default one."
    />
  )
}
