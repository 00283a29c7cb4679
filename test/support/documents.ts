/** Documents made to order: PDF and zip files as their formats want them, or broken on purpose. */
import { crc32, deflateRawSync, deflateSync } from 'node:zlib'

/** A PDF with one line of text per page (ISO 32000-1, section 7.5). @param more entries of the trailer. */
export function buildPdf(
  pages: readonly string[],
  { title, packed = false, trailer = '' }: { title?: string; packed?: boolean; trailer?: string } = {},
): Buffer {
  return pdfWith(
    pages.map((text) => {
      const drawn = Buffer.from(
        `BT /F1 12 Tf 72 720 Td ${text
          .split('\n')
          .map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj 0 -14 Td`)
          .join(' ')} ET`,
        'latin1',
      )
      return packed ? { bytes: deflateSync(drawn), filter: '/Filter /FlateDecode' } : { bytes: drawn, filter: '' }
    }),
    { title, trailer },
  )
}

/** A PDF of pages with these content streams. */
export function pdfWith(
  contents: readonly { bytes: Buffer; filter: string }[],
  { title, trailer = '' }: { title?: string | undefined; trailer?: string } = {},
): Buffer {
  const objects: Buffer[] = []
  const add = (body: string | Buffer): void =>
    void objects.push(Buffer.concat([Buffer.from(`${objects.length + 1} 0 obj\n`), Buffer.from(body), Buffer.from('\nendobj\n')]))
  const first = 5
  add('<< /Type /Catalog /Pages 2 0 R >>')
  add(`<< /Type /Pages /Count ${contents.length} /Kids [${contents.map((_, i) => `${first + 2 * i} 0 R`).join(' ')}] >>`)
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>')
  add(`<< ${title === undefined ? '' : `/Title (${title})`} >>`)
  for (const [i, { bytes, filter }] of contents.entries()) {
    add(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${first + 2 * i + 1} 0 R >>`)
    add(Buffer.concat([Buffer.from(`<< /Length ${bytes.length} ${filter} >>\nstream\n`), bytes, Buffer.from('\nendstream')]))
  }
  const head = Buffer.from('%PDF-1.4\n')
  let at = head.length
  const places = objects.map((object) => {
    at += object.length
    return at - object.length
  })
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const end = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 4 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`
  return Buffer.concat([head, ...objects, Buffer.from(end)])
}

export interface ZipEntry {
  name: string
  /** Unpacked. */
  bytes: Buffer
  /** Size that the zip states, where that is not the truth. */
  says?: number
}

/** A zip of packed entries (APPNOTE.TXT of PKWARE). */
export function buildZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, bytes, says = bytes.length } of entries) {
    const packed = deflateRawSync(bytes)
    const label = Buffer.from(name)
    const facts = Buffer.alloc(22)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt32LE(crc32(bytes), 10)
    facts.writeUInt32LE(packed.length, 14)
    facts.writeUInt32LE(says, 18)
    const names = Buffer.alloc(4)
    names.writeUInt16LE(label.length, 0)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), facts, names, label, packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(at, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), facts, names, rest.subarray(0, 14), label]))
    parts.push(local)
    at += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, central, end])
}

const TYPES = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`
const RELATIONS = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`

/** A docx with this body, in the words of ECMA-376. */
export function buildDocx(body: string, more: readonly ZipEntry[] = []): Buffer {
  const text = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`
  return buildZip([
    { name: '[Content_Types].xml', bytes: Buffer.from(TYPES) },
    { name: '_rels/.rels', bytes: Buffer.from(RELATIONS) },
    { name: 'word/document.xml', bytes: Buffer.from(text) },
    ...more,
  ])
}

/** A paragraph of a docx. @param style `Heading1` and the like. */
export function paragraph(text: string, style?: string): string {
  const look = style === undefined ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`
  return `<w:p>${look}<w:r><w:t>${text}</w:t></w:r></w:p>`
}
