import type { Clock } from '../../core/clock.ts'

/** Facts about the bytes. */
export interface DocumentSource {
  /** Content type as declared, with its parameters; the bytes count more. */
  type?: string | undefined
  /** Address of its origin: relative links are resolved against it. */
  url?: string
  /** File name; its extension counts where neither bytes nor type decide. */
  name?: string
}

export interface DocumentLimits {
  /** Bytes of the document. */
  maxBytes: number
  /** Pages of a PDF that are read. */
  maxPages: number
  /** UTF-16 units of `text`. */
  maxCharacters: number
  /** Milliseconds, with the time that it waits for a thread. */
  timeout: number
}

export interface ReadOptions {
  clock: Clock
  signal?: AbortSignal
  limits?: Partial<DocumentLimits>
  /** The caller does not use the bytes again: their buffer may be moved to the thread instead of copied. */
  handOver?: boolean
}

export type DocumentKind = 'html' | 'pdf' | 'docx' | 'text'

export interface DocumentText {
  kind: DocumentKind
  title?: string | undefined
  /** Markdown. Of a PDF: the texts of its pages, with an empty line between them. */
  text: string
  /** Pages that a PDF has. */
  pages?: number
  /** Of a PDF: one text per page that was read. */
  pageTexts?: string[]
  /** True where pages or characters were left out. */
  truncated?: boolean | undefined
}

/** Input of a thread. */
export interface ReadJob {
  bytes: Uint8Array
  kind: DocumentKind
  source: DocumentSource
  maxPages: number
  maxCharacters: number
}

/** Output of the thread: texts of pages are joined on this side of the thread. */
export type ReadResult = Omit<DocumentText, 'kind'>
