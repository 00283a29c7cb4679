/** Notes of blocks that hold no text of their own. */
import type { NoteKind } from '../../dialects/canon/events.ts'

const TEXTLESS: ReadonlySet<NoteKind> = new Set(['signature', 'encrypted', 'logprobs', 'format'])

/** True for a note whose data holds readable text, such as the title of a source. */
export function hasTexts(note: NoteKind): boolean {
  return !TEXTLESS.has(note)
}
