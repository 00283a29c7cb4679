/**
 * A page made harmless for readers that build a tree: one linear pass closes what is open, leaves out scripts and
 * comments, and keeps depth, number and size of elements within bounds. Text beyond them stays, without its tags.
 */

/** Levels of elements; browsers stop at 512. */
const DEPTH = 200
const ELEMENTS = 40_000
/** Elements that are open at once, of which only `DEPTH` are shown. */
const OPEN = 2000
/** Characters of one tag with its attributes; a longer one loses them. */
const TAG = 4096
const TITLE = 1000

/** Their content is no text of the page. */
const DROPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'canvas', 'textarea', 'select', 'math'])
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
/** Elements that end without an end tag when the first one opens. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  p: ['p'],
  li: ['li'],
  dt: ['dt', 'dd'],
  dd: ['dt', 'dd'],
  td: ['td', 'th'],
  th: ['td', 'th'],
  tr: ['td', 'th', 'tr'],
  tbody: ['td', 'th', 'tr', 'thead', 'tbody'],
  option: ['option'],
}

/** Written anew around the whole. */
const FRAME = new Set(['html', 'head', 'body', 'link'])
const HEAD = new Set(['meta', 'base'])
const HEADS = 200

/** Attributes that a reader looks at; the rest would only fill the memory. */
const KEPT = new Set('href src alt class id style hidden aria-hidden role name property content itemprop rel start lang dir'.split(' '))
const ATTRIBUTE = /([^\s=/>"'<]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+))?/g

const LETTER = /[a-z]/i
/** Longest run of white space, in a text and where lines are kept as they are. */
const GAP = /\s{2,}/g
const KEPT_GAP = /\s{50,}/g

/** @returns a whole page: head with title, body. */
export function tidyHtml(html: string): string {
  const page = new Page()
  const markupStart = /<[a-z/!?]/gi
  let at = 0
  while (at < html.length) {
    markupStart.lastIndex = at
    const open = markupStart.exec(html)?.index
    page.add(html.slice(at, open))
    if (open === undefined) break
    at = markup(html, open, page)
  }
  return page.finish()
}

/** @returns where the text goes on. */
function markup(html: string, open: number, page: Page): number {
  const next = html[open + 1] ?? ''
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 4)
  const closes = next === '/'
  if (next === '!' || next === '?' || (closes && !LETTER.test(html[open + 2] ?? ''))) return after(html, '>', open)
  const end = tagEnd(html, open)
  const name = /[a-z][\w:.-]*/iy
  name.lastIndex = open + (closes ? 2 : 1)
  const word = (name.exec(html)?.[0] ?? '').slice(0, 40).toLowerCase()
  if (FRAME.has(word)) return end
  if (closes) page.close(word)
  else if (word === 'title') {
    const next = afterElement(html, word, end)
    page.name(html.slice(end, next))
    return next
  } else if (DROPPED.has(word)) return html[end - 2] === '/' && word === 'svg' ? end : afterElement(html, word, end)
  else page.open(word, end - open > TAG ? '' : html.slice(open + 1 + word.length, end - 1))
  return end
}

function keptAttributes(text: string): string {
  let kept = ''
  for (const [, name, value] of text.matchAll(ATTRIBUTE)) {
    if (name === undefined || !KEPT.has(name.toLowerCase())) continue
    const plain = value
      ?.replace(/^["']|["']$/g, '')
      .replaceAll('"', '&quot;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
    kept += plain === undefined ? ` ${name}` : ` ${name}="${plain}"`
  }
  return kept
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found < 0 ? html.length : found + mark.length
}

function afterElement(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi')
  closing.lastIndex = from
  const found = closing.exec(html)
  return found ? after(html, '>', found.index) : html.length
}

/** Behind the `>`, which does not count within a quoted value. */
function tagEnd(html: string, open: number): number {
  let before = ''
  for (let i = open + 1; i < html.length; i++) {
    const sign = html.charAt(i)
    if (sign === '>') return i + 1
    if ((sign === '"' || sign === "'") && before === '=') {
      i = html.indexOf(sign, i + 1)
      if (i < 0) break
    }
    if (sign > ' ') before = sign
  }
  return html.length
}

class Page {
  private readonly pieces: string[] = []
  private readonly head: string[] = []
  private title: string | undefined
  private readonly stack: { name: string; shown: boolean }[] = []
  /** Number of open elements of a name. */
  private readonly opened = new Map<string, number>()
  private shown = 0
  private elements = 0

  add(text: string): void {
    if (text === '') return
    const kept = (this.opened.get('pre') ?? 0) > 0
    const closer = kept ? text.replace(KEPT_GAP, (gap) => gap.slice(0, 50)) : text.replace(GAP, ' ')
    this.pieces.push(closer.replaceAll('<', '&lt;'))
  }

  /** The first title counts. @param text with what ends it. */
  name(text: string): void {
    this.title ??= text.slice(0, TITLE).replace(/<[\s\S]*/, '')
  }

  /** @param attributes as they were written. */
  open(name: string, attributes: string): void {
    if (HEAD.has(name)) {
      if (this.head.length < HEADS) this.head.push(`<${name}${keptAttributes(attributes)}>`)
      return
    }
    const ends = ENDS[name]
    if (ends) for (let top = this.stack.at(-1); top && ends.includes(top.name); top = this.stack.at(-1)) this.pop()
    const fits = this.shown < DEPTH && this.elements < ELEMENTS
    if (fits) {
      this.pieces.push(`<${name}${keptAttributes(attributes)}>`)
      this.elements++
    } else if (this.pieces.at(-1) !== ' ') this.pieces.push(' ')
    if (VOID.has(name) || this.stack.length >= OPEN) return
    this.stack.push({ name, shown: fits })
    if (fits) this.shown++
    this.opened.set(name, (this.opened.get(name) ?? 0) + 1)
  }

  close(name: string): void {
    if ((this.opened.get(name) ?? 0) === 0) return
    while (this.pop() !== name);
  }

  finish(): string {
    while (this.stack.length > 0) this.pop()
    const title = this.title === undefined ? '' : `<title>${this.title}</title>`
    return `<html><head>${title}${this.head.join('')}</head><body>${this.pieces.join('')}</body></html>`
  }

  private pop(): string | undefined {
    const top = this.stack.pop()
    if (!top) return undefined
    this.opened.set(top.name, (this.opened.get(top.name) ?? 1) - 1)
    if (top.shown) {
      this.pieces.push(`</${top.name}>`)
      this.shown--
    }
    return top.name
  }
}
