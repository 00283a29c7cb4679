/** The one object of a request: every phase's facts and the working parts that layers share. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../core/clock.ts'
import type { GenerationId } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { hashOf } from '../core/secret.ts'
import type { GatewayFields, SortKey } from '../dialects/canon/gateway-fields.ts'
import type { CanonicalRequest } from '../dialects/canon/request.ts'
import type { ClientDialect, Final, ReplyContext } from '../dialects/types.ts'
import type { AnswerPolicy, Vault } from '../guardrails/index.ts'
import type { AttemptRecord, Planned, ShownItem, Stage, Tap } from '../plugin-api/index.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import { type MergedPreferences, NO_PREFERENCES, type Removed, type Tier } from '../routing/index.ts'
import { CancelSource } from './cancel.ts'
import type { Door } from './door.ts'
import { Books } from './money/books.ts'
import { type HoldPart, NO_PART } from './money/hold.ts'
import type { OutputCap } from './money/reservation.ts'
import type { GuardrailBudget, GuardrailSetting } from './parts.ts'
import type { PluginRun } from './plugins/run.ts'
import type { EventPath } from './reply/event-path.ts'
import type { ReplyStream } from './reply/reply-stream.ts'
import type { Turn } from './reply.ts'
import type { Conversation } from './route/conversation.ts'
import type { ToolWatch } from './route/tool-watch.ts'

export interface ExchangeStart {
  id: GenerationId
  client: ClientDialect
  headers: IncomingHttpHeaders
  door: Door
  clock: Clock
  brand: string
  wantsMetadata: boolean
  /** Of an exchange that a tool of another one makes: the books that it adds to, how deep it lies, and when that one began. */
  within?: { books: Books; depth: number; at: number }
}

/** Another model that a tool of the provider asks. */
export interface Advisor {
  /** The provider's own name of it. */
  readonly model: string
  /** Questions that it may be asked at most. */
  readonly uses: number
  /** Endpoints of the catalogue with that name; the provider of the one that serves decides which it is. */
  readonly endpoints: readonly Endpoint[]
}

/** What a dynamic suffix of the slug asks for. */
export interface Variant {
  sort?: SortKey
  tiers?: ReadonlySet<Tier>
}

/** What reads answers for a key. */
export interface AnswerWatch {
  readonly policy: AnswerPolicy | undefined
  /** Guardrails that ask an engine. */
  readonly asking: readonly GuardrailSetting[]
}

const NO_VARIANT: Variant = {}
const NO_BUDGETS: readonly GuardrailBudget[] = []
const NO_BODY: JsonObject = {}

/** Layers see it through the phase types of the plugin API: a field is read only in the phases that have set it. */
export class Exchange implements Planned {
  readonly id: string
  readonly seq: number
  readonly tag: string
  /** A plan learns it from the body; any other exchange from its path. */
  client: ClientDialect
  readonly headers: IncomingHttpHeaders
  readonly at: number
  readonly started: number
  readonly cancel = new CancelSource()
  readonly wantsMetadata: boolean
  readonly stages: Stage[] = []
  readonly attempts: AttemptRecord[] = []
  readonly door: Door
  readonly clock: Clock
  readonly brand: string
  readonly books: Books
  readonly depth: number

  // authenticate
  key: ApiKey = NOBODY
  // read
  body: JsonObject = NO_BODY
  bodyBytes = 0
  /** False where the body surely holds text alone. */
  mayHoldMedia = false
  gateway: GatewayFields = { models: [], plugins: [], echoUpstreamBody: false }
  stream = false
  /** Who changed the canonical form, in order. */
  readonly edits: string[] = []
  private canon: CanonicalRequest | undefined
  // resolve
  requested = ''
  strategy = 'direct'
  models: readonly Model[] = []
  endpoints: readonly Endpoint[] = []
  /** Endpoints that a filter took out, each with its reason. */
  removed: readonly Removed[] = []
  /** Other models that tools of the provider ask. */
  advisors: readonly Advisor[] = []
  // guard
  /** What guardrails have read: items that later turns add are not among them, nor edits after these. */
  guarded: { edits: number; items: WeakSet<object> } | undefined
  /** What reads the answer; undefined where no guardrail does. */
  answerWatch: AnswerWatch | undefined
  /** What guardrails hid in the request and the answer brings back. */
  vault: Vault | undefined
  // shape
  taps: Tap[] | undefined
  /** Ids of the plugins that act on it, in the order in which they run. */
  pluginIds: readonly string[] = []
  pluginRuns: readonly PluginRun[] | undefined
  /** What the caller is told beside the fault where providers fail. */
  failureMetadata: JsonObject | undefined
  // converse
  /** Names under which the gateway's own tools were offered to the model; undefined where none were. */
  toolNames: ReadonlySet<string> | undefined
  /** What the caller sees of the gateway's own tools before the first turn; taken once it has been shown. */
  opening: readonly ShownItem[] | undefined
  /** Where decoded events go; absent until an attempt translates. */
  path: EventPath | undefined
  // resolve
  preferences: MergedPreferences = NO_PREFERENCES
  variant: Variant = NO_VARIANT
  /** What guardrails let the key spend. */
  budgets: readonly GuardrailBudget[] = NO_BUDGETS
  // plan
  candidates: readonly Endpoint[] = []
  /** Undefined where the request is not to stay on an endpoint. */
  conversation: Conversation | undefined
  /** Set where tools are offered and there is a choice of endpoints: it is among the taps. */
  toolWatch: ToolWatch | undefined
  /** What the running turn holds. */
  turnHold: HoldPart = NO_PART
  /** Output caps that the hold pays for; undefined where no limit applies, without entry where output costs nothing. */
  outputCaps: readonly OutputCap[] | undefined
  // attempt
  readonly ctx: ReplyContext
  reply: ReplyStream | undefined
  /** Milliseconds of silence before a stream's head goes out early, and between keep-alive comments. */
  silence = 10_000
  committedEndpoint: Endpoint | undefined
  /** Turns begun so far; more than one in a tool loop. */
  turns = 0
  /** Monotonic time of the first content that reached us, and of the first of the running attempt. */
  firstContentAt = 0
  contentAt = 0
  /** Called once the running attempt has brought content. */
  whenCommitted: (() => void) | undefined
  /** Milliseconds spent waiting for providers, over all attempts. */
  upstreamMs = 0
  /** The attempt that ended the exchange with a fault before anything of it had reached the caller: it may be charged. */
  unfinished: Turn | undefined
  /** Of its own turns the last; and all of them, where it adds to the books of another exchange. */
  lastTurn: Turn | undefined
  ownTurns: Turn[] | undefined
  // account
  final: Final | undefined

  constructor(start: ExchangeStart) {
    this.id = start.id.id
    this.seq = start.id.seq
    this.tag = start.id.tag
    this.client = start.client
    this.headers = start.headers
    this.door = start.door
    this.clock = start.clock
    this.brand = start.brand
    this.wantsMetadata = start.wantsMetadata
    this.books = start.within?.books ?? new Books()
    this.depth = start.within?.depth ?? 0
    this.at = start.within?.at ?? start.clock.now()
    this.started = start.clock.monotonic()
    this.ctx = {
      id: this.id,
      created: Math.floor(this.at / 1000),
      model: '',
      provider: '',
      body: NO_BODY,
      brand: start.brand,
      sequence: 0,
      opened: false,
    }
  }

  /** What failed authentications of its caller count by. */
  address(): string {
    return this.door.address?.() ?? ''
  }

  /** Digest of the secret that its caller sent. */
  digest(secret: string): string {
    return this.door.digest?.(secret) ?? hashOf(secret)
  }

  /** Sets what the `read` phase adds. */
  accept(body: JsonObject, bytes: number, gateway: GatewayFields): void {
    this.body = body
    this.bodyBytes = bytes
    this.gateway = gateway
    this.stream = body.stream === true
    this.requested = gateway.model ?? ''
    const ctx = this.ctx as { body: JsonObject; model: string }
    ctx.body = body
    ctx.model = this.requested
  }

  request(): CanonicalRequest {
    this.canon ??= this.client.decodeRequest(this.body)
    return this.canon
  }

  edit(by: string, change: (draft: CanonicalRequest) => void): void {
    change(this.request())
    this.edits.push(by)
  }

  addErrorMetadata(metadata: JsonObject): void {
    this.failureMetadata = { ...this.failureMetadata, ...metadata }
  }

  /** Only the view that a plugin at work is given has money to charge, and may hand a search over to providers. */
  charge(): boolean {
    return false
  }

  searchers(): 'none' {
    return 'none'
  }

  searchNatively(): boolean {
    return false
  }

  /** The running attempt has brought content: from here on nothing is tried again. */
  commit(endpoint: Endpoint): void {
    this.contentAt = this.clock.monotonic()
    if (this.firstContentAt === 0) this.firstContentAt = this.contentAt
    this.committedEndpoint = endpoint
    this.whenCommitted?.()
  }

  /** The provider of the running attempt has sent the head of its reply; of several calls of one attempt an error counts. */
  noteStatus(status: number): void {
    const record = this.attempts.at(-1)
    if (record && (record.status === null || record.status < 300)) record.status = status
  }

  get edited(): boolean {
    return this.edits.length > 0
  }
}

const NOBODY: ApiKey = {
  identity: '',
  hash: '',
  label: '',
  name: '',
  management: false,
  disabled: true,
  limit: 0,
  limitReset: null,
  expiresAt: null,
  allowedModels: undefined,
  provider: undefined,
  limits: {},
  passage: false,
}
