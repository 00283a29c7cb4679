/** Fifty endpoints over five models, and a book that knows a lot about each of them. */

import { loadConfig } from '../../src/config/load.ts'
import type { Clock } from '../../src/core/clock.ts'
import { entryAt } from '../../src/core/entry-at.ts'
import { Fault } from '../../src/core/faults.ts'
import { buildCatalog } from '../../src/routing/catalog/catalog.ts'
import type { Endpoint, Model } from '../../src/routing/catalog/types.ts'
import { HealthBook } from '../../src/routing/index.ts'
import { type Chance, jitter, seededChance } from '../simulation/chance.ts'

const MODELS = 5
const PROVIDERS = 10
/** Successes per endpoint before the first plan: more than a window of samples keeps. */
const SAMPLES = 400
const QUANTIZATIONS = ['fp4', 'fp8', 'bf16', 'unknown'] as const
const PARAMETERS = 'temperature, top_p, max_tokens, stop, seed, tools, tool_choice, response_format, reasoning'

/** Time that only moves when the bench says so. */
export class SteppedClock implements Clock {
  readonly random: Chance
  private elapsed = 0

  constructor(chance: Chance) {
    this.random = chance
  }

  now(): number {
    return Date.UTC(2026, 0, 5, 12) + this.elapsed
  }

  monotonic(): number {
    return this.elapsed
  }

  after(): never {
    throw new Error('planning waits for nothing')
  }

  step(ms: number): void {
    this.elapsed += ms
  }
}

export interface Ground {
  readonly models: readonly Model[]
  readonly endpoints: readonly Endpoint[]
  readonly health: HealthBook
  readonly clock: SteppedClock
  /** One more success of some endpoint, as traffic brings them. */
  serve(): void
}

export function ground(seed: number): Ground {
  const clock = new SteppedClock(seededChance(seed))
  const { models } = buildCatalog(loadConfig('planning.yaml', {}, { text: configText() }))
  const endpoints = models.flatMap((model) => model.endpoints)
  const health = new HealthBook(clock)
  const chance = seededChance(seed + 1)
  const serve = (endpoint: Endpoint): void => {
    health.success(endpoint, { firstTokenMs: 400 * jitter(chance, 0.4), tokensPerSecond: 80 * jitter(chance, 0.3) })
  }
  for (let i = 0; i < SAMPLES * endpoints.length; i++) {
    clock.step(10)
    serve(entryAt(endpoints, i % endpoints.length))
  }
  // Some are in trouble, as ever.
  for (const endpoint of endpoints) if (chance() < 0.1) for (let i = 0; i < 8; i++) health.failure(endpoint, new Fault('upstream_error'))
  return { models, endpoints, health, clock, serve: () => serve(entryAt(endpoints, Math.floor(chance() * endpoints.length))) }
}

function configText(): string {
  const names = Array.from({ length: PROVIDERS }, (_, i) => `provider-${i}`)
  const models = Array.from({ length: MODELS }, (_, m) => {
    const endpoints = names.map((name, i) => {
      const price = `{ prompt: "${(0.5 + ((i * 7 + m) % 10) / 10).toFixed(2)}", completion: "${(2 + ((i * 3 + m) % 10) / 5).toFixed(2)}" }`
      const more = `quantization: ${QUANTIZATIONS[(i + m) % 4]}, supported_parameters: [${PARAMETERS}]`
      return `      - { provider: ${name}, model: model-${m}, price: ${price}, ${more} }\n`
    })
    return `  acme/model-${m}:\n    context: 128000\n    max_output: 16384\n    endpoints:\n${endpoints.join('')}`
  })
  const policy = (i: number): string => `data_collection: ${i % 3 === 0 ? 'allow' : 'deny'}, zdr: ${i % 4 === 0}`
  return [
    'store: { url: "memory:" }\nproviders:\n',
    ...names.map((name, i) => `  ${name}: { dialect: sim, ${policy(i)} }\n`),
    'models:\n',
    ...models,
  ].join('')
}
