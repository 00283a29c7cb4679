/**
 * Calls and answers over the channel of a fork, both ways. All messages of one turn of the event loop are sent in one packet, because
 * sending costs several times as much as the content.
 */
import { FAULTS, Fault, type FaultCode } from '../core/faults.ts'

/** The functions that one side offers, by name. Arguments and results cross as JSON: plain data only, null where there is nothing. */
export type Offer<T> = { [K in keyof T]: (...args: never[]) => unknown }

/** `never` in the place of each part, down to the fourth level, that does not cross: JSON has no form for it. */
export type Crossing<T, Levels extends 0[] = []> = T extends
  | bigint
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ((...args: never[]) => unknown)
  ? never
  : Levels['length'] extends 4
    ? T
    : T extends object
      ? { [K in keyof T]: Crossing<T[K], [...Levels, 0]> }
      : T

type Reply<T> = Crossing<Awaited<T>>

/** Handler of a side's operations. */
export type Answers<T extends Offer<T>> = {
  readonly [K in keyof T]: (...args: Parameters<T[K]>) => Reply<ReturnType<T[K]>> | Promise<Reply<ReturnType<T[K]>>>
}

/** The end of a channel: a worker's process seen by its owner, or the owner seen from the worker. */
export interface Port {
  /** False where nothing can be sent any more. */
  readonly open: boolean
  send(packet: { messages: readonly Message[] }): void
  /** @param receive gets every packet. @param gone called once, when the other side has left. */
  listen(receive: (packet: unknown) => void, gone: () => void): void
}

/** A fault as it is sent: what a caller is shown, without cause and stack. */
export interface SentFault {
  code: FaultCode
  message: string
  retryAfter?: number | undefined
}

/** A call with an id, a notification without one, or the answer to a call. */
export type Message =
  | { readonly op: string; readonly args: readonly unknown[]; readonly id?: number }
  | { readonly of: number; readonly value?: unknown; readonly fault?: SentFault }

type Answer = (...args: readonly unknown[]) => unknown

export class Line<Theirs extends Offer<Theirs>, Ours extends Offer<Ours>> {
  private readonly port: Port
  private readonly answers: Readonly<Record<string, Answer | undefined>>
  private readonly reportUnexpected: (error: unknown) => void
  private readonly pending = new Map<number, PromiseWithResolvers<unknown>>()
  private messages: Message[] = []
  private lastId = 0
  private gone = false
  private readonly leaving: (() => void)[] = []

  /** @param reportUnexpected called with errors of an answer that are no faults. */
  constructor(port: Port, answers: Answers<Ours>, reportUnexpected: (error: unknown) => void) {
    this.port = port
    this.answers = answers as unknown as Readonly<Record<string, Answer | undefined>>
    this.reportUnexpected = reportUnexpected
    port.listen(
      (packet) => this.receive(packet),
      () => this.leave(),
    )
  }

  /** @throws Fault as the other side threw it; `unavailable` where the other side is gone. */
  ask<K extends keyof Theirs & string>(op: K, ...args: Parameters<Theirs[K]>): Promise<Awaited<ReturnType<Theirs[K]>>> {
    if (this.gone) return Promise.reject(goneFault())
    const id = ++this.lastId
    const waiting = Promise.withResolvers<unknown>()
    this.pending.set(id, waiting)
    this.post({ op, args, id })
    return waiting.promise as Promise<Awaited<ReturnType<Theirs[K]>>>
  }

  /** Sends a call without waiting for an answer. */
  notify<K extends keyof Theirs & string>(op: K, ...args: Parameters<Theirs[K]>): void {
    if (!this.gone) this.post({ op, args })
  }

  /** Calls `then` when the other side is gone; at once where it is. */
  whenGone(then: () => void): void {
    if (this.gone) then()
    else this.leaving.push(then)
  }

  private post(message: Message): void {
    if (this.messages.push(message) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const { messages } = this
    this.messages = []
    if (!this.port.open) return
    try {
      this.port.send({ messages })
    } catch (thrown) {
      // One of them cannot be written as JSON. Neither the others nor this process may go with it.
      this.reportUnexpected(thrown)
      for (const message of messages) this.sendAlone(message)
    }
  }

  private sendAlone(message: Message): void {
    try {
      this.port.send({ messages: [message] })
    } catch (thrown) {
      if ('of' in message) this.port.send({ messages: [{ of: message.of, fault: sentFault(thrown) }] })
      else if (message.id !== undefined) this.answered({ of: message.id, fault: sentFault(thrown) })
    }
  }

  private receive(packet: unknown): void {
    for (const message of parsePacket(packet)) {
      if ('of' in message) this.answered(message)
      else void this.answer(message)
    }
  }

  private answered({ of, value, fault }: Extract<Message, { of: number }>): void {
    const waiting = this.pending.get(of)
    this.pending.delete(of)
    if (fault) waiting?.reject(new Fault(fault.code, fault))
    else waiting?.resolve(value)
  }

  private async answer({ op, args, id }: Extract<Message, { op: string }>): Promise<void> {
    try {
      const answer = this.answers[op]
      if (!answer) throw new TypeError(`no operation ${op}`)
      const value = await answer(...args)
      if (id !== undefined && !this.gone) this.post({ of: id, value })
    } catch (thrown) {
      if (!(thrown instanceof Fault)) this.reportUnexpected(thrown)
      if (id !== undefined && !this.gone) this.post({ of: id, fault: sentFault(thrown) })
    }
  }

  private leave(): void {
    if (this.gone) return
    this.gone = true
    const waiting = [...this.pending.values()]
    this.pending.clear()
    for (const { reject } of waiting) reject(goneFault())
    for (const then of this.leaving.splice(0)) then()
  }
}

const goneFault = (): Fault => new Fault('unavailable', { message: 'The process that keeps the store is gone', retryAfter: 1 })

function sentFault(thrown: unknown): SentFault {
  if (!(thrown instanceof Fault)) return { code: 'internal', message: FAULTS.internal.message }
  return { code: thrown.code, message: thrown.message, retryAfter: thrown.retryAfter }
}

/** Both sides run the same program: other packets on the channel are not ours and are ignored. */
function parsePacket(packet: unknown): readonly Message[] {
  if (typeof packet !== 'object' || packet === null || !('messages' in packet) || !Array.isArray(packet.messages)) return []
  return packet.messages as Message[]
}

/** Common part of a process and of a worker seen from outside. */
export interface Channel {
  readonly connected: boolean
  send(packet: object, callback: (error: Error | null) => void): unknown
  on(event: 'message', receive: (packet: unknown) => void): unknown
  once(event: 'disconnect', gone: () => void): unknown
}

/** A channel as a port. A packet that cannot be sent is lost with the process that it was for. */
export function channelPort(channel: Channel): Port {
  return {
    get open() {
      return channel.connected
    },
    send: (packet) => {
      channel.send(packet, () => {})
    },
    listen: (receive, gone) => {
      channel.on('message', receive)
      channel.once('disconnect', gone)
    },
  }
}
