/** The stand-ins of the matrix, one for each preset whose evidence is `recorded` or `published`. */
import type { Rules } from '../stand-in.ts'
import { anthropic } from './anthropic.ts'
import { baseten } from './baseten.ts'
import { bedrock } from './bedrock.ts'
import { bedrockClaude } from './bedrock-claude.ts'
import { cerebras } from './cerebras.ts'
import { cohereChat } from './cohere-chat.ts'
import { deepinfra } from './deepinfra.ts'
import { deepseek } from './deepseek.ts'
import { fireworks } from './fireworks.ts'
import { gemini } from './gemini.ts'
import { groq } from './groq.ts'
import { huggingface } from './huggingface.ts'
import { litellm } from './litellm.ts'
import { llamaCpp } from './llama-cpp.ts'
import { minimax } from './minimax.ts'
import { minimaxChat } from './minimax-chat.ts'
import { mistral } from './mistral.ts'
import { moonshot } from './moonshot.ts'
import { nebius } from './nebius.ts'
import { ollama } from './ollama.ts'
import { azureOpenai, openai } from './openai.ts'
import { openaiChat } from './openai-chat.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { qwen } from './qwen.ts'
import { sambanova } from './sambanova.ts'
import { sglang } from './sglang.ts'
import { together } from './together.ts'
import { vertexClaude } from './vertex-claude.ts'
import { vertexGemini } from './vertex-gemini.ts'
import { crusoe, vllm } from './vllm.ts'
import { xai } from './xai.ts'
import { zai } from './zai.ts'

export const RULES: readonly Rules[] = [
  openai,
  azureOpenai,
  openaiChat,
  anthropic,
  gemini,
  vertexGemini,
  vertexClaude,
  mistral,
  deepseek,
  groq,
  cerebras,
  openrouter,
  baseten,
  bedrock,
  bedrockClaude,
  cohereChat,
  fireworks,
  huggingface,
  litellm,
  llamaCpp,
  moonshot,
  nebius,
  ollama,
  perplexity,
  sambanova,
  sglang,
  together,
  crusoe,
  vllm,
  xai,
  zai,
  deepinfra,
  minimax,
  minimaxChat,
  qwen,
]
