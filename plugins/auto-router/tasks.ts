/** The kinds of task that a prompt is sorted into: the same names that scores in the catalogue have. */

export const TASKS = ['general', 'coding', 'reasoning', 'math', 'writing', 'extraction', 'translation', 'tools', 'vision'] as const

export type Task = (typeof TASKS)[number]

/** Points by task: the task with the most is the prompt's. */
export type Points = Record<Task, number>

/** Points with which every prompt starts: something must speak for a task before it is more than general. */
export function startingPoints(): Points {
  return { general: 1, coding: 0, reasoning: 0, math: 0, writing: 0, extraction: 0, translation: 0, tools: 0, vision: 0 }
}

/** The task with the most points; of equal ones the first in `TASKS`. */
export function leading(points: Readonly<Points>): Task {
  return TASKS.reduce((best, task) => (points[task] > points[best] ? task : best))
}
