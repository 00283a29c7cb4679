#!/usr/bin/env bash
# Package: unpdf 1.8.1 (npm, PDF.js for servers).
# Behaviour: the text of a page (extractText, getTextContent) has no value that was typed into a form field, though the page shows it, and
#   has text that the page does not show: drawn invisibly (render mode 3), in white, or on a layer that is switched off.
# Why a good guess is wrong: PDF.js draws the page right, form and layers included, so its text is expected to be what a reader sees. A
#   filled form, for which people send PDFs, reads as an empty one; and an order to a model, hidden in white, is read in full.
# A gateway should: add the values of getAnnotations() (Hidden and NoView left out, check boxes by fieldValue and exportValue) to the text of
#   each page, and run guardrails over the extracted text, not over what a person sees.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --loglevel=error unpdf@1.8.1 > /dev/null
cat > run.mjs <<'JS'
import { extractText, getDocumentProxy } from 'unpdf'

/** ISO 32000-1, section 7.5. */
function pdf(objects) {
  let body = '%PDF-1.7\n'
  const places = objects.map((object, i) => {
    const place = body.length
    body += `${i + 1} 0 obj\n${object}\nendobj\n`
    return place
  })
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  return new TextEncoder().encode(
    `${body}xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`,
  )
}

const line = (y, text, before = '', after = '') => `BT ${before} /F1 12 Tf 72 ${y} Td (${text}) Tj ${after} ET`
const drawn = [
  line(720, 'Name:'),
  line(700, 'INVISIBLE', '3 Tr', '0 Tr'),
  line(680, 'WHITE', '1 1 1 rg', '0 g'),
  `/OC /L1 BDC ${line(660, 'SWITCHED OFF')} EMC`,
].join('\n')
const bytes = pdf([
  '<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [7 0 R] /DR << /Font << /F1 5 0 R >> >> >> /OCProperties << /OCGs [6 0 R] /D << /OFF [6 0 R] >> >> >>',
  '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
  '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> /Properties << /L1 6 0 R >> >> /Contents 4 0 R /Annots [7 0 R] >>',
  `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
  '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  '<< /Type /OCG /Name (Layer) >>',
  '<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /DA (/F1 12 Tf) /Rect [120 715 320 735] /P 3 0 R >>',
])
const document = await getDocumentProxy(bytes)
const { text } = await extractText(document, { mergePages: true })
const [field] = await (await document.getPage(1)).getAnnotations()
console.log('text:', JSON.stringify(text), 'field:', JSON.stringify(field.fieldValue))
const shown = ['INVISIBLE', 'WHITE', 'SWITCHED OFF'].every((hidden) => text.includes(hidden))
if (!shown || text.includes('Ada') || field.fieldValue !== 'Ada Lovelace') process.exit(1)
JS
node run.mjs || { echo "the behaviour has changed"; exit 1; }
