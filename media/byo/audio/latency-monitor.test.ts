import t from 'tap'
import { LatencyMonitor } from './latency-monitor.js'

/** A bot and our beat on one time line: sound waits, frames are played, the watch says what is too much. */
function run(arrivals: (ms: number) => number, seconds: number, sent = (ms: number) => ms) {
  const watch = new LatencyMonitor()
  let waiting = 0
  let trimmed = 0
  /** When more than one frame was left out. */
  let lastTrim = 0
  let silence = 0
  for (let ms = 0; ms < seconds * 1000; ms += 20) {
    const came = arrivals(ms)
    if (came > 0) {
      waiting += came
      watch.audioArrived(came, ms, sent(ms))
    }
    if (waiting >= 20) waiting -= 20
    else silence += 20
    const excess = watch.framePlayed(waiting, ms)
    if (excess > 0) {
      waiting -= excess
      trimmed += excess
      if (excess > 20) lastTrim = ms
    }
  }
  return { waiting, trimmed, lastTrim, silence }
}

t.test('a live bot that froze is on time again within half a second', async (t) => {
  const frozen = run((ms) => (ms >= 3000 && ms < 3400 ? 0 : ms === 3400 ? 420 : 20), 6)
  t.ok(frozen.waiting <= 20, `${frozen.waiting} ms wait`)
  t.ok(frozen.trimmed >= 380)
  t.ok(frozen.lastTrim <= 3900, `trimmed at ${frozen.lastTrim}`)
})

t.test('an echo of a line that stalled and caught up is live all the same', async (t) => {
  // 200 ms of silence were told to the bot, then what was really said in them as well.
  const sent = (ms: number) => (ms < 3000 ? ms : ms + 200)
  const echoed = run((ms) => (ms === 3000 ? 220 : 20), 8, sent)
  t.ok(echoed.waiting <= 20, `${echoed.waiting} ms wait`)
})

t.test('a bot on time loses nothing', async (t) => {
  t.equal(run(() => 20, 60).trimmed, 0)
  t.equal(run((ms) => (ms % 60 === 0 ? 60 : 0), 60).trimmed, 0, 'in pieces of 60 ms')
})

t.test('speech that comes faster than real time is played whole', async (t) => {
  t.equal(run((ms) => (ms === 0 ? 5000 : 0), 10).trimmed, 0, 'one burst')
  t.equal(run((ms) => (ms === 0 ? 500 : 20), 20).trimmed, 0, 'a lead of half a second, then in real time')
  t.equal(run((ms) => (ms < 5000 ? 40 : 0), 20).trimmed, 0, 'twice as fast')
  const sentences = run((ms) => (ms % 4000 === 0 ? 2000 : 0), 30)
  t.equal(sentences.trimmed, 0, 'sentence by sentence')
  const between = run((ms) => (ms < 2000 ? 20 : ms >= 5000 && ms < 7000 ? (ms === 5000 ? 1000 : 20) : 0), 12)
  t.equal(between.trimmed, 0, 'first in real time, later with a lead')
})

t.test('so is speech that begins when the call is some seconds old', async (t) => {
  for (const [what, arrivals] of [
    ['one burst', (ms) => (ms === 2000 ? 1200 : 0)],
    ['as long as the call', (ms) => (ms === 2000 ? 1980 : 0)],
    ['three times as fast, in pieces', (ms) => (ms >= 2000 && ms < 4000 && ms % 40 === 0 ? 120 : 0)],
    ['in large pieces', (ms) => (ms >= 2000 && ms < 4000 && ms % 200 === 0 ? 600 : 0)],
    ['short words, then a sentence', (ms) => (ms === 2000 ? 140 : ms === 3200 ? 600 : ms === 4700 ? 400 : 0)],
    ['with a lead', (ms) => (ms < 2000 ? 0 : ms === 2000 ? 500 : 20)],
  ] as readonly (readonly [string, (ms: number) => number])[]) {
    t.equal(run(arrivals, 10).trimmed, 0, what)
  }
})

t.test('an echo that began late is on time soon', async (t) => {
  const late = run((ms) => (ms < 500 ? 0 : ms === 500 ? 520 : 20), 4)
  t.ok(late.waiting <= 20, `${late.waiting} ms wait`)
})

t.test('a jittery way keeps the frame it needs', async (t) => {
  const watch = new LatencyMonitor()
  let waiting = 0
  let thinned = 0
  let dry = 0
  for (let ms = 0; ms < 60_000; ms += 20) {
    // Every three seconds a frame comes 20 ms late.
    const late = ms % 3000
    const came = late === 1000 ? 0 : late === 1020 ? 40 : 20
    if (came > 0) {
      if (waiting === 0 && late === 1020) watch.underrun(ms)
      waiting += came
      watch.audioArrived(came, ms, ms)
    }
    if (waiting >= 20) waiting -= 20
    else dry++
    const excess = watch.framePlayed(waiting, ms)
    if (excess > 0) thinned++
    waiting -= excess
  }
  t.ok(thinned <= 2, `left out ${thinned} times`)
  t.ok(dry <= 3, `${dry} holes in a minute`)
})

t.test('a frame too much for two seconds is left out', async (t) => {
  const late = run((ms) => (ms === 2000 ? 0 : ms === 2020 ? 40 : 20), 10)
  t.ok(late.waiting <= 20)
})
