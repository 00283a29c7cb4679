/**
 * Calls and answers over the channel of a fork, both ways. All parcels of one turn of the event loop are sent as
 * one message: a message costs several times what its content costs.
 */
import { FAULTS, Fault, type FaultCode } from '../core/faults.ts'

/** The functions that one side offers, by name. Arguments and results cross as JSON: plain data only, null where there is nothing. */
export type Offer<T> = { [K in keyof T]: (...args: never[]) => unknown }

/** `never` in the place of each part, down to the fourth level, that does not cross: JSON has no form for it. */
type Crossing<T, Levels extends 0[] = []> = T extends bigint | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
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
  send(message: { parcels: readonly Parcel[] }): void
  /** @param hear receives every message; `gone` is called once, when the other side has left. */
  listen(hear: (message: unknown) => void, gone: () => void): void
}

/** A fault as it is sent: what a caller is shown, without cause and stack. */
export interface SentFault {
  code: FaultCode
  message: string
  retryAfter?: number | undefined
}

/** A call with an id, a notification without one, or the answer to a call. */
export type Parcel =
  | { readonly op: string; readonly args: readonly unknown[]; readonly id?: number }
  | { readonly of: number; readonly value?: unknown; readonly fault?: SentFault }

type Answer = (...args: readonly unknown[]) => unknown

export class Line<Theirs extends Offer<Theirs>, Ours extends Offer<Ours>> {
  private readonly port: Port
  private readonly answers: Readonly<Record<string, Answer | undefined>>
  private readonly oops: (error: unknown) => void
  private readonly pending = new Map<number, PromiseWithResolvers<unknown>>()
  private parcels: Parcel[] = []
  private lastId = 0
  private gone = false
  private readonly leaving: (() => void)[] = []

  /** @param oops called with errors of an answer that are no faults. */
  constructor(port: Port, answers: Answers<Ours>, oops: (error: unknown) => void) {
    this.port = port
    this.answers = answers as unknown as Readonly<Record<string, Answer | undefined>>
    this.oops = oops
    port.listen(
      (message) => this.hear(message),
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

  private post(parcel: Parcel): void {
    if (this.parcels.push(parcel) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const { parcels } = this
    this.parcels = []
    if (!this.port.open) return
    try {
      this.port.send({ parcels })
    } catch (thrown) {
      // One of them cannot be written as JSON. Neither the others nor this process may go with it.
      this.oops(thrown)
      for (const parcel of parcels) this.sendAlone(parcel)
    }
  }

  private sendAlone(parcel: Parcel): void {
    try {
      this.port.send({ parcels: [parcel] })
    } catch (thrown) {
      if ('of' in parcel) this.port.send({ parcels: [{ of: parcel.of, fault: sentFault(thrown) }] })
      else if (parcel.id !== undefined) this.answered({ of: parcel.id, fault: sentFault(thrown) })
    }
  }

  private hear(message: unknown): void {
    for (const parcel of parcelsOf(message)) {
      if ('of' in parcel) this.answered(parcel)
      else void this.answer(parcel)
    }
  }

  private answered({ of, value, fault }: Extract<Parcel, { of: number }>): void {
    const waiting = this.pending.get(of)
    this.pending.delete(of)
    if (fault) waiting?.reject(new Fault(fault.code, fault))
    else waiting?.resolve(value)
  }

  private async answer({ op, args, id }: Extract<Parcel, { op: string }>): Promise<void> {
    try {
      const answer = this.answers[op]
      if (!answer) throw new TypeError(`no operation ${op}`)
      const value = await answer(...args)
      if (id !== undefined && !this.gone) this.post({ of: id, value })
    } catch (thrown) {
      if (!(thrown instanceof Fault)) this.oops(thrown)
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

/** Both sides run the same program: other messages on the channel are not ours and are ignored. */
function parcelsOf(message: unknown): readonly Parcel[] {
  if (typeof message !== 'object' || message === null || !('parcels' in message) || !Array.isArray(message.parcels)) return []
  return message.parcels as Parcel[]
}

/** Common part of a process and of a worker seen from outside. */
export interface Channel {
  readonly connected: boolean
  send(message: object, callback: (error: Error | null) => void): unknown
  on(event: 'message', hear: (message: unknown) => void): unknown
  once(event: 'disconnect', gone: () => void): unknown
}

/** A channel as a port. A message that cannot be sent is lost with the process that it was for. */
export function portOf(channel: Channel): Port {
  return {
    get open() {
      return channel.connected
    },
    send: (message) => {
      channel.send(message, () => {})
    },
    listen: (hear, gone) => {
      channel.on('message', hear)
      channel.once('disconnect', gone)
    },
  }
}
