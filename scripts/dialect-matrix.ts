/** The tables of docs/dialects/ that are made from data: what becomes of each parameter, and what is lost between two wires. */
import { PARAMETER_NAMES } from '../src/core/parameters.ts'
import type { ParameterOutcome } from '../src/dialects/canon/parameters.ts'
import { upstreamDialects } from '../src/dialects/registry.ts'
import type { ClientName, Loss, UpstreamName } from './losses/loss.ts'
import { replyLosses } from './losses/replies.ts'
import { requestLosses } from './losses/requests.ts'
import { type Cells, markdownTable } from './markdown-table.ts'

const UPSTREAMS: readonly UpstreamName[] = ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'bedrock-converse']
/** Formats whose replies the marker tests walk through; a loss of requests at all of them is one at all formats. */
const REPLYING: ReadonlySet<UpstreamName> = new Set(UPSTREAMS.filter((name) => name !== 'bedrock-converse'))
export const CLIENTS: readonly ClientName[] = ['chat', 'responses', 'messages']

export const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``

/** Reasons that several cells share go by a number, with the reasons listed below the table. */
class Notes {
  private readonly texts: string[] = []

  number(text: string): string {
    const known = this.texts.indexOf(text)
    return `(${known < 0 ? this.texts.push(text) : known + 1})`
  }

  list(): string {
    return this.texts.map((text, index) => `${index + 1}. ${text}`).join('\n')
  }
}

function outcomeText(outcome: ParameterOutcome | undefined, notes: Notes): string {
  if (!outcome) return ''
  if ('as' in outcome) return code(outcome.as)
  if ('here' in outcome) return outcome.here
  return 'dropped' in outcome ? `dropped ${notes.number(outcome.dropped)}` : `refused ${notes.number(outcome.refused)}`
}

/** Outcome of each parameter at a provider of each wire. */
export function parametersMarkdown(): string {
  const notes = new Notes()
  const rows = PARAMETER_NAMES.map((name) => [
    code(name),
    ...UPSTREAMS.map((upstream) => outcomeText(upstreamDialects.get(upstream)?.parameters[name], notes)),
  ])
  return `${markdownTable(['Parameter', ...UPSTREAMS.map(code)], rows)}\n\n${notes.list()}`
}

/** Losses that differ in nothing but the upstream are one row. */
function lossRows(losses: readonly Loss[], formats: number): Cells[] {
  const rows = new Map<string, { loss: Loss; upstreams: Set<UpstreamName> }>()
  for (const loss of losses) {
    const key = [loss.path, loss.reason, loss.lane, loss.recorded].join('\n')
    const row = rows.get(key) ?? { loss, upstreams: new Set() }
    row.upstreams.add(loss.upstream)
    rows.set(key, row)
  }
  return [...rows.values()].map(({ loss, upstreams }) => [
    code(loss.path),
    upstreams.size === formats ? 'all' : UPSTREAMS.filter((name) => upstreams.has(name)).join(', '),
    loss.lane === undefined ? loss.reason : `${loss.reason} (only in the lane \`translate\`)`,
    loss.recorded === undefined ? '' : code(loss.recorded),
  ])
}

function section(title: string, client: ClientName, losses: readonly Loss[]): string {
  const mine = losses.filter((loss) => loss.client === client)
  const isRequests = title === 'Requests'
  const head = isRequests ? ['Field', 'Lost at', 'Reason', 'Recorded as'] : ['Field', 'Lost from', 'Reason']
  return `## ${title} of ${client} callers\n\n${markdownTable(
    head,
    lossRows(mine, isRequests ? UPSTREAMS.length : REPLYING.size).map((cells) => cells.slice(0, head.length)),
  )}`
}

/** Losses between a client and each wire, with the reasons. */
export function lossesMarkdown(client: ClientName): string {
  return [section('Requests', client, requestLosses), section('Replies', client, replyLosses)].join('\n\n')
}
