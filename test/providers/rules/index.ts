/** The stand-ins of the matrix, one for each preset whose evidence is `recorded` or `published`. */
import type { Rules } from '../stand-in.ts'
import { cerebras } from './cerebras.ts'
import { cohereChat } from './cohere-chat.ts'
import { deepseek } from './deepseek.ts'
import { fireworks } from './fireworks.ts'
import { groq } from './groq.ts'
import { huggingface } from './huggingface.ts'
import { llamaCpp } from './llama-cpp.ts'
import { mistral } from './mistral.ts'
import { azureOpenai, openai } from './openai.ts'

export const RULES: readonly Rules[] = [mistral, openai, azureOpenai]
import { ollama } from './ollama.ts'
import { openaiChat } from './openai-chat.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { sambanova } from './sambanova.ts'
import { sglang } from './sglang.ts'
import { together } from './together.ts'
import { crusoe, vllm } from './vllm.ts'
import { zai } from './zai.ts'

export const RULES: readonly Rules[] = [
  mistral,
  deepseek,
  groq,
  cerebras,
  openaiChat,
  openrouter,
  together,
  fireworks,
  sambanova,
  perplexity,
  huggingface,
  cohereChat,
  zai,
  crusoe,
  vllm,
  sglang,
  llamaCpp,
  ollama,
]
import { gemini } from './gemini.ts'
import { mistral } from './mistral.ts'
import { vertexGemini } from './vertex-gemini.ts'

export const RULES: readonly Rules[] = [gemini, mistral, vertexGemini]
