import t from 'tap'
import { type EchoCall, type EchoCallOptions, echoCall } from '../../fixtures/bots/echo-call.js'
import { seeded } from '../../fixtures/host/random.js'

/*
 * The parts of the delay of an echo, on a virtual clock, free of the delays of the host: a packet in, through the ear
 * to the bot, back into the queue, and out with the next beat. The bot takes 1 ms.
 */

const FRAMES_PER_SECOND = 50
/** So long a beat waits for what is late. */
const PATIENCE_MS = 15

/** Delays of the caller's packets from `fromS` on, before `toS`. */
function delays({ delays }: EchoCall, fromS: number, toS = Number.POSITIVE_INFINITY): number[] {
  return [...delays].flatMap(([index, ms]) =>
    index >= fromS * FRAMES_PER_SECOND && index < toS * FRAMES_PER_SECOND ? [ms] : [],
  )
}

const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b)
const median = (list: readonly number[]) => sorted(list)[Math.floor(list.length / 2)]
const holes = ({ returned }: EchoCall, fromS: number) =>
  returned.slice(fromS * FRAMES_PER_SECOND).filter(({ index }) => index === null).length

/** The same call at every phase between the caller's packets and our beat. */
async function atEveryPhase(options: EchoCallOptions): Promise<EchoCall[]> {
  const calls: EchoCall[] = []
  for (let phase = 0; phase < 20; phase++) {
    calls.push(await echoCall({ ...options, arrivalMs: (index) => 100 + phase + 20 * index }))
  }
  return calls
}

t.test('an echo waits only for the next tick', async (t) => {
  const calls = await atEveryPhase({ seconds: 4, aligned: false })
  const steady = calls.map((call) => [...new Set(delays(call, 2))])
  t.ok(
    steady.every((seen) => seen.length === 1),
    'always the same in one call',
  )
  // 1 ms of the bot, and between 2 and 21 ms until the beat: no frame stands.
  t.strictSame(
    sorted(steady.flat()),
    Array.from({ length: 20 }, (_, i) => 3 + i),
  )
})

t.test("ticks follow the arrival of the bot's audio", async (t) => {
  const calls = await atEveryPhase({ seconds: 4 })
  const steady = calls.map((call) => [...new Set(delays(call, 2))])
  t.ok(steady.every((seen) => seen.length === 1))
  // 1 ms of the bot, 2 ms to spare, and what is left until the next of the four phases.
  t.strictSame(
    sorted(steady.flat()),
    [3, 4, 5, 6, 7].flatMap((ms) => [ms, ms, ms, ms]),
  )
  for (const call of calls) {
    t.equal(holes(call, 2), 0)
    t.equal(call.stats.underruns, 0)
    t.equal(call.concealedFrames, 0)
  }
})

t.test('packets continue without a gap when the phase advances', async (t) => {
  const { returned } = await echoCall({ arrivalMs: (index) => 107 + 20 * index, seconds: 4 })
  const gaps: number[] = []
  returned.forEach(({ atMs, sequence, timestamp }, i) => {
    const before = returned[i - 1]
    if (before === undefined) return
    gaps.push(atMs - before.atMs)
    t.equal(sequence - before.sequence, 1)
    t.equal(timestamp - before.timestamp, 160)
  })
  t.strictSame(
    gaps.filter((gap) => gap !== 20),
    [5],
    'once, and sooner, never later',
  )
})

t.test('a late answer leaves on arrival and delays nothing else', async (t) => {
  for (const lateMs of [7.5, 12, 19, 21.5]) {
    const call = await echoCall({
      arrivalMs: (index) => 103 + 20 * index,
      botMs: (index) => (index === 200 ? lateMs : 1),
      seconds: 10,
    })
    t.equal(holes(call, 2), 0)
    t.equal(call.stats.underruns, 0)
    const seen = [...call.delays].filter(([index]) => index > 2 * FRAMES_PER_SECOND)
    t.strictSame(
      seen.filter(([, ms]) => ms !== 7).map(([, ms]) => Math.round(ms * 10) / 10),
      [lateMs],
    )
  }
})

t.test('an answer even later makes a gap of one frame, then audio is on time again', async (t) => {
  const call = await echoCall({
    arrivalMs: (index) => 103 + 20 * index,
    botMs: (index) => (index === 200 ? 24 : 1),
    seconds: 20,
  })
  const before = delays(call, 2, 3)
  t.strictSame([...new Set(before)], [7])
  t.equal(holes(call, 2), 1)
  t.equal(call.stats.underruns, 1)
  t.strictSame([...new Set(delays(call, 6, 13))], [12], 'in case it is late again, for ten seconds')
  t.strictSame([...new Set(delays(call, 16))], [7], 'and then no more')
})

t.test('a pause of the bot is bridged once', async (t) => {
  const { returned } = await echoCall({
    arrivalMs: (index) => 103 + 20 * index + 500 * Math.floor(index / 100),
    seconds: 8,
  })
  const gaps = returned.flatMap(({ atMs }, i) => (i === 0 ? [] : [atMs - (returned[i - 1]?.atMs ?? 0)]))
  const late = gaps.filter((gap) => gap > 20)
  t.ok(late.length <= 4, `${late.length} packets were late in three pauses`)
  t.ok(Math.max(...gaps) <= 35)
})

t.test('a bot that froze for 400 ms is on time again half a second later', async (t) => {
  const call = await echoCall({
    arrivalMs: (index) => 103 + 20 * index,
    // Packets 200 to 219 come while it stands still.
    botMs: (index) => (index >= 200 && index < 220 ? 401 - (index - 200) * 20 : 1),
    seconds: 10,
  })
  const usual = median(delays(call, 2, 3)) ?? 0
  const late = [...call.delays].filter(([index, ms]) => index >= 220 && ms > usual + 20)
  t.ok(late.length <= 0.25 * FRAMES_PER_SECOND, `${late.length} frames were late after it`)
  t.equal(median(delays(call, 6)), usual)
})

t.test('a network stall of 300 ms causes no lasting delay', async (t) => {
  const call = await echoCall({
    arrivalMs: (index) => 103 + 20 * (index >= 200 && index < 215 ? 215 : index),
    seconds: 10,
  })
  t.equal(median(delays(call, 6)), median(delays(call, 2, 3)))
})

t.test('jitter of the path adds only the delay it needs, and only while it lasts', async (t) => {
  const random = seeded(1)
  const jittery = await echoCall({ botMs: () => 1 + random.next() * 10, seconds: 20 })
  t.equal(holes(jittery, 4), 0)
  const most = Math.max(...delays(jittery, 4))
  t.ok(most <= 1 + 10 + 2 + 5, `${most} ms at most`)

  // Every three seconds one is late, for half a minute.
  const now = (index: number) => index / FRAMES_PER_SECOND
  const hiccupsOf = (ms: number) =>
    echoCall({ botMs: (index) => (now(index) < 30 && index % 150 === 0 ? 1 + ms : 1), seconds: 120 })
  const small = await hiccupsOf(12)
  t.equal(holes(small, 2), 0)
  t.ok((median(delays(small, 20, 30)) ?? 0) <= 1 + 2 + 5, 'the others do not wait for twelve milliseconds')

  const large = await hiccupsOf(20)
  t.ok(holes(large, 2) <= 2, `${holes(large, 2)} holes in ten hiccups`)
  const during = median(delays(large, 20, 30)) ?? 0
  t.ok(during >= 1 + 20 - PATIENCE_MS && during <= 1 + 20 + 2 + 5, `${during} ms meanwhile`)
  const after = Math.max(...delays(large, 100))
  t.ok(after < during, `${after} ms a minute later`)
})

t.test('audio that is often late by whole frames gets a longer delay', async (t) => {
  const now = (index: number) => index / FRAMES_PER_SECOND
  const every = async (seconds: number) => {
    const frames = seconds * FRAMES_PER_SECOND
    const call = await echoCall({
      botMs: (index) => (now(index) > 3 && index % frames === 0 ? 50 : 1),
      seconds: 60,
    })
    return { waits: median(delays(call, 40)) ?? 0, holes: holes(call, 40) }
  }
  const seldom = await every(5)
  t.ok(seldom.waits <= 1 + 20 + 2 + 5, `${seldom.waits} ms with one in five seconds`)
  const often = await every(1)
  t.ok(often.holes <= 5, `${often.holes} frames missing with twenty that came late`)
  t.ok(
    often.waits >= 50 - PATIENCE_MS && often.waits <= 50 + 2 + 20,
    `${often.waits} ms with one every second`,
  )
})

t.test('a flood from another bot delays no packet of this call; few acknowledgements per tick', async (t) => {
  const frame = Buffer.alloc(160, 0x20).toString('base64')
  const call = { arrivesMs: (index: number) => 103 + 20 * index, seconds: 12 }
  const alone = await echoCall(call)
  const beside = await echoCall({
    ...call,
    flood: {
      messages: [
        `{"event":"media","media":{"payload":"${frame}"}}`,
        ...Array.from({ length: 9_000 }, (_, i) => `{"event":"mark","mark":{"name":"${i}"}}`),
        ...Array.from({ length: 5_000 }, () => 'junk'),
      ],
    },
  })
  t.strictSame(
    beside.returned.map(({ index }) => index),
    alone.returned.map(({ index }) => index),
    'packet by packet the same',
  )
  t.equal(beside.stats.underruns, 0)
  t.equal(beside.floodAnsweredMs.length, 9_000, 'all of them were answered')
  const beats = new Map<number, number>()
  for (const ms of beside.floodAnsweredMs) beats.set(ms, (beats.get(ms) ?? 0) + 1)
  t.ok(Math.max(...beats.values()) <= 25)
})
