/**
 * Vocabulary of the tiny model. The token that has just been written decides the next one; behind `<think>` and behind the end of a thought
 * the newest keyword of the prompt decides. So each piece of a reply is a token of its own that occurs in no other place.
 */

/** A text, or bytes that are no whole characters. */
export type Piece = string | Buffer

export interface Topic {
  /** Texts of a prompt, each one token, that lead to this topic. */
  keywords: readonly string[]
  thought: readonly Piece[]
  answer: readonly Piece[]
  /** True where the last piece leads back to the second. */
  endless?: boolean
}

/** Bytes cut in places where no character ends, so that one character comes in two tokens. */
function unevenly(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  return Array.from({ length: Math.ceil(bytes.length / 5) }, (_, index) => bytes.subarray(index * 5, index * 5 + 5))
}

const numbers = Array.from({ length: 60 }, (_, index) => ` ${index + 1}`)

export const TOPICS: Readonly<Record<string, Topic>> = {
  unknown: { keywords: [], thought: ['\nI do not', ' know', ' that.\n'], answer: ['I cannot', ' say', ' anything', ' about it.'] },
  hello: {
    keywords: ['hello'],
    thought: ['\nThe user', ' says', ' a greeting.\n'],
    answer: ['Hello!', ' I am', ' a tiny', ' model.', ' How can', ' I help?'],
  },
  weather: {
    keywords: ['weather'],
    thought: ['\nI need', ' the weather', ' of Oslo.\n'],
    answer: ['<tool_call>', '\n{"name"', ': "get_', 'weather", "argu', 'ments": {"ci', 'ty": "Os', 'lo"}}\n', '</tool_call>'],
  },
  two: {
    keywords: ['two weather'],
    thought: ['\nI need two', ' calls.\n'],
    answer: [
      '<tool_cal',
      'l>\n',
      '{"name": "get',
      '_weather", ',
      '"arguments": ',
      '{"city": ',
      '"Rome"}}',
      '\n</tool',
      '_call>',
      '\n<tool',
      '_call>\n{',
      '"name": ',
      '"get_wea',
      'ther", "arguments',
      '": {"city',
      '": "Lima"',
      '}}\n</tool_',
      'call>',
    ],
  },
  result: {
    keywords: ['<tool_response>'],
    thought: ['\nThe tool', ' has answered.\n'],
    answer: ['It is', ' seven', ' degrees', ' there.'],
  },
  count: { keywords: ['count'], thought: ['\nI', ' count.\n'], answer: numbers },
  unicode: {
    keywords: ['unicode'],
    thought: ['\nMany', ' scripts.\n'],
    answer: unevenly('Grüße, 你好, здравствуй, こんにちは, 안녕하세요, שלום, 🙂🚀👩‍👩‍👧‍👦, naïve café Σ∞≠.'),
  },
  json: { keywords: ['json'], thought: ['\nAn', ' object.\n'], answer: ['{"answer', '": "yes"', ', "number": ', '7}'] },
  endless: { keywords: ['forever'], thought: ['\nWithout', ' end.\n'], answer: ['It goes', ' on', ' and', ' on,'], endless: true },
}

/** Tokens of the template, by their texts; a model never writes those of the first list. */
export const CONTROL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
export const MARKS = ['<think>', '</think>', '<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>', 'assistant\n', '\n\n']

/** Words that are one token in a prompt, so that prompts have about as many tokens as with models of real size. */
export const WORDS = [
  'user\n', 'system\n', '# Tools', '<tools>', '</tools>', 'Call a tool with ', 'function', 'description', 'parameters', 'properties', 'required',
  'object', 'string', 'integer', '"type": ', '"name": ', '"arguments": ', 'get_weather', 'city', ' the', ' of', ' and', ' to', ' in', ' is', ' you',
  ' that', ' it', ' for', ' with', ' as', ' this', ' be', ' are', ' from', ' have', ' model', ' tool', ' world', 'ing', 'tion', 'ment', 'able', 'er', 'en', 'es',
  'at', 'on', 'al', 'or', 'ar', 'an', 'st', 'th', '": "', '", "', '": {', '}}', '{"',
] // biome-ignore format: words

/** Of each byte the letter that stands for it in byte-level vocabularies (GPT-2's `bytes_to_unicode`). */
const LETTERS = byteLetters()

function byteLetters(): string[] {
  let next = 256
  const isShown = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isShown(byte) ? byte : next++))
}

export function byteLevel(piece: Piece): string {
  return Array.from(typeof piece === 'string' ? Buffer.from(piece) : piece, (byte) => LETTERS[byte]).join('')
}
