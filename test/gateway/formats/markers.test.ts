/**
 * Nothing is lost unseen: every leaf of each documented surface carries a mark, and must come out on the other side,
 * or make a difference there, or stand in the table of losses with its reason. The table must hold no other entry.
 */
import t, { type Test } from 'tap'
import type { Loss } from '../../../scripts/losses/loss.ts'
import { replyLosses } from '../../../scripts/losses/replies.ts'
import { requestLosses } from '../../../scripts/losses/requests.ts'
import type { ParameterName } from '../../../src/core/parameters.ts'
import { upstreamDialects } from '../../../src/dialects/registry.ts'
import { every } from '../../support/every.ts'
import { lanesBetween } from '../../support/lanes.ts'
import { type Cell, startWires, WIRE_NAMES } from '../../support/matrix/field.ts'
import { type MarkedLeaf, marked, type Surface } from '../../support/matrix/markers.ts'
import { type Outcome, observeReply, observeRequest } from '../../support/matrix/observe.ts'
import { findParameter } from '../../support/matrix/parameter-paths.ts'
import { CHAT_REQUESTS } from '../../support/matrix/surface-chat.ts'
import { MESSAGES_REQUESTS } from '../../support/matrix/surface-messages.ts'
import { REPLIES } from '../../support/matrix/surface-replies.ts'
import { RESPONSES_REQUESTS } from '../../support/matrix/surface-responses.ts'
import type { AnyWireName } from '../../support/wire.ts'

type AnyCell = Cell<AnyWireName>

/** True for a format whose replies have surfaces of their own. */
const hasReplies = (cell: AnyCell): cell is Cell => cell.wire in REPLIES

const REQUESTS: Readonly<Record<Cell['client']['id'], Readonly<Record<string, Surface>>>> = {
  chat: CHAT_REQUESTS,
  responses: RESPONSES_REQUESTS,
  messages: MESSAGES_REQUESTS,
}

// Thousands of calls: a minute on a busy machine.
t.setTimeout(280_000)

const field = await startWires(t, [...WIRE_NAMES, 'bedrock-converse'])

/** Entries of this pair; those of the translate lane count for a pair of one wire only when it is forced into it. */
const cellLosses = (all: readonly Loss[], cell: AnyCell): readonly Loss[] =>
  all.filter(
    (loss) => loss.client === cell.client.id && loss.upstream === cell.wire && (loss.lane === undefined || loss.lane === cell.lane),
  )

/** Client and provider speak the same wire. */
const sameWire = (cell: AnyCell): boolean => lanesBetween(cell.client.id, cell.wire).length > 1

/** True for the path itself and whatever stands below it. */
const covers = (loss: Loss, path: string): boolean =>
  path === loss.path || (path.startsWith(loss.path) && /^[.[]/.test(path.slice(loss.path.length)))

const unique = (paths: readonly string[]): string[] => [...new Set(paths)].sort()

/** Outcome of a parameter at this wire, by its table. */
function cellOutcome(cell: AnyCell, leaf: MarkedLeaf): { name: ParameterName; dropped: boolean } | undefined {
  const name = findParameter(cell.client.id, leaf.path)
  const outcome = name && upstreamDialects.get(cell.wire)?.parameters[name]
  return name && outcome && { name, dropped: 'dropped' in outcome }
}

/** Checks one surface. @returns the entries that it needed. */
function explain(t: Test, cell: AnyCell, outcome: Outcome, entries: readonly Loss[]): Loss[] {
  const needed: Loss[] = []
  const unexplained: string[] = []
  for (const leaf of outcome.lost) {
    const parameter = cellOutcome(cell, leaf)
    const entry = entries.find((loss) => covers(loss, leaf.path))
    if (entry) needed.push(entry)
    if (entry?.recorded !== undefined && !outcome.dropped.includes(entry.recorded))
      unexplained.push(`${leaf.path}: not recorded as ${entry.recorded}`)
    else if (!entry && !(parameter?.dropped && outcome.dropped.includes(parameter.name))) unexplained.push(leaf.path)
  }
  t.same(unique(unexplained), [], `every loss is explained; recorded are ${outcome.dropped.join(' ')}`)
  return needed
}

/** A parameter whose leaves arrived must be one that the table sends, and the other way round. */
function keepsToTable(t: Test, cell: AnyCell, leaves: readonly MarkedLeaf[], outcome: Outcome): void {
  const wrong = leaves.filter((leaf) => cellOutcome(cell, leaf)?.dropped === true && !outcome.lost.includes(leaf))
  t.same(unique(wrong.map((leaf) => leaf.path)), [], 'what the table of parameters drops does not arrive')
}

for (const cell of field.cells.filter((each) => each.lane !== 'observe')) {
  t.test(`requests of ${cell.name}`, async (t) => {
    const entries = cellLosses(requestLosses, cell)
    const needed = new Set<Loss>()
    await every(t, 'every surface', async (t) => {
      for (const [name, surface] of Object.entries(REQUESTS[cell.client.id])) {
        await every(t, name, async (t) => {
          const { body, leaves } = marked(surface)
          const outcome = await observeRequest(cell, { body, leaves })
          const lostWhole = entries.find((loss) => loss.path === name || loss.path === `tools[${name.replace(/^tool /, '')}]`)
          if (lostWhole) {
            needed.add(lostWhole)
            const refused = lostWhole.reason.startsWith('refused')
            t.equal(outcome.status, refused ? 400 : 200, outcome.refusal)
            if (refused) t.match(outcome.refusal, /\w+(?=\]?$)/.exec(lostWhole.path)?.[0], 'the refusal names it')
            return
          }
          t.equal(outcome.status, 200, outcome.refusal)
          for (const loss of explain(t, cell, outcome, entries)) needed.add(loss)
          keepsToTable(t, cell, leaves, outcome)
        })
      }
    })
    if (cell.lane !== 'translate' || !sameWire(cell))
      t.same(
        entries.filter((loss) => !needed.has(loss)).map((loss) => loss.path),
        [],
        'the table tells of no loss that does not happen',
      )
  })

  if (!hasReplies(cell)) continue
  t.test(`replies of ${cell.name}`, async (t) => {
    const entries = cellLosses(replyLosses, cell)
    const needed = new Set<Loss>()
    await every(t, 'every surface', async (t) => {
      for (const [name, surface] of Object.entries(REPLIES[cell.wire]))
        for (const stream of [false, true]) {
          await every(t, `${name}${stream ? ', streamed' : ''}`, async (t) => {
            const outcome = await observeReply(cell, marked(surface), stream)
            t.equal(outcome.status, 200, outcome.refusal)
            for (const loss of explain(t, cell, outcome, entries)) needed.add(loss)
          })
        }
    })
    if (cell.lane !== 'translate' || !sameWire(cell))
      t.same(
        entries.filter((loss) => !needed.has(loss)).map((loss) => loss.path),
        [],
        'the table tells of no loss that does not happen',
      )
  })
}
