/** Replacements of the common scenarios for Aider, which has no tools: it takes its edits from the text of a reply, and commits them itself. */
import type { Step } from './model.ts'
import { LIST, noteProblems, type Outcome, READ, runSteps, type Scenario, summaryProblems, WRITE } from './scenarios.ts'
import { BIG, type Stage, textIn } from './world.ts'

const LONG_FILE = 'long.txt'
/** More than Aider keeps of a conversation: a sixteenth of the context, and 8,192 tokens at most. */
const LONG_TEXT = `${Array.from({ length: 1000 }, (_, at) => `entry ${at} of a long file, which fills the conversation`).join('\n')}\n`

/** The second prompt restores the first turn from the file in which Aider keeps it. */
async function task(stage: Stage): Promise<Outcome> {
  const { problems, model } = await runSteps(
    stage,
    [LIST, READ, WRITE],
    ['Write the words of alpha.txt and beta.txt to note.txt.', 'Which words did you write?'],
  )
  return { problems: [...problems, ...noteProblems(stage.place)], traffic: model.traffic }
}

async function largeFile(stage: Stage): Promise<Outcome> {
  const step: Step = { name: 'big', action: { do: 'read', files: ['big.txt'] } }
  const { problems, model } = await runSteps(stage, [step], ['How long is big.txt?'])
  const lines = model.results.get('big')?.[0]?.match(/^line \d{5} of the big file.*\n/gm) ?? []
  const kilobytes = Math.round(lines.join('').length / 1024)
  if (kilobytes === 0) problems.push('the file does not come')
  return { problems, traffic: model.traffic, note: `the file is in the chat: the agent sends ${kilobytes} of ${BIG / 1024} KB` }
}

async function compaction(stage: Stage): Promise<Outcome> {
  const step: Step = { name: 'long', action: { do: 'write', file: LONG_FILE, text: LONG_TEXT } }
  const { problems, model } = await runSteps(stage, [step], ['Write a long file.', 'What did you write?'])
  if (textIn(stage.place.work, LONG_FILE)?.trim() !== LONG_TEXT.trim()) problems.push(`${LONG_FILE} is not written`)
  return { problems: [...problems, ...summaryProblems(model)], traffic: model.traffic }
}

export const EDIT_BLOCKS = 'edit blocks'

export const AIDER_SCENARIOS: readonly Scenario[] = [
  { name: 'task', text: 'reads two files in the chat, writes a third and commits it', run: task },
  { name: 'large result', text: 'a file of 300 KB in the chat', run: largeFile },
  { name: 'compaction', text: 'a conversation that is too long is summarised when it is restored', run: compaction },
  { name: EDIT_BLOCKS, text: 'the task with `edit-format: diff`: edits as blocks of search and replace', run: task },
]
