import t from 'tap'
import { allocateLiveAudio, LIVE_FRAMES, LiveAudioReader, LiveAudioWriter } from './live-audio.js'

const RATE = 8000
const pcm = (value: number) => new Int16Array(160).fill(value)

function rig() {
  const memory = allocateLiveAudio(RATE)
  const writer = new LiveAudioWriter(memory, RATE)
  const write = (value: number) => {
    writer.caller(pcm(value))
    writer.heard(pcm(-value))
    writer.commit()
  }
  return { memory, writer, write, reader: () => new LiveAudioReader(memory, RATE) }
}

/** The first sample pair of each frame. */
const pairs = (frames: Int16Array | null) =>
  Array.from({ length: (frames?.length ?? 0) / 320 }, (_, i) => [
    ...(frames ?? []).slice(i * 320, i * 320 + 2),
  ])

t.test('each reader has the frames since it began, caller first', (t) => {
  const { writer, write, reader } = rig()
  write(1)
  const first = reader()
  t.equal(first.read(), null)
  write(2)
  const second = reader()
  writer.heard(pcm(7))
  writer.commit()
  t.strictSame(pairs(first.read()), [
    [2, -2],
    [0, 7],
  ])
  t.strictSame(pairs(second.read()), [[0, 7]], 'what is not written is silent')
  t.equal(first.read(), null)
  t.strictSame([first.lostMs, second.lostMs], [0, 0])
  t.end()
})

t.test('a reader that falls behind loses the oldest frames, and the writer does not wait', (t) => {
  const { write, reader } = rig()
  const slow = reader()
  const quick = reader()
  for (let i = 1; i <= 3 * LIVE_FRAMES; i++) {
    write(i)
    t.strictSame(pairs(quick.read()), [[i, -i]])
  }
  const kept = pairs(slow.read())
  t.equal(kept.length, LIVE_FRAMES - 1)
  t.strictSame(kept.at(0), [2 * LIVE_FRAMES + 2, -2 * LIVE_FRAMES - 2])
  t.strictSame(kept.at(-1), [3 * LIVE_FRAMES, -3 * LIVE_FRAMES])
  t.equal(slow.lostMs, (2 * LIVE_FRAMES + 1) * 20)
  t.equal(quick.lostMs, 0)
  write(1)
  t.strictSame(pairs(slow.read()), [[1, -1]], 'and goes on')
  t.end()
})
