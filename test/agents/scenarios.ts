/** Scenarios that every agent has to manage on every wire. */
import { eventually } from '../support/eventually.ts'
import { object } from '../support/fold.ts'
import type { Place } from './agent-run.ts'
import { numberSentence } from './mcp-server.ts'
import { Model, type ModelOptions, type Step, type Traffic } from './model.ts'
import { type Run, startProcess } from './start-process.ts'
import { BIG, committed, FILES, type Stage, textIn, WORDS } from './world.ts'

export interface Outcome {
  /** Faults of the run; empty where the agent has managed it. */
  readonly problems: readonly string[]
  /** Note for the reader of the table. */
  readonly note?: string | undefined
  readonly traffic: Traffic
}

export interface Scenario {
  readonly name: string
  /** For the documents. */
  readonly text: string
  run(stage: Stage): Promise<Outcome>
}

const NOTE = { file: 'note.txt', text: 'marigold and quicksilver, "written" through the gateway\n' }
export const COMMIT = 'Add the note'
export const FINAL = 'The work is finished: cobalt.'
const TASK =
  'List the files here, read alpha.txt and beta.txt at once, write what they say to note.txt and commit it with the message "Add the note".'

export const LIST: Step = { name: 'list', action: { do: 'list' }, results: [/alpha\.txt/] }
export const READ: Step = {
  name: 'read',
  action: { do: 'read', files: [FILES.alpha, FILES.beta] },
  results: [new RegExp(WORDS.alpha), new RegExp(WORDS.beta)],
}
export const WRITE: Step = { name: 'write', action: { do: 'write', ...NOTE } }
const SAVE: Step = { name: 'commit', action: { do: 'run', commands: [`git add -A && git commit -m '${COMMIT}'`] } }

export interface Played extends Run {
  readonly model: Model
  readonly problems: string[]
}

export function modelFor({ agent, world, place }: Stage, more: Pick<ModelOptions, 'steps' | 'stalls' | 'breaks'>): Model {
  const context = agent.contextTokens?.(world.account) ?? world.account.models.main.context ?? 200_000
  const model = new Model({ agent, place, wire: world.wire, final: FINAL, context: context - 500, ...more })
  world.standIn.play = model.play
  world.standIn.refused.length = 0
  world.standIn.signatures.returned = 0
  return model
}

/** Refusals of the provider, and the output of the agent where it did not end well. */
export function runProblems({ world }: Stage, model: Model, { code, out, err }: Run): string[] {
  const refused = world.standIn.refused.map(({ refusal }) => `the provider refused: ${refusal.status} ${JSON.stringify(refusal.body)}`)
  const wrong = [...refused, ...model.problems, ...model.missing()]
  if (code !== 0) wrong.push(`the agent ended with ${code}`)
  if (!out.includes(FINAL)) wrong.push('the agent does not show the last words')
  return wrong.length > 0 ? [...wrong, `it printed: ${out.slice(-3000)}\n${err.slice(-3000)}`] : []
}

/** Prompts one after the other in one conversation. */
export async function runSteps(stage: Stage, steps: readonly Step[], prompts: readonly string[], image?: string): Promise<Played> {
  const { agent, place } = stage
  const model = modelFor(stage, { steps })
  let run: Run = { code: null, out: '', err: '' }
  for (const [at, prompt] of prompts.entries()) {
    const args = agent.command(prompt, { resume: at > 0, ...(image === undefined ? {} : { image }) }, place)
    run = await startProcess(agent, place, [agent.program(place.install), ...args]).ended
    if (run.code !== 0) break
  }
  return { ...run, model, problems: runProblems(stage, model, run) }
}

/** Faults of the note and its commit. */
export function noteProblems({ work }: Place): string[] {
  const { subject, files } = committed(work)
  const text = textIn(work, NOTE.file)
  return [
    ...(text?.trim() === NOTE.text.trim() ? [] : [`note.txt holds ${text}`]),
    ...(subject === COMMIT && files.includes(NOTE.file) ? [] : [`the last commit is ${subject}: ${files}`]),
  ]
}

async function task(stage: Stage): Promise<Outcome> {
  const { problems, model } = await runSteps(stage, [LIST, READ, WRITE, SAVE], [TASK])
  const { place, world } = stage
  problems.push(...noteProblems(place))
  const { returned } = world.standIn.signatures
  const { returnsReasoning, losesReasoning } = stage.agent
  const why = losesReasoning?.[`${place.format} ${world.wire}`]
  // Chat completions of OpenAI show no reasoning.
  if (returnsReasoning?.(place.format) && world.wire !== 'openai-chat' && returned === 0 && why === undefined)
    problems.push('signed reasoning is lost')
  if (why !== undefined && returned > 0) problems.push("signed reasoning comes back, other than the agent's file says")
  return { problems, traffic: model.traffic, note: returned > 0 ? 'signed reasoning comes back' : why }
}

async function parallel(stage: Stage): Promise<Outcome> {
  const words = ['first', 'second']
  const step: Step = {
    name: 'both',
    // The answers hold what the commands do not.
    action: { do: 'run', commands: words.map((word) => `printf '%s-%s' ${word} answer`) },
    results: words.map((word) => new RegExp(`^(?![^]*${words.find((each) => each !== word)}-answer)[^]*${word}-answer`)),
  }
  const { problems, model } = await runSteps(stage, [step], ['Run both commands at once.'])
  return { problems, traffic: model.traffic }
}

async function largeResult(stage: Stage): Promise<Outcome> {
  const { problems, model } = await runSteps(
    stage,
    [{ name: 'big', action: { do: 'run', commands: [`cat ${FILES.big}`] } }],
    ['Show big.txt.'],
  )
  const [result = ''] = model.results.get('big') ?? []
  // Agents that shorten it keep its beginning or its end, and OpenCode may lose what a command prints last.
  if (!/line \d{5} of the big file/.test(result)) problems.push(`the result is ${result.slice(0, 500)}`)
  const kilobytes = Math.round(result.length / 1024)
  return { problems, traffic: model.traffic, note: `the agent sends ${kilobytes} of ${BIG / 1024} KB` }
}

/** Faults of the summary of the conversation. */
export function summaryProblems({ last, summaries }: Model): string[] {
  const texts = last ? [...last.heard, last.utterance, last.system] : []
  return [
    ...(summaries === 0 ? ['no summary was requested'] : []),
    ...(texts.some((text) => text.includes('What was done so far')) ? [] : ['the summary does not come back']),
  ]
}

async function compaction(stage: Stage): Promise<Outcome> {
  const { agent, place } = stage
  const { compactCommand } = agent
  const reads: Step = { ...READ, ...(compactCommand === undefined ? { fills: true } : {}) }
  const prompts = compactCommand === undefined ? [TASK] : [TASK, compactCommand, 'Which words did you read?']
  const { problems, model } = await runSteps(stage, compactCommand === undefined ? [LIST, reads, WRITE] : [LIST, reads], prompts)
  problems.push(...summaryProblems(model))
  if (compactCommand === undefined && textIn(place.work, NOTE.file) === undefined) problems.push('the work does not go on')
  return { problems, traffic: model.traffic }
}

async function mcp(stage: Stage): Promise<Outcome> {
  const word = 'porcelain'
  const step: Step = { name: 'lookup', action: { do: 'mcp', tool: 'lookup', args: { word } }, results: [new RegExp(numberSentence(word))] }
  const { problems, model } = await runSteps(stage, [step], ['Look the word porcelain up in the ledger.'])
  return { problems, traffic: model.traffic }
}

async function image(stage: Stage): Promise<Outcome> {
  const step: Step = { name: 'look', action: { do: 'look', file: FILES.image } }
  const { problems, model } = await runSteps(stage, [step], ['What is on red.png?'], FILES.image)
  if (model.images === 0) problems.push('no image reaches the provider')
  return { problems, traffic: model.traffic }
}

async function kill(stage: Stage): Promise<Outcome> {
  const { agent, place, world } = stage
  const model = modelFor(stage, { steps: [LIST], stalls: true })
  const started = startProcess(agent, place, [agent.program(place.install), ...agent.command('List the files here.', {}, place)])
  const spent = async (): Promise<number> => {
    const reply = (await (await world.gateway.get('/v1/key')).json()) as { data: { usage: number } }
    return reply.data.usage
  }
  const problems: string[] = []
  const seen = await Promise.race([model.stalled, started.ended.then(() => undefined)])
  if (!seen) return { problems: runProblems(stage, model, await started.ended), traffic: model.traffic }
  const before = await spent()
  started.kill()
  await started.ended
  let isClosed = false
  void seen.closed.then(() => {
    isClosed = true
  })
  await eventually('the end of the request to the provider', () => isClosed).catch(() => undefined)
  if (!isClosed || !seen.aborted) problems.push("the provider's request is not ended")
  const charged = await eventually('the charge', async () => (await spent()) > before, { limit: 10_000 }).catch(() => false)
  if (!charged) problems.push(`what was spent is not charged: ${before} before and after`)
  return { problems: [...problems, ...model.problems], traffic: model.traffic }
}

export const SCENARIOS: readonly Scenario[] = [
  { name: 'task', text: 'lists files, reads two at once, writes one and commits it', run: task },
  { name: 'parallel', text: 'two calls at once get their own results', run: parallel },
  { name: 'large result', text: 'a command that prints 300 KB', run: largeResult },
  { name: 'compaction', text: 'the conversation is summarised, and goes on', run: compaction },
  { name: 'MCP', text: 'a tool of an MCP server', run: mcp },
  { name: 'image', text: 'an image file reaches the model', run: image },
  { name: 'kill', text: "killed in mid-stream: the provider's request ends, and what was spent is charged", run: kill },
]

/** One of them by its name. */
export function findScenario(name: string): Scenario {
  const found = SCENARIOS.find((each) => each.name === name)
  if (!found) throw new Error(`no scenario ${name}`)
  return found
}

/** Fields that the gateway left out of the requests, by the records of the generations. @param from index of the first line of the log. */
export async function leftOut({ world: { gateway } }: Stage, from: number): Promise<string[]> {
  const found = new Set<string>()
  for (const line of gateway.logs.slice(from)) {
    const { gen } = JSON.parse(line) as { gen?: string }
    if (gen === undefined) continue
    const reply = (await (await gateway.get(`/v1/generation?id=${gen}`)).json()) as { data?: { provider_responses?: object[] } }
    for (const response of reply.data?.provider_responses ?? []) {
      const { dropped } = object(response as never)
      if (Array.isArray(dropped)) for (const name of dropped) found.add(String(name))
    }
  }
  return [...found].sort()
}
