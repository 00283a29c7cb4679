/** The pass-through: which keys may use it, what it costs, and one ledger row for each request. */

import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { asFault, Fault, isAccountFault } from '../../core/faults.ts'
import type { FirstUse } from '../../core/first-use.ts'
import type { GenerationId, GenerationIds } from '../../core/ids.ts'
import { isEncrypted } from '../../core/request-scheme.ts'
import { isManager } from '../../core/roles.ts'
import { toRowCounts } from '../../core/row-counts.ts'
import { keyPayer } from '../../ledger/payer.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Catalog } from '../../routing/catalog/catalog.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'
import { type RequestTrace, traceHeaders } from '../../services/telemetry/trace-context.ts'
import type { PassThroughCall, PassThroughEnd, PassThroughProxy } from '../../services/upstream/pass-through.ts'
import type { GivenIdStore } from '../../store/given-ids.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { GuardrailSetting } from '../guard/guardrail-setting.ts'
import { unreadBudgets } from '../guard/unread-budgets.ts'
import { takeFixed } from '../money/fixed-hold.ts'
import { Hold, isLimited, keyAccount, keyAllowances } from '../money/hold.ts'
import type { PolicySettings } from '../policy/policy-setting.ts'
import { admitUnread } from '../policy/unread.ts'
import { withoutEcho } from '../refusal/echoed-words.ts'
import { keyBucket } from '../request/admission.ts'
import { authenticator } from '../request/authenticate.ts'
import type { Callers } from '../request/authentication/index.ts'
import { takeRequest } from '../request/shown-rates.ts'
import { keyHeader } from '../route/provider-address.ts'
import { both } from './both-readers.ts'
import { fetchCredential } from './fetched-credential.ts'
import type { GivenIds } from './given-ids.ts'
import { bindIds } from './id-binding.ts'
import type { ListedIds } from './listed-ids.ts'
import { type Came, cameTo, NOTHING } from './native-charge.ts'
import { type BoundNative, boundNative, keepNative, unreadFault } from './native-hold.ts'
import type { IdOwner } from './native-ids.ts'
import { type ReadBody, readNative, type Unread } from './native-reading.ts'
import { type NativeRequest, type Operation, requestOperation } from './native-requests.ts'
import { addressIn, PASS_THROUGH_PREFIX } from './own-address.ts'
import { withPlainPath } from './path-ids.ts'
import { ReplyUsage } from './reply-usage.ts'
import type { SentIds } from './sent-ids.ts'

export interface PassThroughSettings {
  callers: Callers
  /** Address of a caller, by which failed authentications are counted. */
  clientAddress: (request: IncomingMessage) => string
  /** Certificate of the caller, which the listener has verified. @throws Fault 401 where it is not trusted any more: `reply` is the last. */
  trustedCertificate: (socket: IncomingMessage['socket'], reply: ServerResponse | undefined) => X509Certificate | undefined
  /** Address of the gateway, where the operator has stated it. */
  publicUrl: string | undefined
  guardrails: readonly GuardrailSetting[]
  policies: PolicySettings | undefined
  catalog: Pick<Catalog, 'providers' | 'models'>
}

/** End of a request, for its spans and its line in the log. A refused request lacks the fields that it had not reached. */
export interface PassThroughSeen {
  readonly id?: string
  readonly key?: ApiKey
  readonly provider?: Provider
  readonly cost?: number
  /** Monotonic milliseconds. */
  readonly started: number
  readonly trace?: RequestTrace | undefined
  readonly end: PassThroughEnd
}

/** Notes the spans of one request. */
export interface PassThroughTrace {
  /** Undefined where it is not traced, as far as that is known. */
  readonly trace: RequestTrace | undefined
  /** Id of the call of the provider. */
  readonly span: string
  end(seen: PassThroughSeen): void
}

/** Writes down how a request ended. @param address of the caller. */
type PassThroughNote = (seen: PassThroughSeen, address: () => string | undefined) => void

/** Use of the body of a request. */
export interface PassThroughBody {
  /** Takes the memory of its buffers, which counts towards a key's identity. @returns a promise where there is no room now. @throws Fault 503. */
  reserve(payer: string): Promise<void> | undefined
  readonly read: ReadBody
}

interface Booking {
  id: GenerationId
  key: ApiKey
  provider: Provider
  /** Below the provider's base URL, with its query. */
  path: string
  /** Nano-dollars; the least that the request costs. */
  price: number
  hold: Hold
  body: Buffer | undefined
  /** Of a generating request of a key with a limit. */
  bounded: Bounded | undefined
  /** Says what of a list the key sees. */
  pages: ListedIds | undefined
  /** Reads which ids the reply gives. */
  given: GivenIds | undefined
  /** Reads which ids the body names, where that has not been read. */
  watch: SentIds | undefined
  /** True where nothing says what the provider bills for it. */
  isUnpriced: boolean
  startedAt: number
  traced: PassThroughTrace | undefined
}

/** Parts of a request over HTTP beside its head; a WebSocket has none of them. */
interface Taken {
  readonly body: PassThroughBody
  readonly response: ServerResponse
}

interface Bounded {
  readonly native: NativeRequest
  readonly bound: BoundNative
}

export interface PassThroughSource {
  readonly dependencies: Pick<
    ChainDependencies,
    'clock' | 'failures' | 'journal' | 'credit' | 'admission' | 'upstreams' | 'wires' | 'alarm' | 'overrun' | 'summaries'
  >
  readonly proxy: FirstUse<PassThroughProxy>
  readonly ids: GenerationIds
  readonly givenIds: GivenIdStore
  readonly spans: { begin(request: IncomingMessage): PassThroughTrace | undefined }
  readonly line: PassThroughNote
}

export class PassThroughHandler {
  private readonly settings: PassThroughSettings
  private readonly dependencies: PassThroughSource['dependencies']
  private readonly source: PassThroughSource
  private readonly authenticate: ReturnType<typeof authenticator>

  constructor(settings: PassThroughSettings, source: PassThroughSource) {
    this.settings = settings
    this.dependencies = source.dependencies
    this.source = source
    const { clock, failures } = source.dependencies
    this.authenticate = authenticator({ callers: settings.callers, clock, failures })
  }

  /** Relays one request; whatever refuses it is thrown. */
  async request(request: IncomingMessage, response: ServerResponse, body: PassThroughBody): Promise<void> {
    const proxy = await this.source.proxy.get()
    const rates: Record<string, string> = {}
    const booking = await this.tracedBooking(request, rates, { body, response }).finally(() => {
      if (!response.headersSent) response.setHeaders(new Map(Object.entries(rates)))
    })
    response.setHeader('X-Generation-Id', booking.id.id)
    const trace = booking.traced?.trace
    if (trace) response.setHeader('X-Trace-Id', trace.traceId)
    proxy.web(request, response, { ...this.call(booking, request), ours: rates })
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const proxy = await this.source.proxy.get()
    const rates: Record<string, string> = {}
    const booking = await this.tracedBooking(request, rates)
    proxy.upgrade(request, socket as Socket, head, { ...this.call(booking, request), ours: rates })
  }

  /** @param rates get the headers of what is left to the key. */
  private async tracedBooking(request: IncomingMessage, rates: Record<string, string>, taken?: Taken): Promise<Booking> {
    const traced = this.source.spans.begin(request)
    const started = this.dependencies.clock.monotonic()
    let key: ApiKey | undefined
    try {
      key = await this.authenticateCaller(request, taken?.response)
      return { ...(await this.book(request, key, rates, taken?.body)), traced }
    } catch (thrown) {
      const end: PassThroughEnd = { status: null, outcome: 'failed', fault: asFault(thrown), sent: false }
      this.seen({ ...(key ? { key } : {}), end, started }, request, traced)
      throw thrown
    }
  }

  private seen(seen: PassThroughSeen, request: IncomingMessage, traced: PassThroughTrace | undefined): void {
    traced?.end(seen)
    this.source.line({ ...seen, trace: traced?.trace }, () => this.settings.clientAddress(request))
  }

  private call(booking: Booking, request: IncomingMessage): PassThroughCall {
    const { provider, path, traced, bounded, body, given, watch, pages } = booking
    const usage = bounded && this.createReader(bounded)
    const reader = usage && given ? both(usage, given) : (usage ?? given)
    const credential = provider.credential?.forCall()
    const used = credential?.grant
    const dialect = this.dependencies.upstreams.get(provider.dialect)
    return {
      provider,
      path,
      address: `${this.settings.publicUrl ?? addressIn(request)}${PASS_THROUGH_PREFIX}${provider.slug}`,
      body,
      watch,
      reader,
      pages,
      auth: provider.key === undefined || !dialect ? undefined : keyHeader(provider, provider.key, dialect),
      authorize:
        credential && dialect
          ? (method, { origin, pathname, search }, headers) =>
              credential.headers({
                method,
                origin,
                path: pathname + search,
                body: '',
                headers,
                keyHeader: (key) => keyHeader(provider, key, dialect),
              })
          : undefined,
      errors: (status, body, headers, sent) =>
        withoutEcho(dialect?.decodeFault(status, body, headers) ?? new Fault('upstream_error'), {
          sent: sent ?? null,
          isDiscarded: sent === undefined,
        }),
      errorReply: dialect?.errorReply?.bind(dialect),
      trace: traceHeaders(provider.traceContext, { trace: traced?.trace, span: traced?.span, headers: request.headers }),
      onEnd: (end) => {
        // The body is spent, so this request cannot be made again; the next one gets another credential. The caller has chosen the path,
        // which may be one that no key of the account may call: that says nothing of a key of a pool, which would be left out.
        if (credential && !provider.credential?.another && end.fault?.code === 'credential_refused' && !end.fault.isEchoed)
          credential.renew(used).catch(() => {})
        if (end.fault && isAccountFault(end.fault)) this.dependencies.alarm(provider, end.fault, undefined)
        const { id, key, startedAt: started } = booking
        const at = this.dependencies.clock.now()
        const came = cameTo(booking, end, { reader: usage, at })
        this.seen({ id: id.id, key, provider, cost: came.cost, started, end }, request, traced)
        const settled = this.settle(booking, end, came)
        const kept = given?.keep(this.source.givenIds, at)
        return kept ? Promise.all([settled, kept]).then(() => {}) : settled
      },
    }
  }

  private async authenticateCaller(request: IncomingMessage, response: ServerResponse | undefined): Promise<ApiKey> {
    const { clientAddress, trustedCertificate } = this.settings
    const { socket } = request
    const connection = {
      address: () => clientAddress(request),
      isEncrypted: () => isEncrypted(socket),
      certificate: () => trustedCertificate(socket, response),
    }
    return this.authenticate({ headers: request.headers, connection })
  }

  /** Checks what the key may do, takes the price and writes the hold's row before anything goes out. */
  private async book(
    request: IncomingMessage,
    key: ApiKey,
    rates: Record<string, string>,
    body?: PassThroughBody,
  ): Promise<Omit<Booking, 'traced'>> {
    const { dependencies, settings } = this
    const slug = (request.url ?? '').slice(PASS_THROUGH_PREFIX.length).replace(/[/?].*$/s, '')
    const provider = settings.catalog.providers.get(slug)
    if (isManager(key) || !key.passThrough) throw new Fault('forbidden', { message: 'This key may not use the pass-through' })
    if (!provider || provider.passThroughPrice === undefined)
      throw new Fault('not_found', { message: `No pass-through to ${slug.slice(0, 64)}` })
    if (settings.policies) admitUnread(settings.policies, { key, headers: request.headers, at: dependencies.clock.now() })
    const budgets = unreadBudgets(settings.guardrails, key)
    const named = { owner: key.identity, provider, summaries: dependencies.summaries }
    const path = await withPlainPath((request.url ?? '').slice(PASS_THROUGH_PREFIX.length + provider.slug.length), named)
    await fetchCredential(provider, dependencies)
    const { rateForm: form = 'durations' } = dependencies.upstreams.get(provider.dialect) ?? {}
    await takeRequest(key, { ...dependencies, form }, rates)
    await body?.reserve(keyBucket(key))
    const operation = body ? requestOperation(request, path) : 'unknown'
    const limited = isLimited(key, budgets)
    const read = limited ? await this.readRequest(request, operation, { ...named, read: body?.read }) : undefined
    const ids = await bindIds(this.source.givenIds, request, { key, provider, path, operation, read: read?.body, isSocket: !body })
    const price = read && 'unread' in read ? priceOfUnread(provider, read) : provider.passThroughPrice
    const hold = new Hold()
    const spender = { key, budgets, credit: dependencies.credit, clock: dependencies.clock }
    const bound = read && 'bound' in read ? read.bound : undefined
    const part = { amount: Math.max(price, bound?.own ?? 0), floor: Math.max(price, bound?.floor ?? 0) }
    await takeFixed(hold, spender, part, `a pass-through request to ${slug} may cost`)
    if (bound) {
      const purse = {
        hold,
        account: keyAccount(key, dependencies.credit),
        allowances: keyAllowances(key, budgets),
        key,
        clock: dependencies.clock,
      }
      await keepNative(bound, purse).catch((thrown: unknown) => {
        hold.release()
        throw thrown
      })
    }
    const id = this.source.ids.next(dependencies.clock.now())
    const bounded = read && 'bound' in read ? read : undefined
    const isUnpriced = operation !== 'idle' && !bounded
    const startedAt = dependencies.clock.monotonic()
    const booking = { id, key, provider, path, price, hold, body: read?.body, bounded, ...ids, isUnpriced, startedAt }
    const endpoint = `passage@${provider.slug}`
    try {
      await hold.write(dependencies.journal, {
        seq: id.seq,
        tag: id.tag,
        key: key.identity,
        payer: keyPayer(key),
        model: 'passage',
        endpoint,
      })
    } catch (thrown) {
      const fault = asFault(thrown)
      // The row may exist all the same, so it is settled; the caller gets the fault.
      this.settle(booking, { status: null, outcome: 'failed' }, NOTHING).catch(() => {})
      throw fault
    }
    return booking
  }

  /** Reads a request of a key with a limit, and bounds what it may cost. @returns undefined where no model works for it. */
  private async readRequest(
    request: IncomingMessage,
    operation: Operation,
    { read, ...named }: IdOwner & { read: ReadBody | undefined },
  ): Promise<(Bounded & { body: Buffer }) | Unread | undefined> {
    if (operation === 'idle') return undefined
    if (!read) return { unread: 'a WebSocket', help: 'send requests over HTTP' }
    if (operation === 'unknown') return { unread: 'an operation that the gateway does not know', help: 'use another one' }
    const { upstreams, clock } = this.dependencies
    const reading = await readNative(operation, request, { ...named, upstreams, read })
    if ('unread' in reading) return reading
    const { provider } = named
    const bound = boundNative(operation, reading, { provider, endpoints: this.providerEndpoints(provider), at: clock.now() })
    if ('unread' in bound) return bound
    return { native: operation, bound, body: reading.body }
  }

  private createReader({ native: { wire, replies }, bound: { bounds } }: Bounded): ReplyUsage | undefined {
    const { upstreams, wires, clock } = this.dependencies
    const dialect = upstreams.get(wire)
    const vectors = replies === 'vectors' ? wires.get(wire) : undefined
    return dialect && new ReplyUsage({ dialect, vectors, answers: bounds[0]?.answers ?? 1, now: () => clock.monotonic() })
  }

  private providerEndpoints({ slug }: Provider): readonly Endpoint[] {
    return this.settings.catalog.models.flatMap(({ endpoints }) => endpoints.filter(({ provider }) => provider.slug === slug))
  }

  private async settle(booking: Omit<Booking, 'traced'>, end: PassThroughEnd, came: Came): Promise<void> {
    const { dependencies } = this
    const { cost, disputed, estimated, usage } = came
    const { id, key, provider, hold, isUnpriced } = booking
    const { committed, excess, unrecovered } = await hold.settle(dependencies.journal, {
      seq: id.seq,
      status: end.outcome,
      cost,
      at: Math.floor(dependencies.clock.now()),
      ...toRowCounts(usage ?? {}),
      estimated,
      facts: JSON.stringify({
        model: 'passage',
        provider: provider.name,
        endpoint: `passage@${provider.slug}`,
        operation: 'passage',
        generation_time: Math.round(dependencies.clock.monotonic() - booking.startedAt),
        cancelled: end.outcome === 'aborted',
        price_unknown: isUnpriced && came !== NOTHING ? true : undefined,
        disputed_nano: disputed > 0 ? disputed : undefined,
        provider_responses: [{ provider_name: provider.name, status: end.status, code: end.fault?.code, cause: end.fault?.reason }],
      }),
    })
    if (excess > 0 || disputed > 0)
      dependencies.overrun({ generation: id.id, key: key.identity, provider: provider.slug }, { excess, unrecovered, disputed })
    await committed
  }
}

/** @throws Fault 403 where the operator has stated none. */
function priceOfUnread({ slug, passThroughPrice = 0, passThroughUnreadPrice: unread }: Provider, what: Unread): number {
  if (unread === undefined) throw unreadFault(what, slug)
  return Math.max(passThroughPrice, unread)
}
