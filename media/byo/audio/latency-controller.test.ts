import t from 'tap'
import { audioFormatOf } from './audio-format.js'
import { LatencyController } from './latency-controller.js'

const MULAW_SILENCE = 0xff

/** Runs a bot and the frame clock on one time line. `arrivals` is the audio (ms) that arrives at a tick. */
function run(arrivals: (ms: number) => number, seconds: number, sent = (ms: number) => ms, sample = 0) {
  const format = audioFormatOf('mulaw', 8000)
  if (format === null) throw new Error('no such format')
  const controller = new LatencyController(8000, () => false)
  const frame = new Int16Array(160)
  let gaps = 0
  let trims = 0
  /** The last time (ms) that more than one frame was skipped. */
  let lastTrim = 0
  for (let ms = 0; ms < seconds * 1000; ms += 20) {
    const arrived = arrivals(ms)
    if (arrived > 0)
      controller.enqueue({ format, bytes: new Uint8Array(arrived * 8).fill(sample) }, ms, sent(ms))
    if (!controller.pull(frame, ms)) gaps++
    const before = controller.trimmedMs
    controller.trimBacklog(ms)
    const skipped = controller.trimmedMs - before
    if (skipped > 0) trims++
    if (skipped > 20) lastTrim = ms
  }
  return { waiting: controller.queue.queuedMs, trimmed: controller.trimmedMs, lastTrim, gaps, trims }
}

t.test('a real-time bot that stalled is on time again within half a second', async (t) => {
  const frozen = run((ms) => (ms >= 3000 && ms < 3400 ? 0 : ms === 3400 ? 420 : 20), 6)
  t.ok(frozen.waiting <= 20, `${frozen.waiting} ms wait`)
  t.ok(frozen.trimmed >= 380)
  t.ok(frozen.lastTrim <= 3900, `trimmed at ${frozen.lastTrim}`)
})

t.test('an echo after a network stall still counts as real-time', async (t) => {
  // The bot received 200 ms of silence, then the audio that was late as well.
  const sent = (ms: number) => (ms < 3000 ? ms : ms + 200)
  const echoed = run((ms) => (ms === 3000 ? 220 : 20), 8, sent)
  t.ok(echoed.waiting <= 20, `${echoed.waiting} ms wait`)
})

t.test('a bot on time loses nothing', async (t) => {
  t.equal(run(() => 20, 60).trimmed, 0)
  t.equal(run((ms) => (ms % 60 === 0 ? 60 : 0), 60).trimmed, 0, 'in pieces of 60 ms')
})

t.test('a bot that is always two pieces ahead loses nothing of its speech', async (t) => {
  for (const pieceMs of [20, 40, 60])
    for (const startMs of [0, 1_000]) {
      for (const pauseMs of [0, 60, 100, 200, 500, 1_500]) {
        const periodMs = 3_000 + pauseMs
        const arrivals = (ms: number) => {
          const at = (ms - startMs) % periodMs
          if (at < 0 || at >= 3_000 - pieceMs || at % pieceMs !== 0) return 0
          return at === 0 ? 2 * pieceMs : pieceMs
        }
        const ahead = run(arrivals, 30)
        t.equal(ahead.trimmed, 0, `pieces of ${pieceMs} ms, pauses of ${pauseMs} ms from ${startMs} ms`)
      }
    }
})

t.test('after a stall, a bot is as far ahead as it was before', async (t) => {
  const stalled = run((ms) => (ms === 0 ? 60 : ms >= 5_000 && ms < 5_300 ? 0 : ms === 5_300 ? 320 : 20), 10)
  const steady = run((ms) => (ms === 0 ? 60 : 20), 10)
  t.equal(steady.trimmed, 0)
  t.equal(stalled.waiting, steady.waiting)
})

t.test('speech that arrives faster than real time is played completely', async (t) => {
  t.equal(run((ms) => (ms === 0 ? 5000 : 0), 10).trimmed, 0, 'one burst')
  t.equal(run((ms) => (ms === 0 ? 500 : 20), 20).trimmed, 0, 'a lead of half a second, then in real time')
  t.equal(run((ms) => (ms < 5000 ? 40 : 0), 20).trimmed, 0, 'twice as fast')
  const sentences = run((ms) => (ms % 4000 === 0 ? 2000 : 0), 30)
  t.equal(sentences.trimmed, 0, 'sentence by sentence')
  const between = run((ms) => (ms < 2000 ? 20 : ms >= 5000 && ms < 7000 ? (ms === 5000 ? 1000 : 20) : 0), 12)
  t.equal(between.trimmed, 0, 'first in real time, later with a lead')
})

t.test('speech that starts some seconds into the call is played completely', async (t) => {
  for (const [title, arrivals] of [
    ['one burst', (ms) => (ms === 2000 ? 1200 : 0)],
    ['as long as the call', (ms) => (ms === 2000 ? 1980 : 0)],
    ['three times as fast, in pieces', (ms) => (ms >= 2000 && ms < 4000 && ms % 40 === 0 ? 120 : 0)],
    ['in large pieces', (ms) => (ms >= 2000 && ms < 4000 && ms % 200 === 0 ? 600 : 0)],
    ['short words, then a sentence', (ms) => (ms === 2000 ? 140 : ms === 3200 ? 600 : ms === 4700 ? 400 : 0)],
    ['with a lead', (ms) => (ms < 2000 ? 0 : ms === 2000 ? 500 : 20)],
  ] as readonly (readonly [string, (ms: number) => number])[]) {
    t.equal(run(arrivals, 10).trimmed, 0, title)
  }
})

t.test('an echo that started late is soon on time', async (t) => {
  const late = run((ms) => (ms < 500 ? 0 : ms === 500 ? 520 : 20), 4)
  t.ok(late.waiting <= 20, `${late.waiting} ms wait`)
})

t.test('with jitter, the frame that absorbs it is kept', async (t) => {
  // Every three seconds a frame arrives 20 ms late.
  const jittery = run((ms) => (ms % 3000 === 1000 ? 0 : ms % 3000 === 1020 ? 40 : 20), 60)
  t.ok(jittery.trims <= 2, `trimmed ${jittery.trims} times`)
  t.ok(jittery.gaps <= 3, `${jittery.gaps} gaps in a minute`)
})

t.test('a frame above the two-second limit is skipped', async (t) => {
  const late = run((ms) => (ms === 2000 ? 0 : ms === 2020 ? 40 : 20), 10)
  t.ok(late.waiting <= 20)
})

t.test('audio that always waits part of a frame moves the frame clock earlier, within a bound', async (t) => {
  const format = audioFormatOf('mulaw', 8000)
  if (format === null) throw new Error('no such format')
  let phaseMs = 0
  const controller = new LatencyController(8000, (ms) => {
    phaseMs += ms
    return true
  })
  const frame = new Int16Array(160)
  for (let ms = 0; ms < 20_000; ms += 20) {
    controller.enqueue({ format, bytes: new Uint8Array(160) }, ms, ms)
    controller.pull(frame, ms + 17 - phaseMs)
    controller.trimBacklog(ms + 17 - phaseMs)
  }
  t.equal(phaseMs, 15, 'whole steps of 5 ms, and 2 ms stay')
  t.equal(controller.trimmedMs, 0)
})

t.test('a lead is cut short in silence', async (t) => {
  const quiet = run((ms) => (ms < 1_000 ? 0 : ms === 1_000 ? 80 : 20), 10, undefined, MULAW_SILENCE)
  t.ok(quiet.waiting <= 20, `${quiet.waiting} ms wait`)
})
