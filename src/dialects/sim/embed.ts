/** Simulated embeddings: the model `embed` gives every text the same unit vector, and texts with the same pieces near ones. */

import type { Clock, Timer } from '../../core/clock.ts'
import { entryAt } from '../../core/entry-at.ts'
import { asFault, Fault } from '../../core/faults.ts'
import type { Part } from '../canon/request.ts'
import { noUsage } from '../canon/usage.ts'
import type { LocalRun } from '../local-run.ts'
import type { EmbeddingAsk, EmbeddingInput, EmbeddingTarget, EmbeddingWire, VectorSink } from '../types.ts'
import { decodeFault, type FaultPlan, faultPlan } from './faults.ts'
import { countTokens, MEDIA_TOKENS } from './tokens.ts'

const MODEL = 'embed'
/** Numbers of a vector where the caller names none. */
const DIMENSIONS = 256
/** Letters of a piece of text, numbers that each piece stirs, and what an image counts for beside a text. */
const GRAM = 3
const PROBES = 4
const MEDIA_WEIGHT = 8
/** Vectors before other work gets its turn. */
const BATCH = 8

export const simEmbedding: EmbeddingWire = {
  id: 'sim',
  most: { inputs: 2048 },
  longInput: 'truncates',
  keys: new Set(),
  decodeFault,
  auth: () => ['x-simulated', 'true'],
  lacks: () => undefined,
  encode: ({ settings }) => ({ path: '', body: {}, dropped: settings.user === undefined ? [] : ['user'] }),
  /** There is no wire, so bytes that claim to be ours are unreadable. */
  decode: () => {
    throw new Fault('upstream_garbled')
  },
  run: (ask, target, clock, sink) => new EmbeddingRun({ ask, target }, clock, sink),
}

/** One simulated call: faults and all waiting are on the clock, as with simulated answers. */
class EmbeddingRun implements LocalRun {
  private readonly ask: EmbeddingAsk
  private readonly known: boolean
  private readonly faults: FaultPlan
  private readonly sink: VectorSink
  private timer: Timer | undefined
  private sent = 0
  private over = false

  constructor({ ask, target }: { ask: EmbeddingAsk; target: EmbeddingTarget }, clock: Clock, sink: VectorSink) {
    this.ask = ask
    this.known = target.model === MODEL
    this.faults = faultPlan(target.quirks, clock)
    this.sink = sink
    if (this.faults.delay > 0) this.timer = clock.after(this.faults.delay, () => this.begin())
    else queueMicrotask(() => this.begin())
  }

  /** Vectors are made as they are handed over: there is nothing to hold back. */
  pause(): void {}

  resume(): void {}

  abort(): void {
    this.over = true
    this.timer?.cancel()
  }

  private begin(): void {
    if (this.faults.status !== undefined) this.fail(decodeFault(this.faults.status))
    else if (!this.known) this.fail(new Fault('upstream_missing'))
    else this.pump()
  }

  private fail(fault: Fault): void {
    if (this.over) return
    this.over = true
    this.sink.fail(fault)
  }

  private pump(): void {
    if (this.over) return
    const { inputs, settings } = this.ask
    const { cutAfter = Infinity, stallAfter = Infinity } = this.faults
    const batch: Float32Array[] = []
    const stop = Math.min(inputs.length, cutAfter, stallAfter, this.sent + BATCH)
    for (; this.sent < stop; this.sent++) batch.push(inputVector(entryAt(inputs, this.sent), settings.dimensions ?? DIMENSIONS))
    try {
      this.sink.vectors(batch)
    } catch (problem) {
      this.fail(asFault(problem))
    }
    if (this.sent >= cutAfter) this.fail(new Fault('upstream_cut'))
    else if (this.sent >= inputs.length) this.end()
    else if (this.sent < stallAfter) setImmediate(() => this.pump())
  }

  private end(): void {
    if (this.over) return
    this.over = true
    const input = this.ask.inputs.reduce((sum, each) => sum + inputTokens(each), 0)
    this.sink.end({ ...noUsage(), input })
  }
}

function inputTokens(input: EmbeddingInput): number {
  if (input.kind === 'text') return countTokens(input.text)
  if (input.kind === 'tokens') return input.tokens.length
  return input.parts.reduce((sum, part) => sum + (part.kind === 'text' ? countTokens(part.text) : MEDIA_TOKENS), 0)
}

/** A unit vector: the more pieces two inputs share, the nearer they are. */
export function inputVector(input: EmbeddingInput, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  if (input.kind === 'text') stirText(vector, input.text)
  else if (input.kind === 'tokens') for (const token of input.tokens) stir(vector, hash(`#${token}`), 1)
  else for (const part of input.parts) stirPart(vector, part)
  return normalised(vector)
}

function stirPart(vector: Float32Array, part: Part): void {
  if (part.kind === 'text') stirText(vector, part.text)
  // A medium is what its bytes are, or its address; two of them are as far apart as two words.
  else if (part.kind === 'media') stir(vector, hash(`${part.media}:${part.data ?? part.url ?? ''}`), MEDIA_WEIGHT)
}

/** Words, and pieces of words, so that small changes move a vector little. */
function stirText(vector: Float32Array, text: string): void {
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    if (word === '') continue
    stir(vector, hash(word), 1)
    const edged = ` ${word} `
    for (let i = 0; i + GRAM <= edged.length; i++) stir(vector, hash(edged.slice(i, i + GRAM)), 0.5)
  }
}

function stir(vector: Float32Array, seed: number, weight: number): void {
  let state = seed
  for (let i = 0; i < PROBES; i++) {
    state = mixed(state + 0x9e3779b9)
    const at = state % vector.length
    vector[at] = (vector[at] ?? 0) + ((state & 0x40000000) === 0 ? weight : -weight)
  }
}

/** A vector of length 1; the first unit vector where the input is empty or its pieces cancel out. */
function normalised(vector: Float32Array): Float32Array {
  let sum = 0
  for (const value of vector) sum += value * value
  if (sum === 0) {
    vector[0] = 1
    return vector
  }
  const length = Math.sqrt(sum)
  for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) / length
  return vector
}

/** FNV-1a over UTF-16 units, 32 bits. */
function hash(text: string): number {
  let state = 0x811c9dc5
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193)
  return state >>> 0
}

function mixed(value: number): number {
  let state = value >>> 0
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
  return (state ^ (state >>> 16)) >>> 0
}
