/** One key: its budget as it burns down, its limits, and what can be done with it. */
import { useState } from 'preact/hooks'
import { ApiError, apiAddress, call } from '../api.ts'
import type { Key, KeyBudgetReply, MadeKeyReply, OneKeyReply } from '../api-types.ts'
import { Chart } from '../components/chart.tsx'
import type { Series } from '../components/chart-canvas.ts'
import { Choice } from '../components/field.tsx'
import { NamedDialog } from '../components/named-dialog.tsx'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { Badge, Figure, Figures, PageHead, Section, Time } from '../components/values.tsx'
import { formatTime, formatUsd } from '../format.ts'
import { useResource } from '../resource.ts'
import { useControl, useRight } from '../rights.ts'
import { navigate, pathTo } from '../router.ts'
import { Access } from './keys-access.tsx'
import { burnDown } from './keys-budget.ts'
import { KeyChanges } from './keys-changes.tsx'
import { EditKey } from './keys-forms.tsx'
import { KeyPlace } from './keys-place.tsx'
import { ParentKey } from './keys-shared.tsx'
import { Spending } from './keys-spending.tsx'
import { eachText, ForecastText, type KeysProps, Limit, State, showChange, sourceText } from './keys-state.tsx'
import { Entries } from './ledger-entries.tsx'
import { RefusedOfKey } from './requests-last-refused.tsx'

export function OneKey({ hash, keys, onSecret }: KeysProps & { hash: string }) {
  const one = useResource<OneKeyReply>((signal) => call(`/v1/keys/${encodeURIComponent(hash)}`, { signal }), [hash])
  const key = one.data?.data.hash === hash ? one.data.data : undefined
  const back = <a href={pathTo(['keys'])}>All keys</a>
  const seesRefusals = useRight('GET /v1/refusals')
  const seesChanges = useRight('GET /v1/audit')
  if (one.error instanceof ApiError && one.error.status === 404)
    return (
      <>
        <PageHead title="Key" />
        <EmptyNote title="There is no such key">{back}</EmptyNote>
      </>
    )
  if (!key) return one.error ? <ErrorNote error={one.error} onRetry={one.reload} /> : <Loading />
  const show = (changed: Key | undefined): void => {
    if (changed) one.replace(() => ({ data: changed }))
    showChange(keys, hash, changed)
  }
  const reload = (): void => {
    one.reload()
    keys.reload()
  }
  const { source, is_management_key: manages } = key
  return (
    <>
      <p class="back">{back}</p>
      <PageHead title={key.name} actions={source === 'store' && <Actions key_={key} onChanged={show} onSecret={onSecret} />}>
        <State key_={key} /> {manages && <Badge tone="accent">Manages, does not generate</Badge>} <code>{key.label}</code>
      </PageHead>
      {source === 'configuration' && (
        <p class="card">This key stands in the configuration file. Change it there; the page Policy shows the file.</p>
      )}
      {source !== 'configuration' && source !== 'store' && <p class="card">This key cannot be changed here ({sourceText(source)}).</p>}
      <Figures label="What it has spent">
        <Figure label="Today" value={formatUsd(key.usage_daily)} detail="since 00:00 UTC" />
        <Figure label="This week" value={formatUsd(key.usage_weekly)} detail="since Monday" />
        <Figure label="This month" value={formatUsd(key.usage_monthly)} detail="since the first" />
        <Figure label="In all" value={formatUsd(key.usage)} />
        <Loss label="Not recovered" all={key.unrecovered} open={key.unrecovered_open} />
        <Loss label="Disputed" all={key.disputed} open={key.disputed_open} />
      </Figures>
      <div class="columns">
        <Section title="Budget">
          <Budget key_={key} />
        </Section>
        <Section title="About it">
          <About key_={key} />
        </Section>
      </div>
      <Access key={hash} hash={hash} />
      {seesRefusals && <RefusedOfKey hash={hash} />}
      {seesChanges && <KeyChanges hash={hash} updatedAt={key.updated_at} />}
      <Entries hash={hash} keyName={key.name} onAdded={reload} />
      <Spending only={key} />
    </>
  )
}

/** Amount that providers have reported and the key was not charged; nothing where there is none. */
function Loss({ label, all, open }: { label: string; all: number; open: number }) {
  if (all === 0) return null
  const detail = open === 0 ? 'all of it settled' : `${formatUsd(open)} not settled`
  return <Figure label={label} value={formatUsd(all)} detail={detail} {...(open > 0 && { tone: 'warn' as const })} />
}

function Budget({ key_ }: { key_: Key }) {
  const { hash, limit } = key_
  const budget = useResource<KeyBudgetReply>((signal) => call(apiAddress(`/v1/keys/${hash}/budget`), { signal }), [hash, limit ?? 'none'], {
    enabled: limit !== null,
  })
  const [now] = useState(() => Date.now())
  if (limit === null) return <EmptyNote title="No limit">It may spend as much as the budgets of guardrails leave.</EmptyNote>
  if (budget.error) return <ErrorNote error={budget.error} onRetry={budget.reload} />
  const found = budget.data?.data
  const burning = found && burnDown(found, key_.created_at, now)
  if (!found) return <Loading />
  if (!burning) return <EmptyNote title="No limit">Its budget has none at present.</EmptyNote>
  const { forecast, held, window } = found
  const series: Series[] = [{ label: 'Left', values: burning.left, colour: '--chart-1', format: formatUsd, kind: 'area' }]
  if (burning.ahead.some((each) => each !== null))
    series.push({ label: 'Forecast', values: burning.ahead, colour: '--chart-4', format: formatUsd })
  return (
    <>
      <p class="budget-now">
        <Limit key_={key_} /> <ForecastText key_={key_} forecast={forecast} />
      </p>
      <Chart title="Left of the limit" times={burning.times} series={series} formatTime={(seconds) => formatTime(seconds * 1000)} />
      <p class="quiet">
        {forecast.per_day > 0 && `At ${formatUsd(forecast.per_day)} a day, the mean of ${daysText(forecast.basis_days)}. `}
        {window.end === null ? 'The limit is never reset.' : `The limit is reset at ${formatTime(window.end)}.`}
        {held > 0 && ` Open requests hold ${formatUsd(held)}.`}
      </p>
    </>
  )
}

const daysText = (days: number): string => (days <= 1 ? 'the last day' : `the last ${days.toFixed(days < 3 ? 1 : 0)} days`)

function About({ key_: key }: { key_: Key }) {
  return (
    <dl class="about">
      <dt>Role</dt>
      <dd>{key.role ?? 'Of a later version: the key opens nothing here'}</dd>
      <dt>Limit</dt>
      <dd>{key.limit === null ? 'None' : `${formatUsd(key.limit)} ${key.limit_reset ? eachText(key.limit_reset) : 'in all'}`}</dd>
      {key.parent && (
        <>
          <dt>Shared budget</dt>
          <dd>
            <ParentKey name={key.parent} hash={key.hash} />
          </dd>
        </>
      )}
      <KeyPlace key_={key} />
      <dt>Made</dt>
      <dd>{key.source === 'configuration' ? 'In the configuration file' : <Time iso={key.created_at} />}</dd>
      <dt>Expires</dt>
      <dd>{key.expires_at ? <Time iso={key.expires_at} /> : 'Never'}</dd>
      {key.creator_user_id && (
        <>
          <dt>Made for</dt>
          <dd>{key.creator_user_id}</dd>
        </>
      )}
      {key.parent_hash && (
        <>
          <dt>Issued by</dt>
          <dd>
            <a href={pathTo(['keys', key.parent_hash])}>The key that consented</a>
          </dd>
        </>
      )}
      <dt>Last used</dt>
      <dd>{key.last_used_at ? <Time iso={key.last_used_at} /> : 'Not as far as requests are kept'}</dd>
      {key.previous_secret_expires_at && (
        <>
          <dt>Old secret</dt>
          <dd>
            Works until <Time iso={key.previous_secret_expires_at} />
          </dd>
        </>
      )}
      {key.allowed_models && (
        <>
          <dt>Models</dt>
          <dd>{key.allowed_models.join(', ')}</dd>
        </>
      )}
      {Object.keys(key.tags).length > 0 && (
        <>
          <dt>Tags</dt>
          <dd>
            {Object.entries(key.tags)
              .map(([name, value]) => `${name}: ${value}`)
              .join(', ')}
          </dd>
        </>
      )}
      <dt>Hash</dt>
      <dd>
        <code>{key.hash}</code>
      </dd>
      <dt>Requests</dt>
      <dd>
        <a href={pathTo(['requests'], { api_key_hash: key.hash })}>Show its requests</a>,{' '}
        <a href={pathTo(['usage'], { api_key_hash: key.hash, view: 'model' })}>and its usage</a>
      </dd>
    </dl>
  )
}

type Question = 'edit' | 'rotate' | 'end' | 'delete'

/** Seconds for which an old secret works on. */
const OVERLAPS = [
  ['0', 'Not at all'],
  ['3600', 'One hour'],
  ['86400', 'One day'],
  ['604800', 'One week'],
] as const

interface ActionsProps extends Pick<KeysProps, 'onSecret'> {
  readonly key_: Key
  /** Undefined: it is deleted. */
  readonly onChanged: (key: Key | undefined) => void
}

function Actions({ key_: key, onChanged, onSecret }: ActionsProps) {
  const [question, ask] = useState<Question>()
  const change = useControl('PATCH /v1/keys/{hash}')
  const renew = useControl('POST /v1/keys/{hash}/rotate')
  const end = useControl('DELETE /v1/keys/{hash}/previous')
  const erase = useControl('DELETE /v1/keys/{hash}')
  const [overlap, setOverlap] = useState('0')
  const path = apiAddress(`/v1/keys/${key.hash}`)
  const close = (): void => ask(undefined)
  const turn = async (): Promise<void> => {
    await call<OneKeyReply>(path, { method: 'PATCH', body: { disabled: !key.disabled } }).then(({ data }) => {
      toast(key.disabled ? `${key.name} may be used again` : `${key.name} is disabled: requests with it are refused`)
      onChanged(data)
    }, toastError)
  }
  const rotate = async (): Promise<void> => {
    const { data, key: secret } = await call<MadeKeyReply>(`${path}/rotate`, { method: 'POST', body: { grace_seconds: Number(overlap) } })
    close()
    onSecret(data.name, secret)
    onChanged(data)
    // The old address names a key that is no more.
    navigate(pathTo(['keys', data.hash]), { replace: true })
  }
  const endOld = async (): Promise<void> => {
    const { data } = await call<OneKeyReply>(`${path}/previous`, { method: 'DELETE' })
    close()
    toast(`The old secret of ${data.name} is refused from now on`)
    onChanged(data)
  }
  const remove = async (): Promise<void> => {
    await call(path, { method: 'DELETE' })
    close()
    toast(`${key.name} is deleted`)
    onChanged(undefined)
    navigate(pathTo(['keys']), { replace: true })
  }
  return (
    <>
      <button type="button" class="button" onClick={() => ask('edit')} {...change}>
        Change
      </button>
      <button type="button" class="button" onClick={turn} {...change}>
        {key.disabled ? 'Enable' : 'Disable'}
      </button>
      <button type="button" class="button" onClick={() => ask('rotate')} {...renew}>
        New secret
      </button>
      {key.previous_secret_expires_at && (
        <button type="button" class="button" onClick={() => ask('end')} {...end}>
          End old secret
        </button>
      )}
      <button type="button" class="button danger" onClick={() => ask('delete')} {...erase}>
        Delete
      </button>
      <EditKey
        key_={key}
        isOpen={question === 'edit'}
        onClose={close}
        onDone={(changed) => {
          close()
          onChanged(changed)
        }}
      />
      <NamedDialog
        title="Replace the secret"
        noun="key"
        name={key.name}
        verb="Replace it"
        isOpen={question === 'rotate'}
        onClose={close}
        act={rotate}
        fields={
          <Choice name="grace_seconds" label="The old secret works on for" value={overlap} options={OVERLAPS} onChange={setOverlap} />
        }
      >
        After that time the old secret is refused, and so are keys that this key issued to applications. A secret that was replaced before
        is refused at once. Limit, spending and history stay.
      </NamedDialog>
      <NamedDialog
        title="End the old secret"
        noun="key"
        name={key.name}
        verb="End it"
        isOpen={question === 'end'}
        onClose={close}
        act={endOld}
      >
        The secret before the last one is refused from that moment on, and so are keys that it issued to applications.
      </NamedDialog>
      <NamedDialog
        title="Delete the key"
        noun="key"
        name={key.name}
        verb="Delete it"
        isOpen={question === 'delete'}
        onClose={close}
        act={remove}
      >
        Requests with it are refused from that moment on; its files and the keys that it issued go with it. What it has spent stays in the
        ledger. This cannot be undone.
      </NamedDialog>
    </>
  )
}
