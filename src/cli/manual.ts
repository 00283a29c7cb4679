/** `headgate manual`: the pages of the documents, which come with each form of the program. */
import { fileURLToPath } from 'node:url'
import { hint } from '../config/suggest.ts'
import { fileText, programFolder } from '../core/program-files.ts'
import { CONSOLE, type Streams } from './console.ts'

/** Beside the sources and inside the single file; and beside the built program, in the npm package. */
const FOLDERS = ['../../docs/', '../../../docs/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
/** The page that others are found by, in each folder that has one. */
const INDEX = 'README'

/**
 * Prints a page, or one part of it.
 * @param word as messages and links write it: `keys`, `keys.md`, `docs/keys.md`, `docs/keys.md#sessions`; without it the list of all pages.
 * @returns the exit code.
 */
export function manual(word = '', streams: Streams = CONSOLE): number {
  const folder = FOLDERS.find((path) => folderEntries(path).includes(`${INDEX}.md`))
  if (folder === undefined) return refuse('manual: the pages are not beside the program', streams)
  const [path = '', anchor] = word.replace(/^(?:\.?\/)?docs(?:\/|$)/, '').split('#')
  const name = path.replace(/\/$/, '').replace(/\.md$/, '')
  const pages = pagesBelow(folder)
  const found = [name === '' ? INDEX : name, `${name}/${INDEX}`].find((each) => pages.includes(each))
  const below = pages.filter((each) => each.startsWith(`${name}/`))
  if (found === undefined && below.length > 0) streams.out(below.map((each) => `headgate manual ${each}`).join('\n'))
  else if (found === undefined) return refuse(`manual: no page ${word}${hint(name, pages)}; headgate manual lists all`, streams)
  else return print(fileText(`${folder}${found}.md`), { word, anchor }, streams)
  return 0
}

function print(text: string, { word, anchor }: { word: string; anchor: string | undefined }, streams: Streams): number {
  const part = anchor === undefined ? text : pagePart(text, anchor)
  if (part === undefined) return refuse(`manual: ${word}: the page has no such part${hint(anchor ?? '', pageAnchors(text))}`, streams)
  streams.out(part.trimEnd())
  return 0
}

/** A heading with all below it, up to the next one of its rank. */
function pagePart(text: string, anchor: string): string | undefined {
  const parts = pageHeadings(text)
  const at = parts.findIndex((heading) => heading.anchor === anchor)
  const heading = parts[at]
  if (!heading) return undefined
  const next = parts.slice(at + 1).find(({ rank }) => rank <= heading.rank)
  return text.slice(heading.start, next?.start)
}

const pageAnchors = (text: string): string[] => pageHeadings(text).map(({ anchor }) => anchor)

interface Heading {
  readonly rank: number
  readonly start: number
  readonly anchor: string
}

/** Headings of a page; a line of a code block that begins as one is none. */
function pageHeadings(text: string): Heading[] {
  const headings: Heading[] = []
  const times = new Map<string, number>()
  for (const match of text.matchAll(/^```[\s\S]*?^```$|^(#+) (.+)$/gm)) {
    const [, marks, title = ''] = match
    if (marks === undefined) continue
    const plain = titleAnchor(title)
    const earlier = times.get(plain) ?? 0
    times.set(plain, earlier + 1)
    headings.push({ rank: marks.length, start: match.index, anchor: earlier === 0 ? plain : `${plain}-${earlier}` })
  }
  return headings
}

/** As GitHub makes it of a heading. */
function titleAnchor(title: string): string {
  return title
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

/** Names of the pages below a folder, without their ending. */
function pagesBelow(folder: string, above = ''): string[] {
  return folderEntries(folder).flatMap((entry) =>
    entry.endsWith('.md')
      ? [`${above}${entry.slice(0, -'.md'.length)}`]
      : entry.includes('.')
        ? []
        : pagesBelow(`${folder}${entry}/`, `${above}${entry}/`),
  )
}

function folderEntries(folder: string): string[] {
  try {
    return programFolder(folder)
  } catch {
    return []
  }
}

function refuse(message: string, streams: Streams): number {
  streams.error(`headgate: ${message}`)
  return 1
}
