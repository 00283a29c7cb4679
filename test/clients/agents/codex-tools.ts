/**
 * Codex with all of its tools at providers that know functions alone, strict stand-ins of all four wires; no feature is switched off.
 * It lists the files, writes one with its patch tool, finds its tools for sub-agents, starts one and waits for it.
 */
import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../../src/core/json.ts'
import { startMatrix } from '../../providers/matrix.ts'
import { RULES } from '../../providers/rules/index.ts'
import type { StandIn } from '../../providers/stand-in.ts'
import type { Said } from '../../support/wire.ts'
import type { Place, Run } from './agent.ts'

/** At least one for each wire; xAI speaks Responses without Codex's kinds of tools. */
const PRESETS = ['openai-chat', 'mistral', 'anthropic', 'gemini', 'xai']

/** Names that Codex knows and does not know; the models behind them are those of the stand-ins. */
const NAMES = { patch: 'gpt-5.5', spaced: 'coder', script: 'gpt-6.1-sol' } as const

type RunAgent = (place: Place, account: { url: string; key: string; model: string }, task: string) => Promise<Run>

const PATCH = '*** Begin Patch\n*** Add File: note.txt\n+written "through" the gateway\n*** End Patch\n'
const SUBTASK = 'Say that you have begun.'

const call = (name: string, args: JsonObject): Said => {
  const text = JSON.stringify(args)
  return { calls: [{ id: `call_${name.slice(-9)}`, name, args: [text.slice(0, 5), text.slice(5, 12), text.slice(12)].filter((each) => each !== '') }] }
}

/** Steps in the order in which they are taken, and the words in a request that show that one has been. */
type Step = readonly [done: RegExp, says: (body: string) => Said]

const PATCHING: readonly Step[] = [
  [/welcome\.txt/, () => call('exec_command', { cmd: 'ls -1' })],
  [/Success\. Updated/, () => call('apply_patch', { input: PATCH })],
  [/total_results/, () => call('tool_search', { query: 'spawn sub-agent', limit: 8 })],
]
const SPAWNING: readonly Step[] = [
  [/welcome\.txt/, () => call('exec_command', { cmd: 'ls -1; printf "written \\"through\\" the gateway\\n" > note.txt' })],
  [/agent_id/, () => call('multi_agent_v1__spawn_agent', { message: SUBTASK })],
  [/I have begun\./, (body) => call('multi_agent_v1__wait_agent', { targets: [/agent_id\W+([\w-]+)/.exec(body)?.[1] ?? ''] })],
]
const SCRIPT = 'const r = await tools.exec_command({ cmd: "printf \'written \\"through\\" the gateway\\\\n\' > note.txt; ls -1" });\ntext(r.output);\n'
const SCRIPTED: readonly Step[] = [[/welcome\.txt/, () => call('functions__exec', { input: SCRIPT })]]

const STEPS: Readonly<Record<string, readonly Step[]>> = { [NAMES.patch]: PATCHING, [NAMES.spaced]: SPAWNING, [NAMES.script]: SCRIPTED }
const DONE: Said = { text: ['I wrote ', 'note.txt.'] }

/** The next thing that the model does, by what the last request holds. */
function nextStep(steps: readonly Step[], request: JsonObject | undefined): Said {
  const { tools: _, ...rest } = request ?? {}
  const body = JSON.stringify(rest)
  if (body.includes(SUBTASK) && !body.includes('List the files')) return { text: ['I have begun.'] }
  const step = steps.find(([done]) => !done.test(body.replaceAll(/List the files[^"]*/g, '')))
  return step ? step[1](body) : DONE
}

function script(standIn: StandIn, steps: readonly Step[]): void {
  Object.defineProperty(standIn, 'said', { get: () => nextStep(steps, standIn.accepted.at(-1)), configurable: true })
}

/** Runs all of it. @throws at the first thing that does not hold. */
export async function withAllTools(place: Place, run: RunAgent): Promise<void> {
  const closers: (() => unknown)[] = []
  const rules = RULES.filter(({ preset }) => PRESETS.includes(preset))
  const aliases = rules.flatMap(({ preset, models: [model] }) => Object.values(NAMES).map((name) => `  ${preset}/${name}: ${model.slug}`))
  const root = { teardown: (close: () => unknown) => void closers.push(close) }
  const { gateway, standIns } = await startMatrix(root, rules, `aliases:\n${aliases.join('\n')}`)
  const note = join(place.work, 'note.txt')
  try {
    for (const standIn of standIns)
      for (const [name, steps] of Object.entries(STEPS)) {
        rmSync(note, { force: true })
        standIn.accepted.length = 0
        script(standIn, steps)
        const model = `${standIn.rules.preset}/${name}`
        const { code, out, err } = await run(place, { url: gateway.url, key: gateway.key, model }, 'List the files here, then write note.txt.')
        const shown = `${model}: ${out}\n${err}\n${JSON.stringify(standIn.refused.map(({ refusal }) => refusal))}`
        assert.equal(standIn.refused.length, 0, shown)
        assert.equal(code, 0, shown)
        assert.match(out, /I wrote note\.txt\./, shown)
        assert.equal(readFileSync(note, 'utf8'), 'written "through" the gateway\n', shown)
        const last = JSON.stringify(standIn.accepted.findLast((body) => JSON.stringify(body).includes('List the files')))
        for (const [done] of steps) assert.match(last, done, shown)
        if (name === NAMES.patch) assert.match(last, /multi_agent_v1__spawn_agent/, 'what the search has found is offered')
        console.log(`ok - codex, ${model}: ${standIn.accepted.length} requests, none refused`)
      }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}
