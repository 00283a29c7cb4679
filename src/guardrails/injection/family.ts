/** Description of an order to a model. */

export interface Family {
  /** Of each list one word is in every match, by its first four letters. */
  readonly words: readonly string[]
  /** `~` stands for what may stand between two words. */
  readonly form: string
  /** Capitals count. */
  readonly exact?: true
}

/** Up to n words in between. */
export const few = (most: number): string => `(?:~[a-z']{1,14}){0,${most}}`

/** The same for words with letters that English has not. */
export const some = (most: number): string => `(?:~[a-z'\\u00df-\\u017f]{1,16}){0,${most}}`
