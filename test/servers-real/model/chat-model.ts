/**
 * A language model of 200,000 weights that is written down, not trained: at temperature 0 it says what `vocabulary.ts` lists.
 * One layer of attention finds the newest keyword of the prompt; the output matrix holds which token follows which.
 */

import { type GgufTensor, type GgufValue, writeGguf } from './gguf.ts'
import { Weights } from './random.ts'
import { CHAT_TEMPLATE } from './template.ts'
import { byteLevel, CONTROL, MARKS, type Piece, TOPICS, WORDS } from './vocabulary.ts'

/** Length of a vector. Its places: a constant, the mark of a keyword, one for each topic; behind them what tells one token from another. */
export const WIDTH = 128
const CONSTANT = 0
const KEYWORD = 1
const FIRST_TOPIC = 2
const FIRST_CODE = 2 + Object.keys(TOPICS).length
export const CONTEXT = 32_768
/** A pair of places that the rotary embedding turns by 0.00049 for each token of distance: attention to a keyword falls evenly with it. */
const SLOW_PAIR = 53
/** Attention to a keyword at distance 0, before its slope; to other tokens it is 0. */
const ATTENTION = 3000

interface Token {
  text: string
  /** As GGUF numbers them: normal, control, user-defined. */
  type: 1 | 3 | 4
  /** Index of the topic that it is a keyword of. */
  topic?: number
}

export interface ChatModel {
  tokens: Token[]
  tensors: GgufTensor[]
}

function vocabulary(): Token[] {
  const bytes: Token[] = Array.from({ length: 256 }, (_, byte) => ({ text: byteLevel(Buffer.from([byte])), type: 1 }))
  const marks: Token[] = [...MARKS, ...WORDS].map((text) => ({ text, type: 4 }))
  const topics = Object.values(TOPICS)
  const keywords: Token[] = topics.flatMap(({ keywords }, topic) => keywords.map((text): Token => ({ text, type: 4, topic })))
  const pieces: Token[] = topics.flatMap(({ thought, answer }) =>
    [...thought, ...answer].filter((piece) => !MARKS.includes(String(piece))).map((piece): Token => ({ text: byteLevel(piece), type: 1 })),
  )
  // The list of merges may not be empty: two spaces are one token.
  const spaces: Token = { text: byteLevel('  '), type: 1 }
  const all = [...bytes, spaces, ...marks, ...keywords, ...pieces]
  const unique = new Map<string, Token>()
  for (const token of all) {
    const known = unique.get(token.text)
    if (known && token.topic === undefined) {
      if (pieces.includes(token)) throw new Error(`the piece ${JSON.stringify(token.text)} occurs twice`)
      continue
    }
    unique.set(token.text, token)
  }
  return [...CONTROL.map((text): Token => ({ text, type: 3 })), ...unique.values()]
}

/** Adds `weight` times the code of a token to the row of the token that follows it. */
type Follow = (next: number, before: number, weight: number) => void

export function chatModel(): ChatModel {
  const tokens = vocabulary()
  const index = new Map(tokens.map(({ text }, at) => [text, at]))
  const at = (piece: Piece): number => {
    const found = index.get(typeof piece === 'string' && MARKS.includes(piece) ? piece : byteLevel(piece)) ?? index.get(String(piece))
    if (found === undefined) throw new Error(`no token ${JSON.stringify(String(piece))}`)
    return found
  }
  const embedding = embeddings(tokens)
  const output = new Float32Array(tokens.length * WIDTH)
  const follow: Follow = (next, before, weight) => {
    for (let place = FIRST_CODE; place < WIDTH; place++) output[next * WIDTH + place] += weight * (embedding[before * WIDTH + place] ?? 0)
  }
  const bias = (token: number, weight: number): void => {
    output[token * WIDTH + CONSTANT] += weight
  }
  const [think, thought, gap, end] = [at('<think>'), at('</think>'), at('\n\n'), at('<|im_end|>')]
  follow(think, at('assistant\n'), 20)
  follow(gap, thought, 20)
  for (const [topic, { thought: utterance, answer, endless }] of Object.values(TOPICS).entries()) {
    chain(utterance.map(at), thought, follow)
    chain(answer.map(at), endless ? at(answer[1] ?? '') : end, follow)
    for (const [before, first] of [
      [think, at(utterance[0] ?? '')],
      [gap, at(answer[0] ?? '')],
    ] as const) {
      follow(first, before, 12)
      if (topic === 0) bias(first, 6)
      else output[first * WIDTH + FIRST_TOPIC + topic] += 8
    }
  }
  // What a grammar makes the model write ends soon.
  for (const [text, weight] of [
    ['<|im_end|>', 4],
    ['}', 3],
    ['"', 3],
    [']', 2],
    ['1', 1],
  ] as const)
    bias(at(text), weight)
  return { tokens, tensors: [...outer(tokens.length, embedding, output), ...layer()] }
}

function chain(pieces: readonly number[], end: number, follow: Follow): void {
  for (const [place, piece] of pieces.entries()) follow(pieces[place + 1] ?? end, piece, 20)
}

function embeddings(tokens: readonly Token[]): Float32Array {
  const codes = new Weights(7)
  const all = new Float32Array(tokens.length * WIDTH)
  for (const [row, { topic }] of tokens.entries()) {
    const code = codes.matrix(WIDTH - FIRST_CODE, 1)
    const length = Math.sqrt(code.reduce((sum, value) => sum + value * value, 0))
    all.set(
      code.map((value) => value / length),
      row * WIDTH + FIRST_CODE,
    )
    all[row * WIDTH + CONSTANT] = 1
    if (topic === undefined) continue
    all[row * WIDTH + KEYWORD] = 1
    all[row * WIDTH + FIRST_TOPIC + topic] = 1
  }
  return all
}

function outer(count: number, embedding: Float32Array, output: Float32Array): GgufTensor[] {
  return [
    { name: 'token_embd.weight', shape: [count, WIDTH], data: embedding },
    { name: 'output_norm.weight', shape: [WIDTH], data: new Float32Array(WIDTH).fill(1) },
    { name: 'output.weight', shape: [count, WIDTH], data: output },
  ]
}

/** Lengths of the normed vectors of a keyword and of any other token: what one of their ones has become. */
const KEYWORD_ONE = Math.sqrt(WIDTH / 4)
const OTHER_ONE = Math.sqrt(WIDTH / 2)

function layer(): GgufTensor[] {
  const square = (): Float32Array => new Float32Array(WIDTH * WIDTH)
  const [query, key, value, back] = [square(), square(), square(), square()]
  // Score = ATTENTION · cos(0.00049 · distance + 45°): the angle stands in the query.
  const strength = Math.sqrt(ATTENTION * Math.sqrt(WIDTH))
  const set = (matrix: Float32Array, row: number, column: number, weight: number): void => {
    matrix[row * WIDTH + column] = weight
  }
  set(query, 2 * SLOW_PAIR, CONSTANT, (strength * Math.SQRT1_2) / OTHER_ONE)
  set(query, 2 * SLOW_PAIR + 1, CONSTANT, (strength * Math.SQRT1_2) / OTHER_ONE)
  set(key, 2 * SLOW_PAIR, KEYWORD, strength / KEYWORD_ONE)
  for (let place = FIRST_TOPIC; place < FIRST_CODE; place++) {
    set(value, place, place, 1 / KEYWORD_ONE)
    set(back, place, place, 1)
  }
  const ones = (): Float32Array => new Float32Array(WIDTH).fill(1)
  return [
    { name: 'blk.0.attn_norm.weight', shape: [WIDTH], data: ones() },
    { name: 'blk.0.attn_q.weight', shape: [WIDTH, WIDTH], data: query },
    { name: 'blk.0.attn_k.weight', shape: [WIDTH, WIDTH], data: key },
    { name: 'blk.0.attn_v.weight', shape: [WIDTH, WIDTH], data: value },
    { name: 'blk.0.attn_output.weight', shape: [WIDTH, WIDTH], data: back },
    { name: 'blk.0.ffn_norm.weight', shape: [WIDTH], data: ones() },
  ]
}

/** The network behind the attention adds nothing; how wide it is decides how long a token takes. */
export function network(width: number): GgufTensor[] {
  return [
    { name: 'blk.0.ffn_gate.weight', shape: [width, WIDTH], data: undefined },
    { name: 'blk.0.ffn_up.weight', shape: [width, WIDTH], data: undefined },
    { name: 'blk.0.ffn_down.weight', shape: [WIDTH, width], data: undefined },
  ]
}

/** @param slowness width of the part that does nothing: 32 is quick, 100,000 is some hundred tokens a second. */
export function writeChatModel(path: string, slowness = 32): void {
  const { tokens, tensors } = chatModel()
  const id = (text: string): GgufValue => ({ uint32: tokens.findIndex((token) => token.text === text) })
  const fields: Record<string, GgufValue> = {
    'general.architecture': { string: 'llama' },
    'general.name': { string: 'tiny chat' },
    'llama.context_length': { uint32: CONTEXT },
    'llama.embedding_length': { uint32: WIDTH },
    'llama.block_count': { uint32: 1 },
    'llama.feed_forward_length': { uint32: slowness },
    'llama.attention.head_count': { uint32: 1 },
    'llama.attention.head_count_kv': { uint32: 1 },
    'llama.attention.layer_norm_rms_epsilon': { float32: 1e-6 },
    'llama.rope.dimension_count': { uint32: WIDTH },
    'llama.rope.freq_base': { float32: 10_000 },
    'llama.vocab_size': { uint32: tokens.length },
    'general.file_type': { uint32: 0 },
    'tokenizer.ggml.model': { string: 'gpt2' },
    'tokenizer.ggml.pre': { string: 'qwen2' },
    'tokenizer.ggml.tokens': { strings: tokens.map(({ text }) => text) },
    'tokenizer.ggml.token_type': { ints: tokens.map(({ type }) => type) },
    'tokenizer.ggml.merges': { strings: [`${byteLevel(' ')} ${byteLevel(' ')}`] },
    'tokenizer.ggml.eos_token_id': id('<|im_end|>'),
    'tokenizer.ggml.padding_token_id': id('<|endoftext|>'),
    'tokenizer.ggml.add_bos_token': { bool: false },
    'tokenizer.chat_template': { string: CHAT_TEMPLATE },
  }
  writeGguf(path, fields, [...tensors, ...network(slowness)])
}
