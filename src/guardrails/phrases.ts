/** Lists of phrases: words as they are, whatever their case and the spaces between them. */
import { type Detector, Matches } from './detector.ts'

interface Node {
  ends: boolean
  readonly next: Map<string, Node>
}

const SPACES = ' '

/**
 * One expression for all phrases, in the form of their tree of prefixes, so that a text is read once however many there
 * are. A phrase that begins or ends with a letter or digit matches whole words only, in scripts that part words.
 */
export function phraseDetector(phrases: readonly string[]): Detector {
  const root: Node = { ends: false, next: new Map() }
  for (const phrase of phrases) plant(root, phrase)
  const expression = new RegExp(sourceOf(root), 'giu')
  return {
    verbatim: true,
    find(text, from) {
      const matches = new Matches()
      expression.lastIndex = from
      for (let hit = expression.exec(text); hit !== null; hit = expression.exec(text)) {
        const end = hit.index + hit[0].length
        matches.add(hit.index, end)
      }
      return matches.list
    },
  }
}

function plant(root: Node, phrase: string): void {
  let node = root
  const normal = phrase.trim().replace(/\s+/g, SPACES)
  const parts = [...normal].map((char) => (char === SPACES ? '\\s{1,16}' : escaped(char)))
  if (isJoined(normal[0])) parts[0] = `(?<![\\p{L}\\p{N}_])${parts[0]}`
  if (isJoined(normal.at(-1))) parts.push('(?![\\p{L}\\p{N}_])')
  for (const part of parts) {
    // Small and capital letters are one branch.
    const key = part.toLowerCase() === part || part.startsWith('(') || part.startsWith('\\') ? part : part.toLowerCase()
    let next = node.next.get(key)
    if (!next) {
      next = { ends: false, next: new Map() }
      node.next.set(key, next)
    }
    node = next
  }
  node.ends = true
}

/** The longest phrase wins where one begins another. */
function sourceOf(node: Node): string {
  const branches = [...node.next].map(([part, child]) => part + sourceOf(child))
  if (branches.length === 0) return ''
  const source = branches.length === 1 && !node.ends ? branches[0] : `(?:${branches.join('|')})`
  return node.ends ? `${source}?` : source
}

/** A character that a longer word might run into. */
function isJoined(char: string | undefined): boolean {
  return (
    char !== undefined &&
    /[\p{L}\p{N}]/u.test(char) &&
    !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(char)
  )
}

function escaped(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char
}
