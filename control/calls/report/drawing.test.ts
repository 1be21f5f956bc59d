import t from 'tap'
import { readXml } from '../../../fixtures/api/xml.js'
import { type CallDrawing, drawCall } from './drawing.js'

const CALL: CallDrawing = {
  title: 'Call call_1',
  facts: ['inbound, test', '95.0 s'],
  durationMs: 95_000,
  peaks: {
    version: 2,
    channels: 2,
    sample_rate: 8000,
    samples_per_pixel: 160,
    bits: 8,
    length: 4750,
    data: Array.from({ length: 4750 * 4 }, (_, i) => (i % 2 === 0 ? -40 : 60)),
  },
  turns: [
    { speaker: 'agent', text: 'Welcome.', startMs: 100, endMs: 2_000, cutAtMs: null },
    { speaker: 'caller', text: 'I want to book.', startMs: 2_600, endMs: 4_000, cutAtMs: null },
    { speaker: 'agent', text: 'Certainly, when', startMs: 28_000, endMs: 33_000, cutAtMs: 33_000 },
    { speaker: 'human', text: 'This is Meera.', startMs: 70_000, endMs: 72_000, cutAtMs: null },
  ],
  replies: [{ fromMs: 4_000, toMs: 4_640 }],
  marks: [
    { kind: 'digit', atMs: 50_000, text: '#' },
    { kind: 'failure', atMs: 51_000, text: 'speech to text: vendor_failed' },
  ],
}

const withClass = (svg: string, name: string) =>
  readXml(svg).filter(({ attributes }) => attributes.class?.split(' ')[0] === name)

t.test('every event is drawn once', (t) => {
  const svg = drawCall(CALL)
  const elements = readXml(svg)
  t.equal(elements[0]?.name, 'svg')
  t.equal(elements[0]?.attributes.xmlns, 'http://www.w3.org/2000/svg')
  const turns = elements.filter(({ attributes }) => attributes['data-speaker'] !== undefined)
  t.strictSame(
    turns.map(({ attributes }) => attributes['data-speaker']),
    ['agent', 'caller', 'agent', 'human'],
  )
  t.equal(withClass(svg, 'turn').length, 5, 'one of them runs over the end of a row')
  // The legend shows one of each.
  t.equal(withClass(svg, 'cut').length, 1 + 1)
  t.equal(withClass(svg, 'digit').length, 1 + 1)
  t.strictSame(
    withClass(svg, 'replytext').map(({ text }) => text),
    ['640 ms'],
  )
  t.strictSame(
    withClass(svg, 'digittext').map(({ text }) => text),
    ['#'],
  )
  t.equal(withClass(svg, 'wave').length, 8, 'both voices in each of four rows')
  t.end()
})

t.test('a turn is drawn at its time', (t) => {
  const [first, second] = withClass(drawCall(CALL), 'box')
  const place = (ms: number) => 60 + (ms / 30_000) * 1080
  t.equal(Number(first?.attributes.x), Math.round(place(100) * 10) / 10)
  t.equal(Number(second?.attributes.x), Math.round(place(2_600) * 10) / 10)
  t.ok(Math.abs(Number(second?.attributes.width) - (1_400 / 30_000) * 1080) < 0.2)
  t.ok(Number(first?.attributes.y) > Number(second?.attributes.y), 'the caller above, the agent below')
  t.end()
})

t.test('transcripts are drawn as text only', (t) => {
  const hostile = [
    '</text><script>alert(1)</script>',
    '"><image href="http://evil.example/x.png" onload="x()"/>',
    "]]> & &amp; &#x0; <!-- 'quoted' -->",
    `nul \u0000 bell \u0007 escape \u001b[31m c1 \u0085 lone \ud800 and \udc00 end \uffff`,
    'नमस्ते 😀 ‮desrever',
  ]
  const svg = drawCall({
    ...CALL,
    title: hostile.join(''),
    facts: hostile,
    turns: hostile.map((text, i) => ({
      speaker: 'caller',
      text,
      startMs: i * 6_000,
      endMs: i * 6_000 + 5_900,
      cutAtMs: null,
    })),
    marks: hostile.flatMap((text, i) => [
      { kind: 'digit', atMs: i * 1000, text },
      { kind: 'failure', atMs: i * 1000, text },
    ]),
  })
  const elements = readXml(svg)
  t.strictSame(
    [...new Set(elements.map(({ name }) => name))].sort(),
    ['circle', 'g', 'line', 'path', 'rect', 'style', 'svg', 'text', 'title'],
    'nothing but what we draw',
  )
  const attributes = new Set(elements.flatMap((element) => Object.keys(element.attributes)))
  t.notOk([...attributes].some((name) => name.startsWith('on') || name.includes('href')))
  t.equal(svg.match(/http/g)?.length, 1 + svg.split('http://evil.example').length - 1)
  t.ok(
    elements.some(({ text }) => text === hostile[0]),
    'a script is only read aloud',
  )
  t.ok(
    elements.some(({ text }) => text === hostile[4]),
    'all writing systems pass',
  )
  t.end()
})

t.test('an empty call, a very long one, one without a recording', (t) => {
  const empty = drawCall({ ...CALL, durationMs: 0, turns: [], replies: [], marks: [], peaks: null })
  t.equal(withClass(empty, 'wave').length, 0)
  const long = drawCall({ ...CALL, durationMs: 3 * 3_600_000 })
  const [svg] = readXml(long)
  t.ok(Number(svg?.attributes.height) < 16_000, 'bounded')
  t.end()
})
