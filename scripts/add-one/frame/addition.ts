/** Additions of `scripts/add-one.ts`: one thing of one kind, as a contributor would who follows CONTRIBUTING.md. */

/** A file that is written anew. */
export interface NewFile {
  readonly file: string
  readonly text: string
}

/** A place in a file that is there; `find` stands in it exactly once. */
export interface Replacement {
  readonly file: string
  readonly find: string
  readonly replace: string
}

export type Edit = NewFile | Replacement

export interface Addition {
  /** One word or several with hyphens: what the command line and the name of the file say. */
  readonly name: string
  /** The change and its files in a sentence of Markdown each, for the table of CONTRIBUTING.md. */
  readonly change: string
  readonly recipe: string
  /** Files written by hand that it may touch, tests included. */
  readonly most: number
  /** All that is written by hand, the test that belongs to the change included. */
  readonly edits: readonly Edit[]
  /** Parts of names of the test files that must pass, as `test/run.ts` takes them. */
  readonly test: readonly string[]
  /** Parts of names of test files that run with `HEADGATE_WRITE=1` after `npm run generate`, since they write documents. */
  readonly writers?: readonly string[]
  /**
   * A test that shows from outside that what was added works, where the recipe asks for none because tests of the tree look at each of
   * the kind. It is not part of the change and is not counted.
   */
  readonly proof?: NewFile
}
