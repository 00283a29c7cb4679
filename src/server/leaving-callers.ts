/**
 * Notices callers that have left where only a write shows it. A caller that has closed its sending side may still read (RFC 9112
 * section 9.6), and whether one has left whose bytes are not read at the moment cannot be seen at all. So something is written that means
 * nothing to its reader: a caller that is gone answers the first write with a reset, and the second write finds it.
 */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../core/clock.ts'

/** A reply under way. */
export interface ProbedReply {
  /** Sends something that means nothing. */
  probe(): void
}

/**
 * Milliseconds after which a caller is probed whose sending side has closed. The later ones find a caller that leaves later: of that
 * nothing is sent, since its end has been sent already. There are no more than a reply has letters before its status (early-letters.ts).
 */
const HALF_CLOSED = [40, 60, 1_000, 5_000, 15_000, 30_000, 60_000, 120_000, 240_000]

/** The same for a caller whose bytes are not read. */
const UNREAD = HALF_CLOSED.slice(3)

const REPLY = Symbol('reply')
const BEHIND = Symbol('replies behind it')
const PROBING = Symbol('probing')
type Followed = Socket & { [REPLY]?: ProbedReply | undefined; [BEHIND]?: ProbedReply[] | undefined; [PROBING]?: Timer | undefined }

export class LeavingCallers {
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** A reply has begun, perhaps behind another one of its connection. */
  begin(socket: Followed, reply: ProbedReply): void {
    if (socket[REPLY] === undefined) socket[REPLY] = reply
    else {
      socket[BEHIND] ??= []
      socket[BEHIND].push(reply)
    }
  }

  /** The reply is over, or its connection. */
  end(socket: Followed, reply: ProbedReply): void {
    if (socket[REPLY] !== reply) {
      socket[BEHIND] = socket[BEHIND]?.filter((other) => other !== reply)
      return
    }
    if (socket[PROBING]) stop(socket)
    socket[REPLY] = socket[BEHIND]?.shift()
    // What its caller has sent has ended: no other event will come.
    if (socket[REPLY] && socket.readableEnded) this.halfClosed(socket)
  }

  /** The caller has closed its sending side. */
  halfClosed(socket: Followed): void {
    this.probe(socket, HALF_CLOSED)
  }

  /**
   * From now on nothing is read of the connection.
   * @param isUnread false where that is not so at the moment.
   */
  unread(socket: Followed, isUnread: () => boolean = () => true): void {
    if (!socket.readableEnded) this.probe(socket, UNREAD, isUnread)
  }

  private probe(socket: Followed, times: readonly number[], isDue = (): boolean => true): void {
    stop(socket)
    if (!socket[REPLY]) return
    const wait = (at: number, since: number): void => {
      const time = times[at]
      socket[PROBING] =
        time === undefined
          ? undefined
          : this.clock.after(time - since, () => {
              if (isDue()) socket[REPLY]?.probe()
              wait(at + 1, time)
            })
    }
    wait(0, 0)
  }
}

function stop(socket: Followed): void {
  socket[PROBING]?.cancel()
  socket[PROBING] = undefined
}
