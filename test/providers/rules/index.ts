/** The stand-ins of the matrix, one for each preset whose evidence is `recorded` or `published`. */
import type { Rules } from '../stand-in.ts'
import { mistral } from './mistral.ts'
import { azureOpenai, openai } from './openai.ts'

export const RULES: readonly Rules[] = [mistral, openai, azureOpenai]
