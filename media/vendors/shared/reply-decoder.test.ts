import fc from 'fast-check'
import t from 'tap'
import { ReplyDecoder, type ReplyMessage } from './reply-decoder.js'

type Row = readonly [what: string, body: string | Uint8Array, expected: readonly unknown[]]

function decode(chunks: readonly Uint8Array[]): (ReplyMessage | null)[] {
  const messages: (ReplyMessage | null)[] = []
  const decoder = new ReplyDecoder((message) => messages.push(message))
  for (const chunk of chunks) decoder.push(chunk)
  decoder.end()
  return messages
}

const message = (value: unknown, { event = '', whole = false } = {}) => ({ event, value, whole })
const A = message({ a: 'नमस्ते' })
const B = message({ b: 2 })
const STREAM = 'data: {"a":"नमस्ते"}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n'

const ROWS: readonly Row[] = [
  ['events', STREAM, [A, B, null]],
  ['CRLF', STREAM.replaceAll('\n', '\r\n'), [A, B, null]],
  ['CR', STREAM.replaceAll('\n', '\r'), [A, B, null]],
  ['a byte order mark', `\ufeff${STREAM}`, [A, B, null]],
  ['blanks before the first event', ` \r\n\n${STREAM}`, [A, B, null]],
  ['comments', `: keep-alive\n\n${STREAM.replaceAll('data', ': x\ndata')}: end\n\n`, [A, B, null]],
  ['no blank after the colon', STREAM.replaceAll('data: ', 'data:'), [A, B, null]],
  ['no mark of the end', STREAM.replace('data: [DONE]\n\n', ''), [A, B]],
  ['no empty line at the end', STREAM.replace('data: [DONE]\n\n', '').trimEnd(), [A, B]],
  ['no empty lines at all', STREAM.replaceAll('\n\n', '\n'), [A, B, null]],
  ['one value in several lines', 'data: {"b":\ndata: 2}\n\n', [B]],
  ['named events', 'event: delta\ndata: {"b":2}\n\n', [message({ b: 2 }, { event: 'delta' })]],
  ['pings', 'event: ping\ndata: ping\n\ndata:\n\ndata: {"b":2}\n\ndata: keep-alive\n\n', [B]],
  [
    'an error without JSON',
    'event: error\ndata: no slot\n\n',
    [message({ error: 'no slot' }, { event: 'error' })],
  ],
  ['a list of messages', 'data: [{"a":"नमस्ते"},7,{"b":2}]\n\n', [A, B]],
  ['no objects', 'data: 7\n\ndata: "x"\n\ndata: null\n\n', []],
  ['one JSON value', '{"b":2}', [{ ...B, whole: true }]],
  ['one JSON value over lines', '\ufeff{\n  "b": 2\n}\n', [{ ...B, whole: true }]],
  ['one JSON value and empty lines', '{"b":2}\n\n', [{ ...B, whole: true }]],
  ['a list in place of a stream', '[{"a":"नमस्ते"},\n{"b":2}]', [A, B].map((one) => ({ ...one, whole: true }))],
  ['an object per line', '{"a":"नमस्ते"}\n{"b":2}\n', [A, B]],
  ['an object per line, the last line open', '{"a":"नमस्ते"}\r\n\n{"b":2}', [A, B]],
  ['nothing', '', []],
  ['blanks', ' \n\n', []],
  ['a page', '<html><body>data: {"b":2}</body></html>', []],
]

t.test('what a body holds decides, however its bytes are cut', async (t) => {
  for (const [what, body, expected] of ROWS) {
    const bytes = Buffer.from(body)
    t.same(decode([bytes]), expected, what)
    t.same(decode([...bytes].map((byte) => Uint8Array.of(byte))), expected, `${what}, byte by byte`)
    for (let cut = 1; cut < bytes.length; cut++) {
      t.same(decode([bytes.subarray(0, cut), bytes.subarray(cut)]), expected, `${what}, cut at ${cut}`)
    }
  }
})

t.test('any values pass through any cuts', async () => {
  const values = fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), {
    minLength: 2,
    maxLength: 5,
  })
  const forms = [
    (all: readonly string[]) => all.map((text) => `data: ${text}\r\n\r\n`).join(''),
    (all: readonly string[]) => all.map((text) => `data: ${text}\n`).join(''),
    (all: readonly string[]) => all.map((text) => `${text}\n`).join(''),
    (all: readonly string[]) => `[${all.join(',')}]`,
  ]
  fc.assert(
    fc.property(
      values,
      fc.constantFrom(...forms),
      fc.array(fc.nat(40), { minLength: 1 }),
      (given, form, cuts) => {
        const texts = given.map((value) => JSON.stringify(value))
        const bytes = Buffer.from(form(texts))
        const chunks: Uint8Array[] = []
        for (let at = 0, n = 0; at < bytes.length; n++) {
          const next = at + 1 + (cuts[n % cuts.length] ?? 0)
          chunks.push(bytes.subarray(at, next))
          at = next
        }
        return (
          JSON.stringify(decode(chunks).map((one) => one?.value)) ===
          JSON.stringify(texts.map((text) => JSON.parse(text)))
        )
      },
    ),
    { numRuns: 300 },
  )
})

t.test('what is no JSON is an error', async (t) => {
  for (const body of [
    'data: {"choices":\n\n',
    'data: hello\n\n',
    '{"b":',
    '{"b":2}\n{"b"',
    'data: {}\ndata: x\n\n',
  ]) {
    t.throws(() => decode([Buffer.from(body)]), { code: 'vendor_failed' }, body)
  }
  t.throws(() => decode([Buffer.from(`data: ${'x'.repeat(1024 * 1024)}`)]), RangeError)
})
