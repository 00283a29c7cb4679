/** The schema of the log: which lines are written, and in which form. */
import { Type } from 'typebox'
import { ACCESS_FIELDS, FORMATS, LEVELS, PARTS } from '../../core/log-settings.ts'
import { choiceField, closed, mapField, withDefault } from '../fields/scalars.ts'

const fields = ACCESS_FIELDS.join('|')

const access = closed('The line of each request.', {
  lines: withDefault(
    choiceField(
      '`failures`: only of requests that end in an error, or whose stream breaks. `none`: no such lines; the ledger and the metrics stay.',
      ['all', 'failures', 'none'],
    ),
    'all',
  ),
  format: Type.Optional(
    Type.String({
      description: `\`json\`, \`logfmt\`, or a text with fields in braces, such as \`{time} {key} {model} {status} {ms}\`. The fields: ${ACCESS_FIELDS.map((name) => `\`${name}\``).join(', ')}. If unset: as \`format\`.`,
      pattern: `^(json|logfmt|[^{}\\r\\n]*(\\{(${fields})\\}[^{}\\r\\n]*)+)$`,
      maxLength: 1000,
      expected: `json, logfmt, or a text with fields in braces, of ${ACCESS_FIELDS.join(', ')}`,
    }),
  ),
})

const level = (description: string) => choiceField(description, LEVELS)

export const log = closed('Lines of the log, on standard output.', {
  level: withDefault(level('Lines below it are left out. The line of a request has its own setting, `access`.'), 'info'),
  levels: withDefault(
    mapField(
      'Levels of parts of the program, instead of `level`.',
      `^(${PARTS.join('|')})$`,
      `one of: ${PARTS.join(', ')}`,
      level('Of this part.'),
    ),
    {},
  ),
  format: withDefault(
    choiceField(
      '`journal`: `logfmt` with the priority in front, as `journalctl -p warning` wants it. `text`: for people, with the time of the machine. `auto`: `text` on a terminal, `json` elsewhere.',
      ['auto', ...FORMATS],
    ),
    'auto',
  ),
  access: withDefault(access, {}),
})
