/** The steps of a request in order, each with a bar where its time is known. The words beside the bars say the same. */
import { Badge } from '../components/values.tsx'
import { formatMs, formatTime } from '../format.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { Found, type Step, toStep } from './requests-steps.tsx'
import type { Attempt, RequestDetail } from './requests-types.ts'

export function Timeline({ request }: { request: RequestDetail }) {
  const steps = timelineSteps(request)
  const areTimed = request.attempts.every(({ at_ms: at }) => at != null)
  const whole = Math.max(1, request.generation_time ?? 0, ...steps.map(({ from = 0, length = 0 }) => from + length))
  return (
    <>
      <ol class="timeline">
        {steps.map((step, index) => (
          <li key={index} class={step.tone}>
            <div class="step-head">
              <h3>{step.title}</h3>
              <span class="number quiet">
                {step.from !== undefined && `at ${formatMs(step.from)}`}
                {step.length !== undefined && `${step.from === undefined ? '' : ', '}took ${formatMs(step.length)}`}
              </span>
            </div>
            {step.detail && <div class="step-detail">{step.detail}</div>}
            {step.length !== undefined && <Bar from={step.from ?? 0} length={step.length} whole={whole} />}
          </li>
        ))}
      </ol>
      <Found request={request} />
      {request.attempts.length > 1 && !areTimed && (
        <p class="quiet note-line">An attempt begins when the one before it has failed, so that its start is the sum of those before.</p>
      )}
    </>
  )
}

/** An SVG, since the policy of the page allows no styles of elements. */
function Bar({ from, length, whole }: { from: number; length: number; whole: number }) {
  const width = Math.max(0.6, (length / whole) * 100)
  return (
    <svg class="bar-line" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-ground" x="0" y="0" width="100" height="4" rx="1" />
      <rect class="bar-part" x={Math.min(100 - width, (from / whole) * 100)} y="0" width={width} height="4" rx="1" />
    </svg>
  )
}

function timelineSteps(request: RequestDetail): Step[] {
  const { timeline, attempts } = request
  const steps: Step[] = []
  let start = 0
  for (const { kind, at_ms: at, duration_ms: duration, position, name } of timeline) {
    const from = at ?? undefined
    const length = duration ?? undefined
    if (kind === 'admitted') steps.push({ title: 'Admitted', tone: 'neutral', from: 0, detail: <Admission request={request} /> })
    else if (kind === 'layers')
      steps.push({
        title: 'Before the first call',
        tone: 'neutral',
        from: 0,
        length,
        detail: 'Read, checked, guarded, routed, and its cost held, with what the gateway waited for meanwhile.',
      })
    else if (kind === 'moderation')
      steps.push({ title: 'Moderation', tone: 'neutral', from, length, detail: 'A guardrail had the request looked at by a service.' })
    else if (kind === 'attempt') {
      const attempt = attempts.find((each) => each.position === position)
      if (attempt) steps.push(attemptStep(attempt, attempts.length, from ?? start))
      start += length ?? 0
    } else if (kind === 'first_content') {
      if (request.provider_name) steps.push({ title: 'First content', tone: 'neutral', from })
    } else if (kind === 'settled') steps.push({ ...ending(request), from })
    else {
      const step = request.steps.find((each) => each.position === position)
      // A kind that the page does not know is a step of the request as well.
      steps.push(step ? toStep(step, request.steps) : { title: plainWord(kind), tone: 'neutral', from, length, detail: name ?? undefined })
    }
  }
  const tools = toolStep(request)
  if (tools) steps.splice(steps.at(-1)?.title === 'First content' ? steps.length : Math.max(0, steps.length - 1), 0, tools)
  return steps
}

function attemptStep(attempt: Attempt, count: number, from: number): Step {
  const { position, provider_name: provider, endpoint, status, error, latency, dropped, turn = 1 } = attempt
  const isGood = error === null && status !== null && status < 400
  return {
    title: count > 1 ? `Attempt ${position}: ${provider ?? 'a provider'}` : `Call of ${provider ?? 'a provider'}`,
    tone: isGood ? 'good' : 'bad',
    from,
    length: attempt.duration_ms ?? latency ?? undefined,
    detail: (
      <>
        <p>
          <Badge tone={isGood ? 'good' : 'bad'}>{status === null ? 'No reply' : `Status ${status}`}</Badge> {whyMade(attempt)}
        </p>
        {attempt.time_to_first_token != null && <p>First token after {formatMs(attempt.time_to_first_token)}.</p>}
        {turn > 1 && <p class="quiet">Turn {turn} of the conversation with the tools</p>}
        {endpoint && (
          <p class="quiet">
            Endpoint <code>{endpoint}</code>
          </p>
        )}
        {error && (
          <p>
            Failed with <code>{error}</code>
            {attempt.cause && `: ${attempt.cause.replaceAll('_', ' ')}`}
          </p>
        )}
        {dropped.length > 0 && <p>Not sent, since this endpoint does not take them: {dropped.join(', ')}</p>}
      </>
    ),
  }
}

const CHOICES: Meanings<NonNullable<Attempt['choice']>, string> = {
  only_one: 'The only endpoint of the model.',
  order: 'First in the list of the request.',
  session: 'Its conversation was served there last.',
  tier: 'The priority tier was requested.',
  weight: 'Drawn by lot, with the weights that the configuration states.',
  draw: 'Drawn by lot among the endpoints, where cheaper ones have better odds.',
  quality: 'Best with tools, which the request offers.',
  price: 'The cheapest, as the request sorts.',
  throughput: 'The one with the most tokens per second, as the request sorts.',
  latency: 'The quickest, as the request sorts.',
  exacto: 'Best with tools, as the request sorts.',
  least_busy: 'The one with the fewest calls running for its weight, as the request sorts.',
}

const REASONS: Meanings<Attempt['reason'], string> = {
  first: 'First in the order of the endpoints.',
  previous_failed: 'Next in the order, since the attempt before it failed.',
  next_turn: 'The next turn, with the results of the tools.',
  without_reasoning: 'Once more without the reasoning that it has refused.',
}

function whyMade({ reason, choice }: Attempt): string {
  if (reason === 'first' && choice) return wordMeaning(CHOICES, choice) ?? `First, by: ${plainWord(choice)}.`
  return wordMeaning(REASONS, reason) ?? `Made because of: ${plainWord(reason)}.`
}

function Admission({ request }: { request: RequestDetail }) {
  const { created_at: at, api_key_name: key, router, model } = request
  return (
    <p>
      {formatTime(at)}, with the key {key ?? 'that is gone'}
      {router && (
        <>
          ; <code>{router}</code> became <code>{model}</code>
        </>
      )}
    </p>
  )
}

/** Work of the gateway's own tools; its times are not kept. */
function toolStep({
  steps,
  num_search_results: results,
  num_fetches: fetches,
  web_search_engine: engine,
}: RequestDetail): Step | undefined {
  // Where the row has them, the steps say more.
  if ((!results && !fetches && !engine) || steps.some(({ kind }) => kind === 'tool')) return undefined
  return {
    title: 'Tools of the gateway',
    tone: 'neutral',
    detail: [
      engine && `web search with ${engine}`,
      results && `${results} search results shown to the model`,
      fetches && `${fetches} pages fetched`,
    ]
      .filter(Boolean)
      .join(', '),
  }
}

const ENDINGS: Meanings<RequestDetail['status'], readonly [tone: Step['tone'], text: string]> = {
  completed: ['good', 'The whole reply was delivered.'],
  incomplete: ['warn', 'The reply ended before its end, such as at the output cap.'],
  failed: ['bad', 'No endpoint could answer.'],
  aborted: ['warn', 'The caller left before the end.'],
  unknown: ['bad', 'The gateway ended meanwhile, so that the outcome is not known.'],
  open: ['neutral', 'It has not ended yet.'],
}

function ending({ status, error, finish_reason: reason }: RequestDetail): Step {
  const [tone, text] = wordMeaning(ENDINGS, status) ?? ['warn', '']
  return {
    title: `Settled as ${status}`,
    tone,
    detail: (
      <p>
        {text} {typeof reason === 'string' && <>Reason of the end: {reason}.</>} {error && <code>{error}</code>}
      </p>
    ),
  }
}
