/** A record that says when a pulse would bring something. */
export interface Urging {
  /** Calls `hear` whenever that is so. */
  onUrge(hear: () => void): void
}
