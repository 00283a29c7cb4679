/** The context of one reply, as an exchange begins it: what its writers share. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.ts'
import type { CodeForm } from '../core/error-codes.ts'
import type { JsonObject } from '../core/json.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import type { ClientDialect, ReplyContext } from '../dialects/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { chooseCodeForm } from './request/code-form.ts'

/** An exchange, as far as the reply depends on its caller. */
export interface Caller {
  readonly head: {
    readonly id: string
    readonly brand: string
    readonly headers: IncomingHttpHeaders
    readonly client: ClientDialect
    readonly config: Pick<Config, 'brand' | 'errors'>
  }
  readonly auth: { readonly key: ApiKey } | undefined
}

export class ReplyFacts implements ReplyContext {
  readonly id: string
  readonly created: number
  readonly brand: string
  model = ''
  provider = ''
  body: JsonObject = {}
  sequence = 0
  opened = false
  counted: Usage | undefined = undefined
  readonly #caller: Caller

  /** @param created Unix seconds. */
  constructor(caller: Caller, created: number) {
    this.id = caller.head.id
    this.created = created
    this.brand = caller.head.brand
    this.#caller = caller
  }

  /** Looked up where calls are written. */
  get demanding(): boolean {
    const { client, headers } = this.#caller.head
    return client.demands?.(headers) === true
  }

  /** Looked up where encrypted reasoning comes last. */
  get readsLastBlock(): boolean {
    const { client, headers } = this.#caller.head
    return client.readsLastBlock?.(headers) === true
  }

  /** Looked up where there is reasoning. */
  get refusesTwoNames(): boolean {
    const { client, headers } = this.#caller.head
    return client.refusesTwoNames?.(headers) === true
  }

  /** Looked up where there is an error. */
  get codeForm(): CodeForm {
    const { head, auth } = this.#caller
    const { headers, config } = head
    return chooseCodeForm({ headers, header: config.brand.headers.errorCode, ofKey: auth?.key.errorCode, configured: config.errors.code })
  }
}
