/** Speed of a reply, in tokens per second. */

/** Milliseconds: a reply that was written in less shows a speed that it had at least. */
const SHORTEST = 100
/** Milliseconds between pieces that came together, such as a tool call in one piece: they say nothing of how long they took to write. */
const TOGETHER = 5
/** A reply of fewer tokens, as of two that came together, shows no speed at all. */
const MIN_OUTPUT = 10

/**
 * Tokens per second of a reply. Of one that came faster than can be measured it is known what it reached at least: all of it was written
 * within the shortest time that counts, or, where it came in one piece, since the request was sent.
 * @param writing milliseconds from the first content to the end, undefined where they show nothing.
 */
export function replySpeed(
  output: number,
  writing: number | undefined,
  firstTokenMs: number,
): { tokensPerSecond: number; atLeast?: number } {
  if (writing === undefined) return { tokensPerSecond: 0 }
  if (writing >= SHORTEST) return { tokensPerSecond: (output * 1000) / writing }
  if (output < MIN_OUTPUT) return { tokensPerSecond: 0 }
  const longest = writing < TOGETHER ? firstTokenMs + writing : writing
  return { tokensPerSecond: 0, atLeast: (output * 1000) / Math.max(SHORTEST, longest) }
}
