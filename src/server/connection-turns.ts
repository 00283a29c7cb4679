/** Lets new connections be taken before long bodies are worked on. */

/**
 * Turns of the event loop for which the next long body waits while each turn brings a new connection. libuv takes one connection of a
 * listening socket in each turn (`uv__server_io`, 1.51), and what has not been taken cannot be refused either: it waits in the
 * system, where no bound of this queue holds. Turns without a long body are short. With four of them small requests had a p99 of 248 ms
 * at three times the load, with eight 192; twelve took time that was due to long bodies (`node bench/overload.ts`, half a core).
 */
const MAX_TURNS = 8

export class ConnectionTurns {
  /** This turn has brought a new connection: more of them may be waiting. */
  private hasConnected = false
  /** Turns in a row in which long bodies have waited. */
  private count = 0

  connected(): void {
    this.hasConnected = true
  }

  /** Called once in each turn. @returns whether the long bodies that wait do so for the next turn, so that this one ends soon. */
  goFirst(areWaiting: boolean): boolean {
    const goFirst = this.hasConnected && areWaiting && this.count < MAX_TURNS
    this.hasConnected = false
    this.count = goFirst ? this.count + 1 : 0
    return goFirst
  }
}
