/** A record that reports when a pulse would bring a change. */
export interface WakeSource {
  /** @param wake called whenever that is so. */
  onWake(wake: () => void): void
}
