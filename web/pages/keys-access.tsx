/** Access of a key, on its page: the models that its requests reach, limits of all levels, rates, guardrails, role and end. */
import type { ComponentChildren } from 'preact'
import { call } from '../api.ts'
import type { KeyAccessReply } from '../api-types.ts'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Badge, Money, Section, Time } from '../components/values.tsx'
import { formatBytes, formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

type Access = KeyAccessReply['data']
type Limit = Access['limits'][number]

const REFUSALS: Meanings<Access['refused_because'][number], string> = {
  disabled: 'It is disabled: each of its requests is refused.',
  expired: 'It has ended: each of its requests is refused.',
  manages: 'It manages, and calls no models.',
  limit_spent: 'A limit has nothing left: requests that cost something get 402 or 403.',
}

const LEVELS: Meanings<Limit['level'], string> = {
  key: 'Its own',
  issuer: 'Of the key that issued it',
  budget: 'Shared budget',
  guardrail: 'Guardrail',
}

/** Models of which each is named before the rest is folded. */
const NAMED = 12

export function Access({ hash }: { hash: string }) {
  const found = useResource<KeyAccessReply>((signal) => call(`/v1/keys/${hash}/access`, { signal }), [hash])
  const access = found.data?.data
  return (
    <Section title="What it may do">
      {found.error && <ErrorNote error={found.error} onRetry={found.reload} />}
      {access ? <Facts access={access} /> : !found.error && <Loading />}
    </Section>
  )
}

function Facts({ access }: { access: Access }) {
  const { refused_because: refusals, role, role_text: rights, expires_at: end, guardrails, rates } = access
  return (
    <div class="key-access">
      <p>
        {refusals.length === 0 && <Badge tone="good">May call models</Badge>}
        {refusals.map((reason) => (
          <span key={reason}>
            <Badge tone="bad">{plainWord(reason)}</Badge> {wordMeaning(REFUSALS, reason)}{' '}
          </span>
        ))}
      </p>
      <dl class="facts">
        <Fact name="Role">
          {role ?? 'Of a later version'} <span class="under">{rights}</span>
        </Fact>
        <Fact name="Models">
          <Models access={access} />
        </Fact>
        <Fact name="Rates">{rates.length === 0 ? 'No rate is set' : rates.map(rateText).join('; ')}</Fact>
        <Fact name="Guardrails">
          {guardrails.length === 0
            ? 'None holds'
            : guardrails.map(({ id, name, scope }) => (
                <span key={id} class="key-note">
                  <a href={pathTo(['guardrails'])}>{name}</a>
                  {scope === 'account' && ', for every request'}
                </span>
              ))}
        </Fact>
        <Fact name="Ends">{end === null ? 'Never' : <Time iso={end} />}</Fact>
        <Fact name="Beside models">
          {access.pass_through ? 'Pass-through' : 'No pass-through'}
          {access.provider_ids.length > 0 && <span class="under">Ids at providers: {access.provider_ids.join(', ')}</span>}
        </Fact>
      </dl>
      <Limits limits={access.limits} />
    </div>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Models({ access: { models, model_count: all, allowed_models: allowed, provider } }: { access: Access }) {
  const providers = [...new Set(models.flatMap((model) => model.providers))]
  const names = models.map(({ id }) => id)
  return (
    <>
      {formatCount(models.length)} of {formatCount(all)}
      {providers.length > 0 && <span class="under">at {providers.join(', ')}</span>}
      {names.length > 0 && (
        <details open={names.length <= NAMED}>
          <summary>Which</summary>
          {names.join(', ')}
        </details>
      )}
      {allowed && <span class="under">Its own list: {allowed.join(', ')}</span>}
      {provider && <span class="under">Its preferences: {JSON.stringify(provider)}</span>}
    </>
  )
}

function rateText({ from, requests, tokens, streams, bytes }: Access['rates'][number]): string {
  const parts = [
    requests !== null && `${formatCount(requests)} requests a minute`,
    tokens !== null && `${formatCount(tokens)} tokens a minute`,
    streams !== null && `${formatCount(streams)} streams at once`,
    bytes !== null && `${formatBytes(bytes)} of requests at once`,
  ].filter(Boolean)
  return `${parts.join(', ')}${from === 'issuer' ? ' (of the key that issued it)' : ''}`
}

function Limits({ limits }: Pick<Access, 'limits'>) {
  if (limits.length === 0) return <EmptyNote title="No limit of any level">It may spend as much as it likes.</EmptyNote>
  return (
    <Table
      caption="Limits of all levels"
      rows={limits}
      rowKey={({ level, name, window }) => [level, name, window].join(' ')}
      columns={[
        { name: 'level', title: 'Level', cell: ({ level, name }) => `${wordMeaning(LEVELS, level) ?? plainWord(level)}: ${name}` },
        { name: 'limit', title: 'Limit', isNumber: true, cell: ({ limit }) => <Money usd={limit} /> },
        { name: 'window', title: 'Each', cell: ({ window }) => plainWord(window) },
        { name: 'used', title: 'Used', isNumber: true, cell: ({ used }) => <Money usd={used} /> },
        { name: 'left', title: 'Left', isNumber: true, cell: ({ remaining }) => <Money usd={remaining} /> },
        { name: 'reset', title: 'Begins anew', cell: ({ resets_at: at }) => <Time iso={at} /> },
      ]}
    />
  )
}
