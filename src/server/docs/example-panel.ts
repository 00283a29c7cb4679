/** The examples of an operation as a panel with a choice of languages. The page's script shows one of them at a time. */
import { codeOf, LANGUAGES, type Language, ORIGIN } from './examples.ts'
import { escaped } from './html.ts'
import type { Operation } from './reference.ts'

/** @returns HTML with every example in every language, so that the page is whole without its script. */
export function examplePanel(operation: Operation): string {
  const { examples = [] } = operation.body ?? {}
  // A body without an example cannot be shown as a request that works.
  if (operation.body && examples.length === 0) return ''
  const shown = operation.body ? examples : [{ summary: '', value: undefined }]
  const figures = shown.map(({ summary, value }, index) => {
    const code = codeOf(operation, value)
    const blocks = Object.keys(LANGUAGES).map((language) => codeBlock(code[language as Language], language as Language))
    return `<figure data-example="${index}">${summary === '' ? '' : `<figcaption>${escaped(summary)}</figcaption>`}${blocks.join('')}</figure>`
  })
  const choices = shown.map(({ summary }, index) => `<option value="${index}">${escaped(summary)}</option>`)
  const choice = shown.length > 1 ? `<select aria-label="Example">${choices.join('')}</select>` : ''
  const languages = Object.entries(LANGUAGES).map(
    ([language, name]) => `<button type="button" data-language="${language}">${name}</button>`,
  )
  return `<div class="example">
<div class="tools" hidden><div class="languages" role="group" aria-label="Language">${languages.join('')}</div><button type="button" class="copy">Copy</button>${choice}</div>
${figures.join('\n')}
</div>`
}

/** Code with its parts marked. The script puts the address of the page into the marked one. */
export function codeBlock(code: string, language: Language): string {
  const origin = escaped(ORIGIN)
  const marked = highlighted(code, language).replaceAll(origin, `<span class="origin">${origin}</span>`)
  return `<pre data-language="${language}" tabindex="0"><code>${marked}</code></pre>`
}

const KEYWORDS: Readonly<Record<Language, string>> = {
  curl: '^curl|(?<=\\s)-\\w(?=\\s)|true|false|null',
  python: 'import|from|for|in|True|False|None',
  typescript: 'import|from|const|new|await|for|of|true|false|null',
}
/** Single quotes of a shell enclose whole bodies, whose own strings are marked. */
const STRINGS: Readonly<Record<Language, string>> = {
  curl: '"(?:[^"\\\\]|\\\\.)*"',
  python: '"(?:[^"\\\\]|\\\\.)*"',
  typescript: "'(?:[^'\\\\]|\\\\.)*'",
}

function highlighted(code: string, language: Language): string {
  const words = KEYWORDS[language].replace(/(?<=^|\|)(\w+)(?=\||$)/g, '\\b$1\\b')
  const parts = new RegExp(`(?<string>${STRINGS[language]})|(?<keyword>${words})|(?<number>\\b\\d+(?:\\.\\d+)?\\b)`, 'gm')
  let html = ''
  let end = 0
  for (const match of code.matchAll(parts)) {
    const [kind, text] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? ['', '']
    // Names of members stand out from their values.
    const name = kind === 'string' && code[match.index + text.length] === ':' ? 'name' : kind
    html += `${escaped(code.slice(end, match.index))}<span class="${name}">${escaped(text)}</span>`
    end = match.index + text.length
  }
  return html + escaped(code.slice(end))
}
