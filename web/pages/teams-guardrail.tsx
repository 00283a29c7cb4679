/** The guardrail that holds for all requests below an organization or a workspace: shown, assigned and taken away. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { GuardrailsReply, OrganizationAssignmentsReply, WorkspaceAssignmentsReply } from '../api-types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Choice, FormError } from '../components/field.tsx'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { toast } from '../components/toast.tsx'
import { Section } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { useControl, useRight } from '../rights.ts'
import { pathTo } from '../router.ts'
import { type GROUPS, type Level, levelName } from './teams-levels.ts'

const ASSIGNED = {
  organization: {
    field: 'organization_ids',
    read: 'GET /v1/guardrails/assignments/organizations',
    list: '/v1/guardrails/assignments/organizations',
    assign: 'POST /v1/guardrails/{id}/assignments/organizations',
    remove: 'POST /v1/guardrails/{id}/assignments/organizations/remove',
  },
  workspace: {
    field: 'workspace_ids',
    read: 'GET /v1/guardrails/assignments/workspaces',
    list: '/v1/guardrails/assignments/workspaces',
    assign: 'POST /v1/guardrails/{id}/assignments/workspaces',
    remove: 'POST /v1/guardrails/{id}/assignments/workspaces/remove',
  },
} as const

/** Guardrails of the choice. */
const MOST = 100

interface GuardrailProps {
  readonly kind: keyof typeof GROUPS
  readonly level: Level
}

export function LevelGuardrail(props: GuardrailProps) {
  return useRight(ASSIGNED[props.kind].read) ? <Held {...props} /> : null
}

function Held({ kind, level }: GuardrailProps) {
  const { list, assign, remove } = ASSIGNED[kind]
  const found = useResource<OrganizationAssignmentsReply | WorkspaceAssignmentsReply>(
    (signal) => call(list, { query: { subject: level.id }, signal }),
    [list, level.id],
  )
  const guardrails = useResource<GuardrailsReply>((signal) => call('/v1/guardrails', { query: { limit: MOST }, signal }), [])
  const [isOpen, open] = useState(false)
  const set = useControl(assign)
  const clear = useControl(remove)
  const held = found.data?.data[0]?.guardrail_id
  const name = guardrails.data?.data.find(({ id }) => id === held)?.name ?? held
  return (
    <Section
      title="Guardrail"
      actions={
        <button type="button" class="button small" onClick={() => open(true)} {...(held === undefined ? set : clear)}>
          {held === undefined ? 'Assign a guardrail' : 'Assign another guardrail'}
        </button>
      }
    >
      {found.error && <ErrorNote error={found.error} onRetry={found.reload} />}
      {!found.data && !found.error && <Loading />}
      {found.data && held === undefined && (
        <EmptyNote title="None is assigned">Those of the levels above it, and of its members and keys, hold all the same.</EmptyNote>
      )}
      {held !== undefined && (
        <p>
          <a href={pathTo(['guardrails'])}>{name}</a> holds for every request below it.
        </p>
      )}
      <Dialog title={`Guardrail of ${levelName(level)}`} isOpen={isOpen} onClose={() => open(false)}>
        <GuardrailForm
          kind={kind}
          level={level}
          held={held}
          // Those of the file stand there, with what they hold for.
          options={
            guardrails.data?.data.filter(({ id, source }) => source === 'store' && id !== held).map(({ id, name }) => [id, name]) ?? []
          }
          heldName={name ?? ''}
          onClose={() => open(false)}
          onDone={() => {
            open(false)
            found.reload()
          }}
        />
      </Dialog>
    </Section>
  )
}

interface FormProps extends GuardrailProps {
  /** Id of the one that holds now. */
  readonly held: string | undefined
  readonly heldName: string
  readonly options: readonly (readonly [id: string, name: string])[]
  readonly onClose: () => void
  readonly onDone: () => void
}

function GuardrailForm({ kind, level, held, heldName, options, onClose, onDone }: FormProps) {
  const [chosen, choose] = useState(held ?? '')
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const { field, list } = ASSIGNED[kind]
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    const plural = list.slice(list.lastIndexOf('/') + 1)
    const body = { [field]: [level.id] }
    const address = (id: string): string => ['/v1/guardrails', encodeURIComponent(id), 'assignments', plural].join('/')
    try {
      if (chosen !== '') await call(address(chosen), { method: 'POST', body })
      else if (held !== undefined) await call(`${address(held)}/remove`, { method: 'POST', body })
      toast(chosen === '' ? `${levelName(level)} has no guardrail of its own` : `The guardrail holds for ${levelName(level)}`)
      onDone()
    } catch (thrown) {
      setError(thrown as Error)
      setBusy(false)
    }
  }
  return (
    <form class="form" onSubmit={send}>
      <Choice
        name="guardrail"
        label="Guardrail"
        value={chosen}
        onChange={choose}
        options={[['', 'None'], ...(held === undefined ? [] : [[held, heldName] as const]), ...options]}
        hint="Those that are made over the API. One of the file names what it holds for in the file."
      />
      <FormError error={error} fields={[]} />
      <p class="actions">
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Assign it'}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
