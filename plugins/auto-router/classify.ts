/** From a prompt to the kind of its task: points for words, form and request fields, and the most points win. */
import type { Prompt } from './prompt.ts'
import { countMarks } from './structure.ts'
import { leading, type Points, startingPoints, TASKS, type Task } from './tasks.ts'
import { ACTIONS, CONDITIONS, LANGUAGES, VOCABULARY } from './vocabulary.ts'
import { splitWords, type Words } from './words.ts'

/** Words of the instructions count half, and give a task this many points at most. */
const SYSTEM_WEIGHT = 0.5
const SYSTEM_MOST = 3
/** Points where tools are offered, where one was called lately, and for each word of acting, up to a limit. */
const TOOLS_OFFERED = 2.5
const TOOLS_CALLED = 2
const ACTION = 0.8
const ACTIONS_MOST = 3
/** Signs of a plain question or of small talk together. */
const GENERAL_MOST = 2.5
/** So many different words that set conditions. */
const CONDITIONS_LEAST = 4
const CONDITIONS_GIVEN = 2
/** An instruction, a colon, and at least so many words. */
const LONG_MATERIAL = 40
const MATERIAL_GIVEN = 1
const JSON_SCHEMA = 4
const JSON_OBJECT = 2
const FILE = 1
const HIGH_EFFORT = 1.5
const HIGH_EFFORTS: ReadonlySet<string> = new Set(['high', 'xhigh', 'max'])
/** A language behind a word such as `into`; a language named in any other place. */
const LANGUAGE_TARGET = 3
const LANGUAGE_NAMED = 0.7
const LANGUAGE_WANTED = 4

interface Entry {
  readonly task: Task
  readonly points: number
  /** The further words of a phrase. */
  readonly rest: readonly string[]
}

const ENTRIES = new Map<string, Entry[]>()
for (const [task, points, list] of VOCABULARY) {
  for (const entry of list.trim().split(/\s+/)) {
    const [first = '', ...rest] = entry.split('_')
    ENTRIES.set(first, [...(ENTRIES.get(first) ?? []), { task, points, rest }])
  }
}
const ACTION_WORDS: ReadonlySet<string> = new Set(ACTIONS)
const LANGUAGE_WORDS: ReadonlySet<string> = new Set(LANGUAGES)
const CONDITION_WORDS: ReadonlySet<string> = new Set(CONDITIONS)
const TOWARDS: ReadonlySet<string> = new Set(['to', 'into', 'in', 'auf', 'ins', 'aufs', 'en', 'al', 'na', 'на'])

export interface Classification {
  readonly task: Task
  /** Points of each task. */
  readonly points: Readonly<Points>
}

/** Deterministic, and bounded by the bounds of the prompt. */
export function classify(prompt: Prompt): Classification {
  const points = startingPoints()
  if (prompt.seen) {
    points.vision = 10
    return { task: 'vision', points }
  }
  const words = splitWords(prompt.user)
  addVocabulary(points, words, 1)
  points.general = Math.min(GENERAL_MOST, points.general)
  if (words.material >= LONG_MATERIAL) points.extraction += MATERIAL_GIVEN
  if (distinct(words.all, CONDITION_WORDS) >= CONDITIONS_LEAST) points.reasoning += CONDITIONS_GIVEN
  addLanguages(points, words)
  for (const [task, worth] of countMarks(prompt.user)) points[task] += worth
  if (prompt.system !== '') addInstructions(points, prompt.system)
  addFields(points, prompt, words)
  return { task: leading(points), points }
}

/** Each entry counts once, where it weighs most. */
function addVocabulary(points: Points, { all, weight }: Words, share: number): void {
  const given = new Map<Entry, number>()
  for (const [at, begin] of all.entries()) {
    for (const entry of findEntries(begin)) {
      if (entry.rest.some((word, i) => all[at + 1 + i] !== word)) continue
      const worth = entry.points * weight(at) * share
      const before = given.get(entry) ?? 0
      if (worth <= before) continue
      given.set(entry, worth)
      points[entry.task] += worth - before
    }
  }
}

const NONE: readonly Entry[] = []

function findEntries(word: string): readonly Entry[] {
  return ENTRIES.get(word) ?? (word.length > 3 && word.endsWith('s') ? ENTRIES.get(word.slice(0, -1)) : undefined) ?? NONE
}

/** `into French` and `the Russian for` ask for a translation; a language alone hints at it. */
function addLanguages(points: Points, { all, weight }: Words): void {
  let most = 0
  for (const [at, word] of all.entries()) {
    if (!LANGUAGE_WORDS.has(word)) continue
    const before = all[at - 1]
    const wanted = all[at + 1] === 'for' || all[at + 1] === 'version' || all[at + 1] === 'translation' || all[at + 1] === 'word'
    const target = before !== undefined && TOWARDS.has(before)
    const worth = (wanted ? LANGUAGE_WANTED : target ? LANGUAGE_TARGET : LANGUAGE_NAMED) * Math.min(1, weight(at))
    if (worth > most) most = worth
  }
  points.translation += most
}

function addInstructions(points: Points, system: string): void {
  const own = startingPoints()
  own.general = 0
  const words = splitWords(system)
  addVocabulary(own, words, SYSTEM_WEIGHT)
  addLanguages(own, words)
  for (const task of TASKS) points[task] += Math.min(SYSTEM_MOST, own[task])
}

function addFields(points: Points, prompt: Prompt, { all }: Words): void {
  if (prompt.tools) {
    const actions = ACTION * distinct(all, ACTION_WORDS)
    points.tools += TOOLS_OFFERED + Math.min(ACTIONS_MOST, actions) + (prompt.called ? TOOLS_CALLED : 0)
  }
  if (prompt.format === 'json_schema') points.extraction += JSON_SCHEMA
  if (prompt.format === 'json_object') points.extraction += JSON_OBJECT
  if (prompt.file) points.extraction += FILE
  if (prompt.effort !== undefined && HIGH_EFFORTS.has(prompt.effort)) points.reasoning += HIGH_EFFORT
}

function distinct(words: readonly string[], among: ReadonlySet<string>): number {
  const found = new Set<string>()
  for (const word of words) if (among.has(word)) found.add(word)
  return found.size
}
