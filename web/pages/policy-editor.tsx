/** A text with its line numbers, and its ways into the page and out of it: open, copy and save. It is kept nowhere else. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConfigurationCheckReply } from '../api-types.ts'
import { toast } from '../components/toast.tsx'
import { DownloadLink } from '../components/values.tsx'

/** Id of the text, so that problems can lead to their line. */
const EDITOR = 'policy-text'
/** Characters that the API takes. */
const MAX_TEXT_LENGTH = 1_000_000
/** Bytes that no such text exceeds. */
const MAX_FILE = 4 * MAX_TEXT_LENGTH

export type Problem = ConfigurationCheckReply['data']['problems'][number]

export interface EditorProps {
  /** Name of the file that it is saved as. */
  readonly name: string
  readonly text: string
  readonly problems: readonly Problem[]
  readonly onText: (text: string) => void
}

export function Editor({ name, text, problems, onText }: EditorProps) {
  const gutter = useRef<HTMLPreElement>(null)
  const [href, setHref] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: 'text/yaml' }))
    setHref(made)
    return () => URL.revokeObjectURL(made)
  }, [text])
  const wrong = new Set(problems.map(({ line }) => line))
  const numbers = text.split('\n').map((_, at) => `${wrong.has(at + 1) ? '● ' : ''}${at + 1}`)
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => toast('The text is copied'),
      () => toast('The browser does not allow to copy: mark the text', { isError: true }),
    ) ?? toast('The browser copies only over TLS: mark the text', { isError: true })
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
          placeholder="Open a file, or write here"
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
        <FileButton label="Open a file" onOpen={(opened) => onText(opened)} />
        <button type="button" class="button small" onClick={copy} disabled={text === ''}>
          Copy
        </button>
        <DownloadLink href={href} name={name}>
          Save as a file
        </DownloadLink>
      </div>
    </>
  )
}

export interface FileButtonProps {
  readonly label: string
  readonly onOpen: (text: string, name: string) => void
}

/** Opens a YAML file of the visitor's machine; the page reads it, and nothing is sent. */
export function FileButton({ label, onOpen }: FileButtonProps) {
  const open = async (input: HTMLInputElement): Promise<void> => {
    const [file] = input.files ?? []
    input.value = ''
    if (!file) return
    const text = file.size > MAX_FILE ? undefined : await file.text().catch(() => undefined)
    if (text !== undefined && text.length <= MAX_TEXT_LENGTH) onOpen(text.replaceAll('\r\n', '\n'), file.name)
    else toast(`${file.name} cannot be read, or has more than 1,000,000 characters`, { isError: true })
  }
  return (
    <label class="button small file-button">
      {label}
      <input type="file" accept=".yaml,.yml" class="hidden" onChange={(event) => open(event.currentTarget)} />
    </label>
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
