/** The figures of the recognisers on the labelled corpus, as the tables and lists of `docs/recognisers.md`. */
import { type Figures, type Half, measure, type Sample, SLUGS, samples } from '../test/guardrails/corpus/measure.ts'

const share = (value: number): string => value.toFixed(3)

function table(half: Half): string {
  const all = samples(half)
  const rows = SLUGS.map((slug) => measure(slug, all)).map(
    ({ kind, positives, negatives, precision, recall, missed, mistaken }) =>
      `| \`${kind}\` | ${positives} | ${negatives} | ${share(precision)} | ${share(recall)} | ${missed.length} | ${mistaken.length} |`,
  )
  return [
    '| Recogniser | positive | negative | precision | recall | missed | found wrongly |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...rows,
  ].join('\n')
}

/** As inline code, on one line. */
function quoted({ text }: Sample): string {
  const short = text.length > 120 ? `${text.slice(0, 120)}…` : text
  const line = short.replaceAll('\n', '⏎').replaceAll('|', '¦')
  return line.includes('`') ? `\`\` ${line} \`\`` : `\`${line}\``
}

function list(figures: Figures): string[] {
  const lines = [
    ...figures.missed.map((sample) => `- missed: ${quoted(sample)}`),
    ...figures.mistaken.map((sample) => `- wrong: ${quoted(sample)}`),
  ]
  return lines.length === 0 ? [] : [`**${figures.kind}**`, '', ...lines, '']
}

/** Sections by their name in the document. */
export function recogniserFigures(): Record<string, string> {
  const development = samples('development')
  const known = SLUGS.flatMap((slug) => list(measure(slug, development)))
  return { 'held-out': table('held-out'), development: table('development'), misses: known.join('\n').trimEnd() || 'None.' }
}
