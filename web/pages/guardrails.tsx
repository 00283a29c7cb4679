/** The page "Guardrails": a bench for a text, those in force, and what they have found. */
import { call } from '../api.ts'
import type { AssignmentsReply, Guardrail, GuardrailsReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Badge, PageHead, Section } from '../components/values.tsx'
import { formatUsd } from '../format.ts'
import type { PageProps } from '../page.ts'
import { type Resource, useResource } from '../resource.ts'
import { opens } from '../rights.ts'
import { pathTo } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { actionTone, Bench } from './guardrails-bench.tsx'
import { Findings } from './guardrails-findings.tsx'

type Assignment = AssignmentsReply['data'][number]

export default function GuardrailsPage({ session }: PageProps) {
  const guardrails = useResource<GuardrailsReply>((signal) => call('/v1/guardrails', { query: { limit: 100 }, signal }), [])
  const assignments = useResource<AssignmentsReply>(
    (signal) => call('/v1/guardrails/assignments/keys', { query: { limit: 100 }, signal }),
    [],
  )
  return (
    <>
      <PageHead title="Guardrails">What is looked for in requests and replies, what was found, and what would be.</PageHead>
      <Bench guardrails={guardrails.data?.data ?? []} />
      <Section title="In force">
        <List guardrails={guardrails} assignments={assignments.data?.data ?? []} />
      </Section>
      <Section title="Findings">
        {opens(session, 'POST /guardrails/command') ? (
          <Findings guardrails={guardrails.data?.data ?? []} />
        ) : (
          <EmptyNote title="Findings are for the operator">Sign in with the admin token: they may hold texts of callers.</EmptyNote>
        )}
      </Section>
    </>
  )
}

interface ListProps {
  readonly guardrails: Resource<GuardrailsReply>
  readonly assignments: readonly Assignment[]
}

function List({ guardrails: { data, error, reload }, assignments }: ListProps) {
  return (
    <Table
      caption="Guardrails"
      rows={data?.data}
      error={error}
      onRetry={reload}
      rowKey={({ id }) => id}
      empty={
        <EmptyNote title="No guardrail yet">
          They stand in the configuration under <code>guardrails</code>, or are made over the API.
        </EmptyNote>
      }
      columns={[
        { name: 'name', title: 'Name', cell: (each) => <Name guardrail={each} />, sortBy: ({ name }) => name },
        {
          name: 'holds',
          title: 'Holds for',
          cell: (each) => <Holds guardrail={each} keys={assignments.filter(({ guardrail_id: id }) => id === each.id)} />,
        },
        { name: 'reads', title: 'Looks for', cell: (each) => <LooksFor guardrail={each} /> },
        { name: 'bounds', title: 'Bounds', cell: (each) => <Bounds guardrail={each} /> },
      ]}
    />
  )
}

const SOURCES: Meanings<Guardrail['source'], string> = { configuration: 'of the file', store: 'made over the API' }

function Name({ guardrail: { name, description, source } }: { guardrail: Guardrail }) {
  return (
    <>
      {name}
      <span class="key-note">{description ?? wordMeaning(SOURCES, source) ?? plainWord(source)}</span>
    </>
  )
}

function Holds({ guardrail: { scope }, keys }: { guardrail: Guardrail; keys: readonly Assignment[] }) {
  if (scope === 'account') return <Badge tone="accent">Every request</Badge>
  if (scope !== 'api-key') return <span>{plainWord(scope)}</span>
  if (keys.length === 0) return <span class="quiet">No key: it does nothing</span>
  return (
    <ul>
      {keys.map(({ key_hash: hash, key_name: name }) => (
        <li key={hash}>
          <a href={pathTo(['keys', hash])}>{name}</a>
        </li>
      ))}
    </ul>
  )
}

const DIRECTIONS: Meanings<NonNullable<Guardrail['direction']>, string> = { input: 'in requests', output: 'in replies', both: 'both ways' }

function LooksFor({
  guardrail: { content_filter_builtins, content_filters, phrases = [], action = 'flag', engine, direction },
}: {
  guardrail: Guardrail
}) {
  const rules = [
    ...(content_filter_builtins ?? []).map((each) => [each.slug, each.action] as const),
    ...(content_filters ?? []).map((each) => [each.label ?? each.pattern, each.action] as const),
    ...phrases.map((phrase) => [`“${phrase}”`, action] as const),
    ...(engine ? [[`engine ${engine.type}`, action] as const] : []),
  ]
  if (rules.length === 0) return <span class="quiet">No text</span>
  return (
    <>
      <ul class="rules">
        {rules.map(([text, each]) => (
          <li key={text}>
            <Badge tone={actionTone(each)}>{each}</Badge> <span>{text}</span>
          </li>
        ))}
      </ul>
      <span class="key-note">{wordMeaning(DIRECTIONS, direction ?? 'input') ?? plainWord(direction ?? '')}</span>
    </>
  )
}

function Bounds({ guardrail }: { guardrail: Guardrail }) {
  const { limit_usd: limit, reset_interval: reset } = guardrail
  const lists = [
    ['models', guardrail.allowed_models],
    ['not models', guardrail.ignored_models],
    ['providers', guardrail.allowed_providers],
    ['not providers', guardrail.ignored_providers],
  ] as const
  const lines = lists.flatMap(([what, names]) => (names && names.length > 0 ? [`${what} ${names.join(', ')}`] : []))
  if (limit !== null) lines.unshift(`${formatUsd(limit)} of each key${reset ? `, ${reset}` : ''}`)
  if (lines.length === 0) return <span class="quiet">Nothing</span>
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}
