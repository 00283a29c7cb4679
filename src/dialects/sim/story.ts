/** A text without meaning that is the same every time, so that two runs can be compared. */

const SENTENCES = [
  'A small boat left the harbor before the sun came up.',
  'The sea was calm and the wind came from the west.',
  'An old sailor told the child how to read the stars.',
  'They saw a green island far away and set a course for it.',
  'On the beach lay a wooden box with a rusty lock.',
  'Nobody could open it until the tide brought the key.',
  'Inside was a map of a river that no one had named.',
  'So they sailed on, and the night was full of light.',
]
const WORDS = SENTENCES.join(' ').split(' ')

/** Exactly so many words, ending with a full stop. */
export function story(words: number): string {
  const text: string[] = []
  for (let i = 0; i < words; i++) text.push(WORDS[i % WORDS.length])
  const joined = text.join(' ')
  return joined === '' || joined.endsWith('.') ? joined : `${joined.replace(/,$/, '')}.`
}
