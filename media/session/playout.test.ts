import t from 'tap'
import { Playout } from './playout.js'

const FRAME = 160

/** Samples that equal their position: 1, 2, 3, ... */
const ramp = (count: number, from = 1): Int16Array => Int16Array.from({ length: count }, (_, i) => from + i)

function rig(capacityMs = 60_000) {
  const playout = new Playout(8000, capacityMs)
  const events: string[] = []
  playout.onDrained = (utterance) => events.push(`drained ${utterance}`)
  playout.onFirstSample = (utterance) => events.push(`first ${utterance}`)
  const frame = new Int16Array(FRAME)
  return {
    playout,
    events,
    pull: () => (playout.pull(frame) ? Array.from(frame) : null),
  }
}

t.test('samples are played unchanged, 20 ms at a time', (t) => {
  const { playout, pull, events } = rig()
  t.equal(pull(), null)
  t.equal(playout.enqueue(1, ramp(400)), 400)
  t.equal(playout.queuedMs, 50)
  playout.end(1)
  t.strictSame(pull(), Array.from(ramp(160)))
  t.strictSame(events, ['first 1'])
  t.strictSame(pull(), Array.from(ramp(160, 161)))
  t.equal(playout.sentSamples(1), 320)
  t.strictSame(pull(), [...ramp(80, 321), ...new Array(80).fill(0)])
  t.strictSame(events, ['first 1', 'drained 1'])
  t.equal(playout.sentSamples(1), 400)
  t.equal(pull(), null)
  t.end()
})

t.test('utterances follow one another within a frame', (t) => {
  const { playout, pull, events } = rig()
  playout.enqueue(1, ramp(100))
  playout.end(1)
  playout.enqueue(2, ramp(100, 1001))
  t.strictSame(pull(), [...ramp(100), ...ramp(60, 1001)])
  t.strictSame(events, ['first 1', 'drained 1', 'first 2'])
  t.equal(playout.sentSamples(2), 60)
  t.end()
})

t.test('a synthesis that falls behind leaves silence and continues', (t) => {
  const { playout, pull, events } = rig()
  playout.enqueue(1, ramp(100))
  playout.enqueue(2, ramp(100, 1001))
  t.strictSame(pull()?.slice(98), [99, 100, ...new Array(60).fill(0)], 'the next one waits for its turn')
  t.equal(pull(), null)
  playout.enqueue(1, ramp(10, 101))
  playout.end(1)
  t.strictSame(pull()?.slice(0, 11), [...ramp(10, 101), 1001])
  t.strictSame(events, ['first 1', 'drained 1', 'first 2'])
  t.end()
})

t.test('an utterance without audio drains on the next tick', (t) => {
  const { playout, pull, events } = rig()
  playout.end(5)
  t.strictSame(events, [])
  t.equal(pull(), null)
  t.strictSame(events, ['drained 5'])
  t.end()
})

t.test('pausing fades within one frame; resuming starts at the same sample', (t) => {
  const { playout, pull } = rig()
  playout.enqueue(1, new Int16Array(1000).fill(8000))
  playout.enqueue(1, ramp(100))
  pull()
  playout.pause()
  t.equal(playout.paused, true)
  const fade = pull() ?? []
  t.equal(fade[0], 8000)
  t.equal(fade[20], 4000)
  t.ok(fade.slice(40).every((value) => value === 0))
  t.ok(fade.every((value, i) => i === 0 || value <= (fade[i - 1] ?? 0)))
  t.equal(playout.sentSamples(1), FRAME, 'what faded is not counted as heard')
  t.equal(pull(), null)
  t.equal(pull(), null)
  playout.resume()
  const again = pull() ?? []
  t.equal(again[0], 0, 'fades in')
  t.equal(again[20], 4000)
  t.equal(again[40], 8000)
  for (let i = 0; i < 4; i++) pull()
  t.strictSame(pull()?.slice(200 - FRAME, 200 - FRAME + 3), [1, 2, 3], 'no sample is lost')
  t.end()
})

t.test('a pause that ends before the next tick is inaudible', (t) => {
  const { playout, pull } = rig()
  playout.enqueue(1, new Int16Array(1000).fill(8000))
  pull()
  playout.pause()
  playout.resume()
  t.strictSame(pull(), new Array(FRAME).fill(8000))
  t.end()
})

t.test('pausing before the first sample sends nothing', (t) => {
  const { playout, pull, events } = rig()
  playout.pause()
  playout.enqueue(1, ramp(400))
  t.equal(pull(), null)
  playout.resume()
  t.ok(pull())
  t.strictSame(events, ['first 1'])
  t.end()
})

t.test('flushing fades for 5 ms and drops the rest', (t) => {
  const { playout, pull, events } = rig()
  playout.enqueue(1, new Int16Array(8000).fill(8000))
  playout.end(1)
  pull()
  playout.flush()
  t.equal(playout.queuedMs, 0)
  const fade = pull() ?? []
  t.equal(fade[0], 8000)
  t.ok(fade.slice(40).every((value) => value === 0))
  t.equal(pull(), null)
  t.equal(playout.sentSamples(1), FRAME)
  t.strictSame(events, ['first 1'], 'a flushed utterance never drains')
  t.end()
})

t.test('fading is true until the fade-out was pulled, and a second flush keeps it', (t) => {
  const { playout, pull } = rig()
  playout.enqueue(1, new Int16Array(1000).fill(8000))
  playout.pause()
  t.equal(playout.fading, false, 'nothing sounded yet')
  playout.resume()
  pull()
  t.equal(playout.fading, false)
  playout.flush()
  t.equal(playout.fading, true)
  playout.flush()
  t.equal(playout.fading, true)
  const fade = pull() ?? []
  t.strictSame([fade[0], fade[20], fade[40]], [8000, 4000, 0])
  t.equal(playout.fading, false)
  t.equal(pull(), null)
  t.end()
})

t.test('flush during a pause sends nothing more and drops late audio', (t) => {
  const { playout, pull, events } = rig()
  playout.enqueue(1, new Int16Array(8000).fill(8000))
  pull()
  playout.pause()
  pull()
  playout.flush()
  t.equal(playout.paused, false)
  t.equal(pull(), null)
  t.equal(playout.enqueue(1, ramp(100)), 100)
  playout.end(1)
  t.equal(pull(), null)
  t.strictSame(events, ['first 1'])
  playout.enqueue(2, ramp(FRAME))
  t.strictSame(pull(), Array.from(ramp(FRAME)))
  t.end()
})

t.test('a full queue accepts only what fits', (t) => {
  const { playout, pull } = rig(50)
  t.equal(playout.enqueue(1, ramp(300)), 300)
  t.equal(playout.enqueue(1, ramp(300, 301)), 100)
  t.equal(playout.enqueue(1, ramp(300)), 0)
  pull()
  t.equal(playout.enqueue(1, ramp(300, 401)), 160)
  const out = [...(pull() ?? []), ...(pull() ?? [])]
  t.strictSame(out, Array.from(ramp(320, 161)))
  t.end()
})

t.test('pieces of any size are joined without a gap', (t) => {
  const { playout, pull } = rig()
  const heard: number[] = []
  let sent = 0
  for (let round = 0; round < 60; round++) {
    sent += playout.enqueue(1, ramp(700, sent + 1))
    heard.push(...(pull() ?? []))
  }
  while (heard.length < sent) heard.push(...(pull() ?? []))
  t.equal(sent, 42_000)
  t.strictSame(
    heard.slice(0, sent).findIndex((value, i) => value !== ((i + 1) << 16) >> 16),
    -1,
  )
  t.end()
})

t.test('a callback may queue the next utterance or stop at once', (t) => {
  const { playout, pull } = rig()
  playout.onDrained = (utterance) => {
    if (utterance === 1) playout.enqueue(2, ramp(FRAME, 5000))
  }
  playout.enqueue(1, ramp(FRAME))
  playout.end(1)
  t.ok(pull())
  t.equal(pull()?.[0], 5000)
  playout.onFirstSample = () => playout.flush()
  playout.enqueue(3, ramp(1000))
  playout.end(2)
  pull()
  t.equal(playout.queuedMs, 0)
  t.end()
})

t.test('samples that were not pulled can be dropped from a position on', (t) => {
  const { playout, pull, events } = rig()
  for (const from of [1, 101, 201, 301]) playout.enqueue(1, ramp(100, from))
  playout.enqueue(2, ramp(40, 1001))
  t.strictSame(pull(), Array.from(ramp(160)))
  playout.truncate(1, 250)
  t.equal(playout.queuedMs, (90 + 40) / 8)
  playout.truncate(1, 100)
  playout.truncate(9, 0)
  t.equal(playout.queuedMs, 5, 'pulled samples stay, and so does the next utterance')
  playout.enqueue(1, ramp(10, 501))
  playout.end(1)
  playout.end(2)
  t.strictSame(pull(), [...ramp(10, 501), ...ramp(40, 1001), ...new Array(110).fill(0)])
  t.strictSame(events, ['first 1', 'drained 1', 'first 2', 'drained 2'])
  t.equal(playout.sentSamples(1), 170)
  t.end()
})
