/** The binary framing: AWS's published vectors, every cut, and bytes that are no message. */
import t from 'tap'
import { EventStreamReader } from '../../../src/dialects/bedrock/event-stream.ts'
import { event, exception, message } from '../../support/event-stream.ts'
import { every } from '../../support/every.ts'

/** github.com/smithy-lang/smithy-typescript 6815d3e, packages/eventstream-codec/test_vectors/encoded. */
const POSITIVE: Readonly<Record<string, string>> = {
  all_headers:
    '000000cc000000af0fae64ca0a6576656e742d74797065040000a00c0c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0a626f6f6c2066616c73650109626f6f6c207472756500046279746502cf08627974652062756606001449276d2061206c6974746c6520746561706f74210974696d657374616d70080000000000845fed05696e74313603002a05696e7436340500000000028757b20475756964090102030405060708090a0b0c0d0e0f107b27666f6f273a27626172277daba5f10c',
  empty_message: '000000100000000005c248eb7d98c8ff',
  int32_header: '0000002d0000001041c424b80a6576656e742d74797065040000a00c7b27666f6f273a27626172277d36f480a0',
  payload_no_headers: '0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936',
  payload_one_str_header:
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
}
const NEGATIVE: Readonly<Record<string, string>> = {
  corrupted_header_len:
    '0000003d0000002107fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
  corrupted_headers:
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b61666f6f273a27626172277d8d9c08b1',
  corrupted_length:
    '0000003e0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
  corrupted_payload: '0000001d00000000fd528c5a5b27666f6f273a27626172277dc3653936',
}

interface Read {
  frames: [data: string, event: string | undefined][]
  broken?: string
}

function read(chunks: readonly Buffer[]): Read {
  const frames: Read['frames'] = []
  const reader = new EventStreamReader(({ data, event }) => frames.push([data, event]))
  try {
    for (const chunk of chunks) reader.push(chunk)
    reader.close()
  } catch (error) {
    return { frames, broken: error instanceof RangeError ? error.message : String(error) }
  }
  return { frames }
}

const bytewise = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))

t.test("AWS's vectors are read as they say, whole and byte by byte", async (t) => {
  await every(t, 'every message that is sound', async (t) => {
    for (const [name, hex] of Object.entries(POSITIVE)) {
      const bytes = Buffer.from(hex, 'hex')
      const data = name === 'empty_message' ? '' : "{'foo':'bar'}"
      t.same(read([bytes]), { frames: [[data, undefined]] }, name)
      t.same(read(bytewise(bytes)), { frames: [[data, undefined]] }, `${name}, byte by byte`)
    }
  })
  await every(t, 'every message that is corrupted', async (t) => {
    for (const [name, hex] of Object.entries(NEGATIVE)) {
      const expected = { frames: [], broken: 'a message of the stream has a wrong checksum' }
      t.same(read([Buffer.from(hex, 'hex')]), expected, name)
      t.same(read(bytewise(Buffer.from(hex, 'hex'))), expected, `${name}, byte by byte`)
    }
  })
})

t.test('messages mean the same wherever the stream is cut', async (t) => {
  const bytes = Buffer.concat([
    event('messageStart', { role: 'assistant' }),
    event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Grüß dich, 世界' } }),
    exception('throttlingException', 'Slow down'),
    message({ ':message-type': 'error', ':error-code': 'InternalError', ':error-message': 'Broken' }, Buffer.alloc(0)),
  ])
  const whole = read([bytes])
  t.match(whole.frames, [
    [/assistant/, 'messageStart'],
    [/世界/, 'contentBlockDelta'],
    ['{"message":"Slow down"}', 'exception:throttlingException'],
    ['{"message":"Broken"}', 'exception:InternalError'],
  ])
  t.same(read(bytewise(bytes)), whole)
  await every(t, 'every place of one cut', async (t) => {
    for (let at = 1; at < bytes.length; at++) t.same(read([bytes.subarray(0, at), bytes.subarray(at)]), whole, `at ${at}`)
  })
})

t.test('bytes that are no message are refused once, and nothing behind them is read', async (t) => {
  const sound = event('messageStart', { role: 'assistant' })
  const broken = Buffer.from(sound)
  broken[broken.length - 10] = (broken[broken.length - 10] ?? 0) ^ 1
  t.match(read([Buffer.concat([sound, broken, sound])]), { frames: [[/assistant/, 'messageStart']], broken: /checksum/ })
  const frames: string[] = []
  const reader = new EventStreamReader(({ data }) => frames.push(data))
  t.throws(() => reader.push(broken), /checksum/)
  reader.push(sound)
  t.same(frames, [], 'silence after the refusal')

  t.match(read([Buffer.from('data: {"text":"an event stream of another kind"}\n\n')]), { frames: [], broken: /checksum/ })
  const odd = message({ ':event-type': 'x' }, Buffer.from('{}'))
  t.same(read([odd.subarray(0, odd.length - 1)]), { frames: [] }, 'a message without its end is none')
})

t.test('lengths are bounded before anything is awaited', async (t) => {
  const { crc32 } = await import('node:zlib')
  const prelude = (length: number, headers: number): Buffer => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32BE(length)
    bytes.writeUInt32BE(headers, 4)
    bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
    return bytes
  }
  t.match(read([prelude(0xffffffff, 0)]), { broken: 'an event of the stream is too long' })
  t.match(read([prelude(64, 0xfffffff0)]), { broken: 'the lengths of a message do not fit' })
  t.match(read([prelude(15, 0)]), { broken: 'the lengths of a message do not fit' }, 'shorter than its own frame')
  t.same(read([prelude(1024, 0)]), { frames: [] }, 'one that may come')
  const header = (bytes: number[]): Buffer => {
    const all = Buffer.concat([prelude(16 + bytes.length, bytes.length), Buffer.from(bytes)])
    const end = Buffer.alloc(4)
    end.writeUInt32BE(crc32(all))
    return Buffer.concat([all, end])
  }
  t.match(read([header([1, 0x61, 7, 0xff, 0xff])]), { broken: 'the headers of the stream are cut' })
  t.match(read([header([1, 0x61, 42, 0, 0])]), { broken: 'a header of the stream has an unknown type' })
  t.match(read([header([9])]), { broken: /out of range/ })
})
