/**
 * Files that a caller has stored at a provider. Their ids mean something to the services of one API alone:
 * OpenAI's to Chat Completions and Responses (types of openai 7.57.0: `ChatCompletionContentPart.File.File.file_id`,
 * `ResponseInputFile.file_id`, `ResponseInputImage.file_id`), Anthropic's to Messages (types of @anthropic-ai/sdk 1.12.0:
 * `BetaFileDocumentSource`, `BetaFileImageSource`). Of several providers with one format, each refuses the ids of the others.
 */
import type { Media } from './media.ts'

/** Owner of the ids, by the format of the API. */
export type FileFamily = 'openai' | 'messages'

/** Parts that a wire can name by the id of a file. */
export interface TakenFiles {
  readonly family: FileFamily
  readonly kinds: readonly Media['media'][]
}

/** True for a part that has the id of a file alone: one with its bytes or their address needs no id. */
export function isStoredFile(part: Media): part is Media & { fileId: string } {
  return part.fileId !== undefined && part.url === undefined && part.data === undefined
}
