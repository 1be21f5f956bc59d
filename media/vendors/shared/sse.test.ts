import t from 'tap'
import { type SseEvent, SseParser } from './sse.js'

const STREAM = new TextEncoder().encode(
  [
    ': a comment\n',
    'data: {"a":"नमस्ते 👍"}\n\n',
    'event: error\r\ndata: one\r\ndata:two\r\n\r\n',
    'id: 7\nretry: 10\ndata:  two blanks\n\n',
    'data: cr\r\rdata\n\n',
    '\n\ndata: last without its blank line',
  ].join(''),
)
const EVENTS: readonly SseEvent[] = [
  { event: '', data: '{"a":"नमस्ते 👍"}' },
  { event: 'error', data: 'one\ntwo' },
  { event: '', data: ' two blanks' },
  { event: '', data: 'cr' },
  { event: '', data: '' },
  { event: '', data: 'last without its blank line' },
]

function parse(chunks: readonly Uint8Array[]): SseEvent[] {
  const parser = new SseParser()
  const events: SseEvent[] = []
  for (const chunk of chunks) parser.push(chunk, (event) => events.push(event))
  parser.end((event) => events.push(event))
  return events
}

t.test('all line endings, comments, unknown fields and an open last event', async (t) => {
  t.same(parse([STREAM]), EVENTS)
})

t.test('the result does not depend on how the bytes are split, even within a character', async (t) => {
  for (let cut = 1; cut < STREAM.length; cut++) {
    t.same(parse([STREAM.subarray(0, cut), STREAM.subarray(cut)]), EVENTS, `cut at ${cut}`)
  }
  t.same(parse([...STREAM].map((byte) => Uint8Array.of(byte))), EVENTS, 'byte by byte')
})

t.test('an endless event is rejected', async (t) => {
  const line = new TextEncoder().encode(`data: ${'x'.repeat(100_000)}\n`)
  t.throws(() => parse(Array.from({ length: 12 }, () => line)), RangeError)
  t.throws(() => parse([new Uint8Array(1024 * 1024 + 100).fill(120)]), RangeError)
})
