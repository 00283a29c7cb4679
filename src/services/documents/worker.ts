/** The inside of a thread that reads documents. Each reader is loaded when its first document comes. */
import { serveJobs } from '../threads/index.ts'
import { plainMediaType } from './kind.ts'
import { cut, decoded } from './texts.ts'
import type { DocumentKind, ReadJob, ReadResult } from './types.ts'

type Read = (job: ReadJob) => ReadResult | Promise<ReadResult>

const readers: Readonly<Record<DocumentKind, () => Promise<Read>>> = {
  html: async () => (await import('./html.ts')).readHtml,
  pdf: async () => (await import('./pdf.ts')).readPdf,
  docx: async () => (await import('./docx.ts')).readDocx,
  text: async () => readText,
}

serveJobs(async (job) => {
  const request = job as ReadJob
  const read = await readers[request.kind]()
  return { result: await read(request) }
})

function readText({ bytes, source, maxCharacters }: ReadJob): ReadResult {
  const named = /xml$/.test(plainMediaType(source))
  return cut(decoded(bytes, source.type, named), maxCharacters)
}
