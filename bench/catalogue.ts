/**
 * Cost of a large catalogue: `node bench/catalogue.ts [--models 5000] [--runs 20000] [--json]`.
 * A catalogue file of so many models with three endpoints each is read, checked and built into a catalogue, in milliseconds;
 * then requests to models all over it are planned: the slug is looked up, endpoints are filtered and ordered, in microseconds.
 * Ends with code 1 when a goal is missed.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadConfig } from '../src/config/load.ts'
import { entryAt } from '../src/core/entry-at.ts'
import { buildCatalog, type Catalog } from '../src/routing/catalog/catalog.ts'
import { filterEndpoints, HealthBook, mergePreferences, orderEndpoints } from '../src/routing/index.ts'
import { CASES } from './planning/cases.ts'
import { SteppedClock } from './planning/endpoints.ts'
import { seededChance } from './simulation/chance.ts'
import { percentile } from './simulation/figures.ts'

const ENDPOINTS = 3
const PROVIDERS = 10
/** The loader bounds the values of one file. */
const MAX_OF_FILE = 2500
const GOAL_LOAD_MS = 1000
/** As bench/planning.ts has it. */
const GOAL_PLAN_MICROS = 50
/** Of so many loads and rounds the quietest counts: whoever else uses the machine only ever adds. */
const LOADS = 5
const ROUNDS = 20
const STEP_MS = 10

const modelSlug = (i: number): string => `author-${i % 97}/model-${i}`

/** @returns the path of the main file, in a folder of its own. */
function written(folder: string, models: number): string {
  const names = Array.from({ length: PROVIDERS }, (_, i) => `provider-${i}`)
  const entries = Array.from({ length: models }, (_, i) => {
    const endpoints = Array.from({ length: ENDPOINTS }, (_, e) => {
      const price = `{ prompt: "${(0.5 + ((i + e) % 10) / 10).toFixed(2)}", completion: "${(2 + ((i * 3 + e) % 10) / 5).toFixed(2)}", cached: "0.05" }`
      return `      - { provider: ${names[(i + e) % PROVIDERS]}, model: model-${i}, price: ${price}, quantization: fp8 }\n`
    })
    return `  ${modelSlug(i)}:\n    name: "Author ${i % 97}: Model ${i}"\n    created: "2026-0${1 + (i % 9)}-01"\n    context: 128000\n    max_output: 16384\n    input: [text, image]\n    endpoints:\n${endpoints.join('')}`
  })
  const files = Array.from({ length: Math.ceil(models / MAX_OF_FILE) }, (_, i) => `many-${i}.yaml`)
  for (const [i, name] of files.entries())
    writeFileSync(join(folder, name), `models:\n${entries.slice(i * MAX_OF_FILE, (i + 1) * MAX_OF_FILE).join('')}`)
  const providers = names.map((name, i) => `  ${name}: { dialect: sim, data_collection: ${i % 3 === 0 ? 'allow' : 'deny'} }\n`)
  const file = join(folder, 'headgate.yaml')
  writeFileSync(file, `store: { url: "memory:" }\ncatalog: [${files.join(', ')}]\nproviders:\n${providers.join('')}`)
  return file
}

interface Loading {
  /** Milliseconds. */
  readonly read: number
  readonly build: number
}

function load(file: string): { loading: Loading; catalog: Catalog } {
  const began = performance.now()
  const config = loadConfig(file, {})
  const between = performance.now()
  const catalog = buildCatalog(config)
  return { loading: { read: between - began, build: performance.now() - between }, catalog }
}

/** Microseconds at the 99th of 100 plans, of the quietest round. */
function plans(catalog: Catalog, models: number, runs: number): number {
  const clock = new SteppedClock(seededChance(1))
  const health = new HealthBook(clock)
  const chance = (): number => clock.random()
  const times = new Float64Array(runs)
  for (let i = -Math.ceil(runs / 4); i < runs; i++) {
    const one = entryAt(CASES, Math.abs(i) % CASES.length)
    const slug = modelSlug(Math.floor(chance() * models))
    clock.step(STEP_MS)
    const began = performance.now()
    const endpoints = catalog.find(slug)?.model.endpoints ?? []
    const provider = mergePreferences([{ from: 'request', preferences: one.provider }])
    const { kept } = filterEndpoints(endpoints, { provider, contextTokens: 2000, maxOutput: 1000, used: one.used })
    orderEndpoints(kept, { ...provider, tools: one.tools }, chance, health)
    if (i >= 0) times[i] = (performance.now() - began) * 1000
  }
  const size = Math.ceil(runs / ROUNDS)
  const rounds = Array.from({ length: ROUNDS }, (_, round) => times.slice(round * size, Math.min((round + 1) * size, runs)).sort())
  return Math.min(...rounds.filter((round) => round.length > 0).map((round) => percentile(round, 0.99)))
}

function main(): boolean {
  const { values } = parseArgs({
    options: {
      models: { type: 'string', default: '5000' },
      runs: { type: 'string', default: '20000' },
      json: { type: 'boolean', default: false },
    },
  })
  const [models, runs] = [Number(values.models), Number(values.runs)]
  if (!(Number.isInteger(models) && models > 0 && Number.isInteger(runs) && runs > 0))
    throw new Error('--models and --runs must be whole numbers')
  const folder = mkdtempSync(join(tmpdir(), 'headgate-catalogue-'))
  try {
    const file = written(folder, models)
    const first = load(file)
    if (first.catalog.models.length !== models) throw new Error(`${first.catalog.models.length} of ${models} models were built`)
    const loads = [first, ...Array.from({ length: LOADS - 1 }, () => load(file))].map(({ loading }) => loading)
    const quietest = entryAt(
      loads.sort((a, b) => a.read + a.build - b.read - b.build),
      0,
    )
    const total = quietest.read + quietest.build
    const cold = first.loading.read + first.loading.build
    const plan = plans(first.catalog, models, runs)
    const met = cold <= GOAL_LOAD_MS && plan <= GOAL_PLAN_MICROS
    if (values.json) console.log(JSON.stringify({ models, endpoints: ENDPOINTS, cold, quietest, plan, met }))
    else {
      console.log(`${models} models with ${ENDPOINTS} endpoints each`)
      console.log(
        `load, the first time:  ${cold.toFixed(0)} ms (read and check ${first.loading.read.toFixed(0)}, build ${first.loading.build.toFixed(0)}); goal ${GOAL_LOAD_MS}`,
      )
      console.log(`load, when warm:       ${total.toFixed(0)} ms`)
      console.log(`plan, p99:             ${plan.toFixed(1)} µs; goal ${GOAL_PLAN_MICROS}`)
      console.log(met ? 'goals met' : 'GOALS NOT MET')
    }
    return met
  } finally {
    rmSync(folder, { recursive: true })
  }
}

process.exitCode = main() ? 0 : 1
