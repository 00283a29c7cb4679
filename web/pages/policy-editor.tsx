/** A text with its line numbers, and what takes it out of the page: copy and download. It is kept nowhere else. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { toast } from '../components/toast.tsx'
import { DownloadLink } from '../components/values.tsx'
import type { Problem } from './policy-results.tsx'

/** Id of the text, so that problems can lead to their line. */
const EDITOR = 'policy-text'

export interface EditorProps {
  readonly file: string
  readonly text: string
  /** The running text. */
  readonly before: string
  readonly problems: readonly Problem[]
  readonly onText: (text: string) => void
}

export function Editor({ file, text, before, problems, onText }: EditorProps) {
  const gutter = useRef<HTMLPreElement>(null)
  const [href, setHref] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: 'text/yaml' }))
    setHref(made)
    return () => URL.revokeObjectURL(made)
  }, [text])
  const wrong = new Set(problems.filter((problem) => problem.file === file).map(({ line }) => line))
  const numbers = text.split('\n').map((_, at) => `${wrong.has(at + 1) ? '● ' : ''}${at + 1}`)
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => toast('The text is copied'),
      () => toast('The browser does not allow to copy: mark the text', { isError: true }),
    ) ?? toast('The browser copies only over TLS: mark the text', { isError: true })
  }
  const open = async (input: HTMLInputElement): Promise<void> => {
    const [chosen] = input.files ?? []
    if (chosen) onText((await chosen.text()).replaceAll('\r\n', '\n'))
    input.value = ''
  }
  return (
    <>
      <div class="editor">
        <pre class="editor-lines" ref={gutter} aria-hidden="true">
          {numbers.join('\n')}
        </pre>
        <textarea
          id={EDITOR}
          class="code"
          aria-label="Text of the configuration"
          aria-invalid={problems.length > 0 ? true : undefined}
          spellcheck={false}
          autocapitalize="off"
          wrap="off"
          rows={22}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop
          }}
        />
      </div>
      <div class="actions editor-actions">
        <label class="button small file-button">
          Open a file
          <input type="file" accept=".yaml,.yml" class="hidden" onChange={(event) => open(event.currentTarget)} />
        </label>
        <button type="button" class="button small" onClick={() => onText(before)} disabled={text === before}>
          Back to the running text
        </button>
        <button type="button" class="button small" onClick={copy}>
          Copy
        </button>
        <DownloadLink href={href} name={file.split(/[\\/]/).at(-1) ?? 'headgate.yaml'}>
          Save as a file
        </DownloadLink>
      </div>
    </>
  )
}

/** Puts the cursor at a place of the text. @param line from 1. @param column from 1. */
export function goTo(line: number, column: number): void {
  const area = document.getElementById(EDITOR)
  if (!(area instanceof HTMLTextAreaElement)) return
  const lines = area.value.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
  area.focus()
  area.setSelectionRange(start + column - 1, start + (lines[line - 1]?.length ?? 0))
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(0, line - 6)
}
