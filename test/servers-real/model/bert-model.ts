/**
 * A random BERT for embeddings, or with one score for ranking: the same weights as a GGUF file, for llama.cpp, and as a folder, for the
 * Python servers. Its words are letters, and those of the tiny chat model.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GgufTensor, type GgufValue, writeGguf } from './gguf.ts'
import { Weights } from './random.ts'
import { writeSafetensors } from './safetensors.ts'

/** Numbers of a vector. */
export const VECTOR = 64
/** Tokens of the longest input. */
export const LONGEST = 512
const LAYERS = 2
const WIDTH = 128
const CONTROL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyz0123456789')
const WORDS = ['hello', 'world', 'weather', 'city', 'river', 'stone', 'bread', 'the', 'of', 'is', 'in', 'a']
const TOKENS = [
  ...CONTROL,
  ...WORDS.filter((word) => word.length > 1),
  ...LETTERS,
  ...LETTERS.map((letter) => `##${letter}`),
  '.',
  ',',
  '?',
]

interface Named extends GgufTensor {
  /** In the transformers library, below the model. */
  readonly hf: string
}

type Kind = 'embed' | 'rank'

/** Names of the layers: in llama.cpp and in transformers, with the sizes of their outputs and inputs. */
const PARTS: readonly (readonly [gguf: string, hf: string, out: number, into: number])[] = [
  ['attn_q', 'attention.self.query', VECTOR, VECTOR],
  ['attn_k', 'attention.self.key', VECTOR, VECTOR],
  ['attn_v', 'attention.self.value', VECTOR, VECTOR],
  ['attn_output', 'attention.output.dense', VECTOR, VECTOR],
  ['ffn_up', 'intermediate.dense', WIDTH, VECTOR],
  ['ffn_down', 'output.dense', VECTOR, WIDTH],
]
const NORMS: readonly (readonly [gguf: string, hf: string])[] = [
  ['attn_output_norm', 'attention.output.LayerNorm'],
  ['layer_output_norm', 'output.LayerNorm'],
]

function kindTensors(kind: Kind): Named[] {
  const weights = new Weights(11)
  const matrix = (name: string, hf: string, shape: readonly number[], scale: number): Named => ({
    name,
    hf,
    shape,
    data: weights.matrix(
      shape.reduce((product, length) => product * length, 1),
      scale,
    ),
  })
  const norm = (name: string, hf: string): Named[] => [
    { name: `${name}.weight`, hf: `${hf}.weight`, shape: [VECTOR], data: new Float32Array(VECTOR).fill(1) },
    { name: `${name}.bias`, hf: `${hf}.bias`, shape: [VECTOR], data: new Float32Array(VECTOR) },
  ]
  const linear = (name: string, hf: string, out: number, into: number): Named[] => [
    matrix(`${name}.weight`, `${hf}.weight`, [out, into], 0.2),
    matrix(`${name}.bias`, `${hf}.bias`, [out], 0.02),
  ]
  const outer = [
    matrix('token_embd.weight', 'embeddings.word_embeddings.weight', [TOKENS.length, VECTOR], 1),
    matrix('position_embd.weight', 'embeddings.position_embeddings.weight', [LONGEST, VECTOR], 0.1),
    matrix('token_types.weight', 'embeddings.token_type_embeddings.weight', [2, VECTOR], 0.1),
    ...norm('token_embd_norm', 'embeddings.LayerNorm'),
  ]
  const layers = Array.from({ length: LAYERS }, (_, layer) => [
    ...PARTS.flatMap(([gguf, hf, out, into]) => linear(`blk.${layer}.${gguf}`, `encoder.layer.${layer}.${hf}`, out, into)),
    ...NORMS.flatMap(([gguf, hf]) => norm(`blk.${layer}.${gguf}`, `encoder.layer.${layer}.${hf}`)),
  ]).flat()
  const head = [...linear('cls', 'pooler.dense', VECTOR, VECTOR), ...linear('cls.output', 'classifier', 1, VECTOR)]
  return [...outer, ...layers, ...(kind === 'rank' ? head : [])]
}

/** llama.cpp marks the beginning of a word, where BERT marks what goes on with one. */
const phantom = (token: string): string => (CONTROL.includes(token) ? token : token.startsWith('##') ? token.slice(2) : `\u2581${token}`)

export function writeBertModel(path: string, kind: Kind): void {
  const id = (token: string): GgufValue => ({ uint32: TOKENS.indexOf(token) })
  const fields: Record<string, GgufValue> = {
    'general.architecture': { string: 'bert' },
    'general.name': { string: `tiny ${kind}` },
    'bert.context_length': { uint32: LONGEST },
    'bert.embedding_length': { uint32: VECTOR },
    'bert.block_count': { uint32: LAYERS },
    'bert.feed_forward_length': { uint32: WIDTH },
    'bert.attention.head_count': { uint32: 1 },
    'bert.attention.layer_norm_epsilon': { float32: 1e-12 },
    'bert.attention.causal': { bool: false },
    // Mean and rank, as llama.cpp numbers them (`llama_pooling_type`).
    'bert.pooling_type': { uint32: kind === 'rank' ? 4 : 1 },
    'general.file_type': { uint32: 0 },
    'tokenizer.ggml.model': { string: 'bert' },
    'tokenizer.ggml.pre': { string: 'default' },
    'tokenizer.ggml.tokens': { strings: TOKENS.map(phantom) },
    'tokenizer.ggml.token_type': { ints: TOKENS.map((token) => (token === '[UNK]' ? 2 : CONTROL.includes(token) ? 3 : 1)) },
    'tokenizer.ggml.token_type_count': { uint32: 2 },
    'tokenizer.ggml.bos_token_id': id('[CLS]'),
    'tokenizer.ggml.cls_token_id': id('[CLS]'),
    'tokenizer.ggml.seperator_token_id': id('[SEP]'),
    'tokenizer.ggml.padding_token_id': id('[PAD]'),
    'tokenizer.ggml.unknown_token_id': id('[UNK]'),
    'tokenizer.ggml.mask_token_id': id('[MASK]'),
  }
  writeGguf(path, fields, kindTensors(kind))
}

function tokenizer() {
  const special = (token: string) => ({ SpecialToken: { id: token, type_id: 0 } })
  const sequence = (id: 'A' | 'B', type: number) => ({ Sequence: { id, type_id: type } })
  const ids = (token: string) => ({ [token]: { id: token, ids: [TOKENS.indexOf(token)], tokens: [token] } })
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: CONTROL.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [special('[CLS]'), sequence('A', 0), special('[SEP]')],
      pair: [special('[CLS]'), sequence('A', 0), special('[SEP]'), sequence('B', 1), { SpecialToken: { id: '[SEP]', type_id: 1 } }],
      special_tokens: { ...ids('[CLS]'), ...ids('[SEP]') },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(TOKENS.map((token, id) => [token, id])),
    },
  }
}

export function writeBertFolder(folder: string, kind: Kind): void {
  mkdirSync(folder, { recursive: true })
  const json = (name: string, value: object): void => writeFileSync(join(folder, name), JSON.stringify(value))
  const head = kind === 'rank' ? { num_labels: 1, id2label: { 0: 'LABEL_0' }, label2id: { LABEL_0: 0 }, problem_type: 'regression' } : {}
  json('config.json', {
    architectures: [kind === 'rank' ? 'BertForSequenceClassification' : 'BertModel'],
    model_type: 'bert',
    vocab_size: TOKENS.length,
    hidden_size: VECTOR,
    num_hidden_layers: LAYERS,
    num_attention_heads: 1,
    intermediate_size: WIDTH,
    max_position_embeddings: LONGEST,
    torch_dtype: 'float32',
    ...head,
  })
  json('tokenizer.json', tokenizer())
  json('tokenizer_config.json', {
    tokenizer_class: 'PreTrainedTokenizerFast',
    unk_token: '[UNK]',
    sep_token: '[SEP]',
    pad_token: '[PAD]',
    cls_token: '[CLS]',
    mask_token: '[MASK]',
    model_max_length: LONGEST,
    model_input_names: ['input_ids', 'token_type_ids', 'attention_mask'],
  })
  const name = (hf: string): string => (kind === 'rank' && !hf.startsWith('classifier') ? `bert.${hf}` : hf)
  writeSafetensors(
    join(folder, 'model.safetensors'),
    kindTensors(kind).map(({ hf, shape, data }) => ({ name: name(hf), shape, data })),
  )
  if (kind === 'rank') return
  const modules = ['Transformer', 'Pooling'].map((type, idx) => ({
    idx,
    name: String(idx),
    path: idx === 0 ? '' : '1_Pooling',
    type: `sentence_transformers.models.${type}`,
  }))
  json('modules.json', modules)
  json('sentence_bert_config.json', { max_seq_length: LONGEST, do_lower_case: false })
  mkdirSync(join(folder, '1_Pooling'), { recursive: true })
  json('1_Pooling/config.json', { word_embedding_dimension: VECTOR, pooling_mode_mean_tokens: true, pooling_mode_cls_token: false })
}
