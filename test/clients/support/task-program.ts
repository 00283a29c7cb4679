/** Clients in another language: a program that reads lines of JSON, [client, url, key, model], and writes for each a line: both answers, or its error as text. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { RunTask } from './task.ts'

/** Starts the program once for all tasks, which run one after the other. It stops when `root` ends. @returns the task of a client. */
export function startTaskProgram(root: Test, command: string, args: readonly string[] = []): (client: string) => RunTask {
  const process = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  root.teardown(() => process.kill())
  const lines = createInterface({ input: process.stdout })
  const ended = once(process, 'exit').then(() => Promise.reject(new Error(`${command} has ended`)))
  ended.catch(() => undefined)
  return (client) =>
    async ({ url, key, model }) => {
      process.stdin.write(`${JSON.stringify([client, url, key, model])}\n`)
      const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
      const answers = JSON.parse(line) as string[] | string
      if (typeof answers === 'string') throw new Error(answers)
      return answers
    }
}
