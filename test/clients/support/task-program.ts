/** Clients in another language: a program that reads lines of JSON, [client, url, key, model], and writes for each a line: both answers, or its error as text. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { RunTask, Account as TaskAccount } from './task.ts'

/** One feature of a client, or its task where none is named. */
export type RunFeature = (account: TaskAccount, feature?: string) => Promise<readonly string[]>

/** Starts the program once for all tasks, which run one after the other. It stops when `root` ends. @returns the task of a client. */
export function startTaskProgram(root: Test, command: string, args: readonly string[] = []): (client: string) => RunTask {
  const startFeature = startFeatureProgram(root, command, args)
  return (client) => (account) => startFeature(client)(account)
}

/** The same for features: what is wanted stands behind the account in each line. */
export function startFeatureProgram(root: Test, command: string, args: readonly string[] = []): (client: string) => RunFeature {
  const process = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  root.teardown(() => process.kill())
  const lines = createInterface({ input: process.stdout })
  const ended = once(process, 'exit').then(() => Promise.reject(new Error(`${command} has ended`)))
  ended.catch(() => undefined)
  return (client) =>
    async ({ url, key, model }, feature) => {
      process.stdin.write(`${JSON.stringify([client, url, key, model, ...(feature === undefined ? [] : [feature])])}\n`)
      const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
      const answers = JSON.parse(line) as string[] | string
      if (typeof answers === 'string') throw new Error(answers)
      return answers
    }
}

/** Way in which a client takes the end of an answer: finished, shown as not whole, raised, or silent, where nothing says how. */
export interface Reading {
  readonly kind: 'finished' | 'shown' | 'raised' | 'silent'
  /** Arguments of the calls. */
  readonly calls: string[]
}

export type Read = (model: string, prompt: string, stream: boolean) => Promise<Reading>

interface ReaderProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly clients: readonly string[]
}

export interface Account {
  readonly url: string
  readonly key: string
}

/**
 * Starts a program that reads ends of answers, several at once: lines of JSON, [number, client, url, key, model, prompt, stream], and for
 * each [number, kind, calls]. It stops when `root` ends. @returns the readers of an account, by the names of the clients.
 */
export function startReaders(root: Test, { command, args, clients }: ReaderProgram): (account: Account) => Record<string, Read> {
  const process = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  root.teardown(() => process.kill())
  const waiting = new Map<number, { resolve(reading: Reading): void; reject(problem: Error): void }>()
  let next = 0
  const failAll = (): void => {
    for (const { reject } of waiting.values()) reject(new Error(`${command} has ended`))
    waiting.clear()
  }
  process.once('exit', failAll)
  process.stdin.once('error', failAll)
  createInterface({ input: process.stdout }).on('line', (line) => {
    const [number, kind, calls] = JSON.parse(line) as [number, Reading['kind'], string[]]
    waiting.get(number)?.resolve({ kind, calls })
    waiting.delete(number)
  })
  const startReader =
    (client: string, { url, key }: Account): Read =>
    (model, prompt, stream) =>
      new Promise((resolve, reject) => {
        const number = next++
        waiting.set(number, { resolve, reject })
        process.stdin.write(`${JSON.stringify([number, client, url, key, model, prompt, stream])}\n`)
      })
  return (account) => Object.fromEntries(clients.map((client) => [client, startReader(client, account)]))
}
