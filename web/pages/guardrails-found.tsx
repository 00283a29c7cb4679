/** A finding of a guardrail, as the admin listener gives it to the operator, and its parts as the pages show them. */
import { call } from '../api.ts'
import type { Word } from '../api-types.ts'
import { Badge, type Tone } from '../components/values.tsx'
import { type Meanings, meaningOf, plainWord } from '../words.ts'

export interface Finding {
  readonly at: string
  readonly generation: string
  readonly key: string
  readonly key_name: string | null
  readonly guardrail_id: string
  readonly guardrail: string
  readonly direction: Word<'input' | 'output'>
  readonly stage: string
  readonly action: Word<'flagged' | 'redacted' | 'blocked' | 'unchecked'>
  readonly entities: readonly string[]
  readonly engines: readonly string[]
  readonly count: number
  /** Only where the guardrail keeps them. */
  readonly texts?: readonly string[]
}

export interface FindingsReply {
  readonly data: readonly Finding[]
  readonly next: { readonly at: number; readonly id: string } | null
}

/** Narrowed by what the operator looks for. */
export type Sought = Readonly<Record<string, string | number | object>>

/** The newest first. */
export const readFindings = (sought: Sought, signal?: AbortSignal): Promise<FindingsReply> =>
  call('/guardrails/command', { method: 'POST', body: { verb: 'audit', ...sought }, signal })

const TONES: Meanings<Finding['action'], Tone> = { flagged: 'accent', redacted: 'warn', blocked: 'bad', unchecked: 'warn' }

export function ActionOf({ action }: Pick<Finding, 'action'>) {
  return <Badge tone={meaningOf(TONES, action) ?? 'neutral'}>{plainWord(action)}</Badge>
}

/** True where the request has no record: it was sent to no provider and cost nothing. */
export const hadRefused = ({ action, direction }: Finding): boolean => action === 'blocked' && direction === 'input'

const DIRECTIONS: Meanings<Finding['direction'], string> = { input: 'in a request', output: 'in a reply' }

export function What({ finding: { entities, engines, direction, texts } }: { finding: Finding }) {
  return (
    <>
      {entities.join(', ') || '–'}
      <span class="key-note">
        {meaningOf(DIRECTIONS, direction) ?? plainWord(direction)}, by {engines.join(', ')}
      </span>
      {texts && (
        <ul>
          {texts.map((text) => (
            <li key={text}>
              <code>{text}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
