/** A finding of a guardrail, as the admin listener gives it to the operator, and its parts as the pages show them. */
import { call } from '../api.ts'
import type { FindingsReply } from '../api-types.ts'
import { Badge, type Tone } from '../components/values.tsx'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

/** `texts` are there only where the guardrail keeps them. */
export type Finding = FindingsReply['data'][number]

/** Narrowed by what the operator looks for. */
export type Sought = Readonly<Record<string, string | number | object>>

/** The newest first. */
export const readFindings = (sought: Sought, signal?: AbortSignal): Promise<FindingsReply> =>
  call('/guardrails/command', { method: 'POST', body: { verb: 'audit', ...sought }, signal })

const TONES: Meanings<Finding['action'], Tone> = { flagged: 'accent', redacted: 'warn', blocked: 'bad', unchecked: 'warn' }

export function ActionBadge({ action }: Pick<Finding, 'action'>) {
  return <Badge tone={wordMeaning(TONES, action) ?? 'neutral'}>{plainWord(action)}</Badge>
}

/** True where the request has no record: it was sent to no provider and cost nothing. */
export const hadRefused = ({ action, direction }: Finding): boolean => action === 'blocked' && direction === 'input'

const DIRECTIONS: Meanings<Finding['direction'], string> = { input: 'in a request', output: 'in a reply' }

export function What({ finding: { entities, engines, direction, texts } }: { finding: Finding }) {
  return (
    <>
      {entities.join(', ') || '–'}
      <span class="key-note">
        {wordMeaning(DIRECTIONS, direction) ?? plainWord(direction)}, by {engines.join(', ')}
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
