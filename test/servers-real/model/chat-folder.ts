/** The model of `chat-model.ts` as the Python servers read models: a folder with weights, tokenizer and chat template, no file of it trained. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChatModel, CONTEXT, chatModel, network, WIDTH } from './chat-model.ts'
import type { GgufTensor } from './gguf.ts'
import { writeSafetensors } from './safetensors.ts'
import { CHAT_TEMPLATE } from './template.ts'
import { byteLevel } from './vocabulary.ts'

/** Split of texts before they become tokens: that of Qwen 2, which the GGUF file names. */
const CUTS =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/** Names of tensors: of llama.cpp, and of the transformers library. */
const OUTER: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight',
}
const WITHIN: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
}

function tensorName(name: string): string {
  const [, part = ''] = name.split('blk.0.')
  return OUTER[name] ?? `model.layers.0.${WITHIN[part.replace('.weight', '')]}.weight`
}

/** Rotary pairs are neighbours in llama.cpp, and halves of the vector in transformers. */
function inHalves(data: Float32Array): Float32Array {
  const all = new Float32Array(data.length)
  for (let pair = 0; pair < WIDTH / 2; pair++)
    for (const half of [0, 1]) {
      const from = (2 * pair + half) * WIDTH
      all.set(data.subarray(from, from + WIDTH), (pair + (half * WIDTH) / 2) * WIDTH)
    }
  return all
}

function converted({ name, shape, data }: GgufTensor): GgufTensor {
  const isTurned = data !== undefined && /attn_[qk]\.weight$/.test(name)
  return { name: tensorName(name), shape, data: isTurned ? inHalves(data) : data }
}

function tokenizer({ tokens }: ChatModel) {
  const added = tokens.flatMap(({ text, type }, id) =>
    type === 1 ? [] : [{ id, content: text, single_word: false, lstrip: false, rstrip: false, normalized: false, special: type === 3 }],
  )
  const space = byteLevel(' ')
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: CUTS }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map(({ text }, id) => [text, id])),
      merges: [[space, space]],
    },
  }
}

/**
 * Template by which transformers serve reads thoughts and calls out of a reply: a tokenizer may state it, and for models of Qwen 3 the server has it itself
 * (transformers 5.23.0, cli/serving/utils.py, `_RESPONSE_TEMPLATE_FALLBACKS`, whose words these are).
 */
const RESPONSE_TEMPLATE = {
  defaults: { role: 'assistant' },
  start_anchor: '<|im_start|>assistant\n',
  fields: {
    reasoning_content: { open: '<think>', close: '</think>', content: 'text' },
    tool_calls: {
      open_pattern: '\\s*<tool_call>',
      close: '</tool_call>',
      repeats: true,
      content: 'json',
      transform: { type: 'function', function: '{content}' },
    },
    content: { close_pattern: '\\s*(?:<\\|im_end\\|>|<\\|endoftext\\|>|<\\|eot_id\\|>)', content: 'text' },
  },
}

export interface ChatFolder {
  /** As of `writeChatModel`. */
  slowness?: number
  /** True if the tokenizer states how thoughts and calls are read out of a reply. */
  statesReplies?: boolean
}

export function writeChatFolder(folder: string, { slowness = 32, statesReplies = false }: ChatFolder = {}): void {
  mkdirSync(folder, { recursive: true })
  const model = chatModel()
  const id = (text: string): number => model.tokens.findIndex((token) => token.text === text)
  const [end, pad] = [id('<|im_end|>'), id('<|endoftext|>')]
  const json = (name: string, value: object): void => writeFileSync(join(folder, name), JSON.stringify(value))
  json('config.json', {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: model.tokens.length,
    hidden_size: WIDTH,
    intermediate_size: slowness,
    num_hidden_layers: 1,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    head_dim: WIDTH,
    hidden_act: 'silu',
    max_position_embeddings: CONTEXT,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    tie_word_embeddings: false,
    attention_bias: false,
    torch_dtype: 'float32',
    bos_token_id: null,
    eos_token_id: end,
    pad_token_id: pad,
  })
  json('generation_config.json', { eos_token_id: [end, pad], pad_token_id: pad })
  json('tokenizer.json', tokenizer(model))
  json('tokenizer_config.json', {
    tokenizer_class: 'PreTrainedTokenizerFast',
    eos_token: '<|im_end|>',
    pad_token: '<|endoftext|>',
    model_max_length: CONTEXT,
    clean_up_tokenization_spaces: false,
    ...(statesReplies ? { response_template: RESPONSE_TEMPLATE } : {}),
  })
  writeFileSync(join(folder, 'chat_template.jinja'), CHAT_TEMPLATE)
  writeSafetensors(join(folder, 'model.safetensors'), [...model.tensors, ...network(slowness)].map(converted))
}
