import t from 'tap'
import { openFrameCoder } from './frame-coder.js'

/** A tone of 400 Hz, `frames` of 20 ms. */
function tone(rate: number, frames: number): Int16Array[] {
  const samples = rate / 50
  return Array.from({ length: frames }, (_, frame) =>
    Int16Array.from({ length: samples }, (_, i) =>
      Math.round(8000 * Math.sin((2 * Math.PI * 400 * (frame * samples + i)) / rate)),
    ),
  )
}

const level = (pcm: Int16Array): number =>
  Math.sqrt(pcm.reduce((sum, sample) => sum + sample * sample, 0) / pcm.length)

t.test('L16 has the high byte of a sample first, in both directions', async (t) => {
  const coder = openFrameCoder('linear16', 16_000)
  const pcm = new Int16Array(320)
  pcm.set([0x0102, -2, 0x7fff, -0x8000])
  const wire = new Uint8Array(700)
  t.equal(coder?.encode(pcm, wire, 10), 640)
  t.same([...wire.subarray(10, 18)], [0x01, 0x02, 0xff, 0xfe, 0x7f, 0xff, 0x80, 0x00])
  const back = coder?.decode(wire.subarray(10, 650)) ?? new Uint8Array(0)
  t.same(new Int16Array(new Uint8Array(back).buffer), pcm)
  t.same(coder?.decode(Uint8Array.of(1, 2, 3)), Buffer.of(2, 1), 'half a sample is left out')
})

t.test('G.722 and Opus: what is encoded is heard, and what is decoded is whole', async (t) => {
  for (const [format, rate] of [
    ['g722', 16_000],
    ['opus', 16_000],
    ['opus', 8000],
  ] as const) {
    const sender = openFrameCoder(format, rate)
    const receiver = openFrameCoder(format, rate)
    if (sender === null || receiver === null) throw new Error('no coder')
    const wire = new Uint8Array(sender.maxBytes)
    const heard = tone(rate, 25).map((frame) => {
      const bytes = sender.encode(frame, wire, 0)
      t.ok(bytes > 0 && bytes <= sender.maxBytes)
      const pcm = receiver.decode(wire.subarray(0, bytes))
      return new Int16Array(new Uint8Array(pcm).buffer)
    })
    t.ok(
      heard.every(({ length }) => length === rate / 50),
      `${format} ${rate}: 20 ms each`,
    )
    const loudness = level(heard[20] ?? new Int16Array(0))
    t.ok(loudness > 4500 && loudness < 6800, `${format} ${rate}: ${loudness}`)
  }
})

t.test('a G.722 message may hold seconds, an invalid Opus packet holds nothing', async (t) => {
  t.equal(openFrameCoder('g722', 16_000)?.decode(new Uint8Array(24_000)).length, 96_000)
  t.equal(openFrameCoder('opus', 16_000)?.decode(new Uint8Array(0)).length, 0)
  t.equal(openFrameCoder('opus', 16_000)?.decode(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff)).length, 0)
})

t.test('formats without state need no coder', async (t) => {
  t.equal(openFrameCoder('mulaw', 8000), null)
  t.equal(openFrameCoder('alaw', 8000), null)
  t.throws(() => openFrameCoder('opus', 24_000), /opus has no rate of 24000/)
})
