/** The stand-ins of the matrix, one for each preset whose evidence is `recorded` or `published`. */
import type { Rules } from '../stand-in.ts'
import { cerebras } from './cerebras.ts'
import { deepseek } from './deepseek.ts'
import { groq } from './groq.ts'
import { mistral } from './mistral.ts'
import { azureOpenai, openai } from './openai.ts'

export const RULES: readonly Rules[] = [mistral, openai, azureOpenai]
import { openaiChat } from './openai-chat.ts'
import { openrouter } from './openrouter.ts'

export const RULES: readonly Rules[] = [mistral, deepseek, groq, cerebras, openaiChat, openrouter]
