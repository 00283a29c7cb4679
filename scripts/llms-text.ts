/** `llms.txt`: each page of the documents and what it is for, in the form in which language models look for it (llmstxt.org). */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const INDEX = 'docs/README.md'
/** A row of the index: a task, and its pages. */
const ROW = /^\| ((?!Task |---).+?) \| (.+) \|$/gm
const LINK = /\]\((?!https?:)([^)#\s]+\.md)(?:#[^)]*)?\)/g

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

function section(text: string, seen: Set<string>): string {
  const lines = [...text.matchAll(ROW)].flatMap(([, task = '', pages = '']) =>
    [...`${task} ${pages}`.matchAll(LINK)].flatMap(([, target = '']) => {
      const path = relative(ROOT, join(ROOT, dirname(INDEX), target))
      if (seen.has(path)) return []
      seen.add(path)
      const [, title = path] = /^# (.+)$/m.exec(read(path)) ?? []
      return `- [${title}](${path}): ${task.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')}`
    }),
  )
  return `## ${text.split('\n', 1)[0]}\n\n${lines.join('\n')}\n`
}

/** The pages that the index links to, each once, under its headings. */
export function llmsText(): string {
  const seen = new Set<string>()
  const [, summary = ''] = /^# .*\n\n(.+)$/m.exec(read('README.md')) ?? []
  const sections = read(INDEX).split(/^## /m).slice(1)
  return `# headgate\n\n> ${summary}\n\n${sections.map((text) => section(text, seen)).join('\n')}`
}
