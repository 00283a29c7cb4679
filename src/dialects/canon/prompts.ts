/** Prompts that the operator keeps in the configuration, for requests to name instead of repeat. */

export interface StoredPrompt {
  /** Put in front of the request's own input; `{{name}}` in a text stands for a variable. */
  readonly messages: readonly { readonly role: 'system' | 'developer' | 'user' | 'assistant'; readonly text: string }[]
}

export type StoredPrompts = ReadonlyMap<string, StoredPrompt>
