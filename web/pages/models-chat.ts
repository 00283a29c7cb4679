/** A streamed chat completion, read in slices so that a long one leaves the page its time. */
import { ApiError, send } from '../api.ts'

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number }
  /** USD. */
  readonly cost?: number
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** Parts of a reply that have come. Text is in blocks: only the last one still grows. */
export interface Reply {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly text: readonly string[]
  readonly reasoning: readonly string[]
  readonly tools: readonly ToolCall[]
  /** Addresses: data: or https:. */
  readonly images: readonly string[]
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  /** Milliseconds since the request was sent. */
  readonly firstAt: number | undefined
  readonly endAt: number | undefined
}

export const EMPTY: Reply = {
  id: undefined,
  model: undefined,
  provider: undefined,
  text: [],
  reasoning: [],
  tools: [],
  images: [],
  finish: undefined,
  usage: undefined,
  firstAt: undefined,
  endAt: undefined,
}

/** Characters from which on a block ends with its line, and at which it ends anyway. */
const BLOCK = 4_000
const MAX_BLOCK_LENGTH = 16_000
/** Milliseconds of reading before the page gets its turn. */
const SLICE = 12
/** Milliseconds between two drawings: each looks at every block. */
const DRAWN_EVERY = 120

interface Delta {
  readonly content?: string | null
  readonly reasoning?: string | null
  readonly images?: readonly { image_url?: { url?: string } }[]
  readonly tool_calls?: readonly { index?: number; id?: string; function?: { name?: string; arguments?: string } }[]
}

interface Chunk {
  readonly id?: string
  readonly model?: string
  readonly provider?: string
  readonly error?: { message?: string; code?: number }
  readonly choices?: readonly { delta?: Delta; message?: Delta; finish_reason?: string | null }[]
  readonly usage?: Usage
}

export interface ChatCall {
  readonly body: object
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Called several times a second. */
  readonly onReply: (reply: Reply) => void
}

/** @throws ApiError as `send`, and for an error within the stream: `onReply` has had what came before. */
export async function chat({ body, headers, signal, onReply }: ChatCall): Promise<void> {
  const started = performance.now()
  const response = await send('/v1/chat/completions', { method: 'POST', body, headers, signal })
  const reply = new Growing(started, response.headers.get('x-generation-id') ?? undefined)
  try {
    for await (const chunk of readChunks(response)) {
      reply.add(chunk)
      if (reply.isDue()) {
        if (reply.isOld()) onReply(reply.now())
        await turn()
        reply.nextSlice()
        if (signal.aborted) return
      }
    }
  } finally {
    reply.end()
    onReply(reply.now())
  }
}

/** The page draws and takes clicks meanwhile; a timer also runs while it is hidden. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

async function* readChunks(response: Response): AsyncGenerator<Chunk> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    yield (await response.json()) as Chunk
    return
  }
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const data = line.startsWith('data:') ? line.slice(5).trim() : ''
      if (data !== '' && data !== '[DONE]') yield JSON.parse(data) as Chunk
    }
  }
}

class Growing {
  private readonly started: number
  private slice: number
  private drawnAt = 0
  private reply: Reply
  private readonly text: string[] = []
  private readonly reasoning: string[] = []
  private readonly tools: ToolCall[] = []
  private readonly images: string[] = []

  constructor(started: number, id: string | undefined) {
    this.started = started
    this.slice = performance.now()
    this.reply = { ...EMPTY, id }
  }

  add({ id, model, provider, error, choices, usage }: Chunk): void {
    if (error) throw new ApiError(error.code ?? 502, error.message ?? 'The stream ended with an error')
    const [choice] = choices ?? []
    const delta = choice?.delta ?? choice?.message
    if (delta && this.take(delta) && this.reply.firstAt === undefined)
      this.reply = { ...this.reply, firstAt: performance.now() - this.started }
    this.reply = {
      ...this.reply,
      id: this.reply.id ?? id,
      model: model ?? this.reply.model,
      provider: provider ?? this.reply.provider,
      finish: choice?.finish_reason ?? this.reply.finish,
      usage: usage ?? this.reply.usage,
    }
  }

  /** True once the page has waited for long enough. */
  isDue(): boolean {
    return performance.now() - this.slice > SLICE
  }

  /** True once the page has shown the same for long enough. */
  isOld(): boolean {
    return performance.now() - this.drawnAt > DRAWN_EVERY
  }

  nextSlice(): void {
    this.slice = performance.now()
  }

  now(): Reply {
    this.drawnAt = performance.now()
    return { ...this.reply, text: [...this.text], reasoning: [...this.reasoning], tools: [...this.tools], images: [...this.images] }
  }

  end(): void {
    this.reply = { ...this.reply, endAt: performance.now() - this.started }
  }

  /** @returns whether there was any content. */
  private take({ content, reasoning, images, tool_calls: calls }: Delta): boolean {
    if (content) grow(this.text, content)
    if (reasoning) grow(this.reasoning, reasoning)
    for (const { image_url: image } of images ?? []) if (image?.url) this.images.push(image.url)
    for (const { index = this.tools.length, id, function: named } of calls ?? []) {
      const last = this.tools[index] ?? { id: '', name: '', arguments: '' }
      this.tools[index] = {
        id: last.id || (id ?? ''),
        name: last.name || (named?.name ?? ''),
        arguments: last.arguments + (named?.arguments ?? ''),
      }
    }
    return Boolean(content || reasoning || images?.length || calls?.length)
  }
}

/** A browser lays a block out anew with each letter, so that blocks stay short. */
function grow(blocks: string[], piece: string): void {
  const last = blocks.length - 1
  const open = blocks[last]
  if (open === undefined || (open.length > BLOCK && open.endsWith('\n')) || open.length > MAX_BLOCK_LENGTH) blocks.push(piece)
  else blocks[last] = open + piece
}
