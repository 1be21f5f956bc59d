import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { type Clock, systemClock } from '../base/clock.js'
import { FrameClock, type FrameClockMember } from './frame-clock.js'
import { LATENESS_BOUNDS_MS } from './lateness.js'

interface Recorded extends FrameClockMember {
  readonly ticks: number[]
  readonly skips: number[]
}

function member(onTick?: (idealMs: number) => void): Recorded {
  const ticks: number[] = []
  const skips: number[] = []
  return {
    ticks,
    skips,
    tick: (idealMs) => {
      ticks.push(idealMs)
      onTick?.(idealMs)
    },
    skip: (frames) => skips.push(frames),
  }
}

/** A clock whose thread can be stalled: time passes, and timers fire late. */
class StallingClock implements Clock {
  readonly #virtual = new VirtualClock()
  #late = 0
  now = () => this.#virtual.now() + this.#late
  wall = () => this.#virtual.wall()
  after = (ms: number, run: () => void) => this.#virtual.after(ms, run)
  get pending() {
    return this.#virtual.pending
  }
  stall(ms: number) {
    this.#late += ms
  }
  advance(ms: number) {
    this.#virtual.advance(ms)
  }
}

const noFault = () => {
  throw new Error('no fault expected')
}

/** Is ready for this many frames. */
function waiting(ready: number): Recorded & { ready: () => boolean; has: number } {
  const waiter = {
    ...member(() => {
      waiter.has--
    }),
    has: ready,
    ready: () => waiter.has > 0,
  }
  return waiter
}

t.test('a frame that is not ready runs when its audio arrives, and the next one on time', (t) => {
  const clock = new VirtualClock({ nowMs: 1000 })
  const frameClock = new FrameClock(clock, noFault)
  const waiter = waiting(2)
  const other = member()
  const times: number[] = []
  const { tick } = waiter
  waiter.tick = (idealMs) => {
    times.push(clock.now())
    tick(idealMs)
  }
  frameClock.add(waiter)
  frameClock.add(other)
  clock.advance(48)
  t.equal(waiter.ticks.length, 2)
  const [first = 0] = waiter.ticks
  clock.advance(first + 47 - clock.now())
  t.equal(waiter.ticks.length, 2, 'the third is put off')
  waiter.has = 1
  frameClock.audioReady(waiter)
  frameClock.audioReady(waiter)
  waiter.has = 100
  clock.advance(first + 85 - clock.now())
  t.strictSame(
    waiter.ticks.map((at) => at - first),
    [0, 20, 40, 60, 80],
    'with the times they were due',
  )
  t.strictSame(
    times.map((at) => at - first),
    [0, 20, 47, 60, 80],
  )
  t.ok(
    other.ticks.every((at, i) => i === 0 || at - (other.ticks[i - 1] ?? 0) === 20),
    'nobody else waits',
  )
  t.equal(frameClock.load().maxMs, 0, 'who waits is not late')
  frameClock.close()
  t.end()
})

t.test('no frame waits for longer than three phases', (t) => {
  const clock = new VirtualClock({ nowMs: 1000 })
  const frameClock = new FrameClock(clock, noFault)
  const waiter = waiting(0)
  const times: number[] = []
  waiter.tick = () => times.push(clock.now())
  const leave = frameClock.add(waiter)
  clock.advance(100)
  const gaps = times.map((at, i) => at - (times[i - 1] ?? at - 20))
  t.ok(times.length >= 3)
  t.ok(gaps.every((gap) => gap === 20))
  frameClock.audioReady(waiter)
  t.equal(times.length, gaps.length, 'not ready, nothing given')
  leave()
  waiter.has = 1
  frameClock.audioReady(waiter)
  clock.advance(100)
  t.equal(times.length, gaps.length, 'gone')
  t.equal(clock.pending, 0)
  t.end()
})

t.test('after a stall deferred frames run one by one before their deadline', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  const waiter = waiting(3)
  const lengths: number[] = []
  frameClock.add(waiter)
  clock.advance(50)
  const before = waiter.ticks.length
  waiter.has = 0
  clock.stall(58)
  clock.advance(5)
  t.equal(waiter.ticks.length, before, 'all wait')
  for (let i = 0; i < 3; i++) {
    waiter.has = 1
    frameClock.audioReady(waiter)
    lengths.push(waiter.ticks.length - before)
  }
  t.strictSame(lengths.slice(0, 2), [1, 2])
  waiter.has = 100
  clock.advance(100)
  const { ticks } = waiter
  t.ok(
    ticks.every((at, i) => i === 0 || at - (ticks[i - 1] ?? 0) === 20),
    'none is missing',
  )
  frameClock.close()
  t.end()
})

t.test('a member that throws in a deferred frame is removed', (t) => {
  const clock = new VirtualClock()
  const faults: FrameClockMember[] = []
  const frameClock = new FrameClock(clock, (member) => faults.push(member))
  const waiter = waiting(0)
  waiter.tick = () => {
    throw new Error('broken')
  }
  const leave = frameClock.add(waiter)
  clock.advance(22)
  waiter.has = 1
  frameClock.audioReady(waiter)
  t.strictSame(faults, [waiter])
  t.equal(frameClock.load().members, 0)
  clock.advance(100)
  t.equal(faults.length, 1)
  leave()
  t.equal(clock.pending, 0)
  t.end()
})

t.test('every member runs every 20 ms, spread over the phases', (t) => {
  const clock = new VirtualClock({ nowMs: 1000 })
  const frameClock = new FrameClock(clock, noFault)
  const members = Array.from({ length: 8 }, () => member())
  for (const each of members) frameClock.add(each)
  clock.advance(1000)
  for (const each of members) {
    t.equal(each.ticks.length, 50)
    t.ok(each.ticks.every((at, i) => i === 0 || at - (each.ticks[i - 1] ?? 0) === 20))
  }
  const phases = members.map((each) => (each.ticks[0] ?? 0) - 1000)
  t.strictSame(
    [...phases].sort((a, b) => a - b),
    [5, 5, 10, 10, 15, 15, 20, 20],
  )
  t.equal(frameClock.load().maxMs, 0)
  t.equal(frameClock.load().members, 8)
  frameClock.close()
  t.equal(clock.pending, 0)
  t.end()
})

t.test('no timer runs without members', (t) => {
  const clock = new VirtualClock()
  const frameClock = new FrameClock(clock, noFault)
  t.equal(clock.pending, 0)
  const leave = frameClock.add(member())
  t.equal(clock.pending, 1)
  clock.advance(100)
  leave()
  leave()
  t.equal(clock.pending, 0)
  const again = member()
  frameClock.add(again)
  clock.advance(100)
  t.equal(again.ticks.length, 5)
  frameClock.close()
  frameClock.close()
  t.equal(clock.pending, 0)
  frameClock.add(member())
  t.equal(clock.pending, 0, 'closed for good')
  t.end()
})

t.test('a short stall is caught up completely', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  const one = member()
  frameClock.add(one)
  clock.advance(100)
  t.equal(one.ticks.length, 5)
  clock.stall(50)
  clock.advance(50)
  t.equal(one.ticks.length, 10)
  t.strictSame(one.skips, [])
  t.ok(
    one.ticks.every((at, i) => i === 0 || at - (one.ticks[i - 1] ?? 0) === 20),
    'deadlines stay absolute',
  )
  frameClock.close()
  t.end()
})

t.test('after a long stall three frames are caught up and the rest skipped and counted', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  const four = Array.from({ length: 4 }, () => member())
  for (const each of four) frameClock.add(each)
  clock.advance(100)
  const before = four.map((each) => each.ticks.length)
  clock.stall(400)
  clock.advance(5)
  for (const [i, each] of four.entries()) {
    const ran = each.ticks.length - (before[i] ?? 0)
    const skipped = each.skips.reduce((sum, frames) => sum + frames, 0)
    t.ok(ran >= 2 && ran <= 3, `${ran} caught up`)
    t.ok(ran + skipped >= 20 && ran + skipped <= 21, `${ran} + ${skipped} frames in 405 ms`)
    const last = each.ticks.at(-1) ?? 0
    t.ok(clock.now() - last < 20, 'it is on time again')
  }
  const load = frameClock.load()
  t.equal(
    load.skippedFrames,
    four.flatMap((each) => each.skips).reduce((sum, frames) => sum + frames, 0),
  )
  t.ok(load.maxMs >= 40 && load.maxMs <= 60, `max ${load.maxMs}`)
  frameClock.close()
  t.end()
})

t.test('after a stall sockets are read before frames are made', async (t) => {
  const receiver = createSocket('udp4')
  const sender = createSocket('udp4')
  t.teardown(() => {
    receiver.close()
    sender.close()
  })
  receiver.bind(0, '127.0.0.1')
  await once(receiver, 'listening')
  sender.connect(receiver.address().port, '127.0.0.1')
  await once(sender, 'connect')
  const order: string[] = []
  let stalled = false
  receiver.on('message', () => order.push('datagram'))
  const frameClock = new FrameClock(systemClock, noFault)
  const done = new Promise<void>((resolve) => {
    frameClock.add(
      member(() => {
        if (!stalled) return
        order.push('frame')
        if (order.includes('datagram')) resolve()
      }),
    )
  })
  // After `setImmediate` the event loop runs timers first, then sockets.
  setImmediate(() => {
    stalled = true
    sender.send('sound')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60)
  })
  await done
  frameClock.close()
  t.equal(order[0], 'datagram')
})

t.test('lateness: window figures expire, the histogram does not', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  const one = member()
  frameClock.add(one)
  clock.advance(2000)
  clock.stall(12)
  clock.advance(20)
  const load = frameClock.load()
  t.ok(load.maxMs > 6 && load.maxMs <= 12.5, `max ${load.maxMs}`)
  t.ok(load.p50Ms <= 0.5)
  t.equal(load.histogram.length, LATENESS_BOUNDS_MS.length + 1)
  t.equal(
    load.histogram.reduce((sum, count) => sum + count, 0),
    one.ticks.length,
  )
  clock.advance(15_000)
  t.ok(frameClock.load().maxMs < 6)
  t.ok(
    frameClock
      .load()
      .histogram.slice(6)
      .some((count) => count > 0),
  )
  frameClock.close()
  t.end()
})

t.test('lateness lasts when five full seconds have it', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  frameClock.add(member())
  const late = (seconds: number): void => {
    for (let i = 0; i < 10 * seconds; i++) {
      clock.advance(80)
      clock.stall(12)
      clock.advance(8)
    }
  }
  clock.advance(2000)
  t.ok(frameClock.load().sustainedMs <= 0.5)
  late(3)
  t.ok(frameClock.load().maxMs > 5)
  t.ok(frameClock.load().sustainedMs <= 0.5, 'three seconds do not last')
  late(4)
  t.ok(frameClock.load().sustainedMs > 5)
  clock.advance(2000)
  t.ok(frameClock.load().sustainedMs <= 0.5, 'one second in time ends it')
  frameClock.close()
  t.end()
})

t.test('frames over 5 ms late are kept for 10 s with their time, at most 512', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  frameClock.add(member())
  clock.advance(2000)
  t.strictSame(frameClock.load().lateFrames, [])
  const beganMs = clock.now()
  clock.stall(12)
  clock.advance(20)
  const [late, ...others] = frameClock.load().lateFrames
  t.strictSame(others, [])
  t.ok(late !== undefined && late.lateMs > 5 && late.lateMs <= 12.5, `${late?.lateMs} ms late`)
  t.ok(late !== undefined && late.atMs >= beganMs && late.atMs <= beganMs + 32)
  clock.advance(9_000)
  t.equal(frameClock.load().lateFrames.length, 1)
  clock.advance(2_000)
  t.strictSame(frameClock.load().lateFrames, [])
  for (let i = 0; i < 2000; i++) frameClock.add(member())
  clock.stall(12)
  clock.advance(20)
  t.equal(frameClock.load().lateFrames.length, 512)
  frameClock.close()
  t.end()
})

t.test('work is the CPU time of a phase, lateness includes earlier delays', (t) => {
  const clock = new StallingClock()
  const frameClock = new FrameClock(clock, noFault)
  frameClock.add(member(() => clock.stall(2)))
  clock.advance(2000)
  const { workP99Ms, workMaxMs, maxMs } = frameClock.load()
  t.ok(workP99Ms >= 2 && workP99Ms <= 2.125, `work ${workP99Ms}`)
  t.ok(workMaxMs >= 2 && workMaxMs < 2.01, `work at most ${workMaxMs}`)
  t.ok(maxMs < 5)
  clock.stall(30)
  clock.advance(20)
  t.ok(frameClock.load().maxMs > 20, 'late')
  t.ok(frameClock.load().workMaxMs < 2.01, 'for other reasons')
  frameClock.close()
  t.end()
})

t.test('a member that throws is removed; the others continue', (t) => {
  const clock = new VirtualClock()
  const faults: [FrameClockMember, unknown][] = []
  const frameClock = new FrameClock(clock, (...fault) => faults.push(fault))
  const problem = new Error('broken')
  const bad = member((idealMs) => {
    if (idealMs > 50) throw problem
  })
  const good = member()
  frameClock.add(bad)
  frameClock.add(good)
  clock.advance(200)
  t.equal(good.ticks.length, 10)
  t.ok(bad.ticks.length < 5)
  t.strictSame(faults, [[bad, problem]])
  t.equal(frameClock.load().members, 1)
  frameClock.close()
  t.end()
})

t.test('joining and leaving inside a tick', (t) => {
  const clock = new VirtualClock()
  const frameClock = new FrameClock(clock, noFault)
  const late = member()
  let leave: () => void = () => {}
  const one = member(() => {
    if (one.ticks.length === 2) frameClock.add(late)
    if (one.ticks.length === 3) leave()
  })
  leave = frameClock.add(one)
  clock.advance(200)
  t.equal(one.ticks.length, 3)
  t.ok(late.ticks.length >= 7)
  frameClock.close()
  t.equal(clock.pending, 0)
  t.end()
})

t.test('advancePhase shortens one interval, then frames run every 20 ms again', (t) => {
  for (const phases of [1, 2, 3]) {
    const clock = new VirtualClock()
    const frameClock = new FrameClock(clock, noFault)
    const moved: boolean[] = []
    const mover: Recorded = member(() => {
      if (mover.ticks.length === 3) moved.push(frameClock.advancePhase(mover, phases))
    })
    const others = Array.from({ length: 8 }, () => member())
    for (const each of [mover, ...others]) frameClock.add(each)
    t.equal(frameClock.advancePhase(mover, phases), false, 'only from its own tick')
    clock.advance(400)
    t.strictSame(moved, [true])
    const waits = mover.ticks.slice(1).map((at, i) => at - (mover.ticks[i] ?? 0))
    t.strictSame([...new Set(waits.slice(0, 2))], [20])
    t.equal(waits[2], 20 - 5 * phases)
    t.strictSame([...new Set(waits.slice(3))], [20])
    for (const { ticks } of others) {
      t.equal(ticks.length, 20)
      t.ok(ticks.every((at, i) => i === 0 || at - (ticks[i - 1] ?? 0) === 20))
    }
    t.equal(frameClock.load().members, 9)
    frameClock.close()
    t.equal(clock.pending, 0)
  }
  t.end()
})

t.test('advancing phases cannot overload a phase', (t) => {
  const clock = new VirtualClock()
  const frameClock = new FrameClock(clock, noFault)
  const members: Recorded[] = Array.from({ length: 120 }, () => {
    const each: Recorded = member((idealMs) => {
      const phase = (idealMs / 5) % 4
      if (phase !== 0) frameClock.advancePhase(each, phase)
    })
    return each
  })
  for (const each of members) frameClock.add(each)
  clock.advance(1000)
  const last = members.map((each) => ((each.ticks.at(-1) ?? 0) / 5) % 4)
  t.equal(last.filter((phase) => phase === 0).length, 60, 'half of all')
  t.ok(members.every((each) => each.ticks.length >= 49))
  frameClock.close()
  t.end()
})

t.test('a frame that ran early is skipped at its due time, and the clock is unchanged', (t) => {
  const clock = new VirtualClock()
  const frameClock = new FrameClock(clock, noFault)
  const at: number[] = []
  const one = member(() => at.push(clock.now()))
  const other = member()
  const nested: boolean[] = []
  const third: Recorded = member(() => nested.push(frameClock.flushEarly(third, 0)))
  t.equal(frameClock.flushEarly(one, 0), false, 'not here yet')
  for (const each of [one, other, third]) frameClock.add(each)
  clock.advance(47)
  const due = one.ticks.at(-1) ?? 0
  const counted = frameClock.load().histogram.reduce((sum, count) => sum + count, 0)
  t.equal(frameClock.flushEarly(one, due + 20 - 47), false, 'it is due that soon')
  t.equal(frameClock.flushEarly(one, due + 20 - 48), true)
  t.equal(frameClock.flushEarly(one, 0), false, 'once a frame')
  t.equal(at.at(-1), 47)
  t.equal(one.ticks.at(-1), due + 20, 'told when it was due')
  t.equal(
    frameClock.load().histogram.reduce((sum, count) => sum + count, 0),
    counted,
    'it was not late',
  )
  clock.advance(353)
  t.strictSame(
    one.ticks,
    Array.from({ length: 20 }, (_, i) => (one.ticks[0] ?? 0) + 20 * i),
  )
  t.equal(other.ticks.length, 20)
  t.notOk(nested.includes(true), 'not from inside a tick')
  frameClock.close()
  t.equal(frameClock.flushEarly(one, 0), false)
  t.equal(clock.pending, 0)
  t.end()
})

t.test(
  'a frame that ran early is not one of those skipped after a stall; if it throws, its member is removed',
  (t) => {
    const clock = new StallingClock()
    const faults: FrameClockMember[] = []
    const frameClock = new FrameClock(clock, (member) => faults.push(member))
    const one = member()
    const other = member()
    const bad: Recorded = member(() => {
      if (bad.ticks.length === 3) throw new Error('broken')
    })
    for (const each of [one, other, bad]) frameClock.add(each)
    clock.advance(42)
    t.equal(frameClock.flushEarly(one, 0), true)
    t.equal(frameClock.flushEarly(bad, 0), true)
    t.strictSame(faults, [bad])
    t.equal(frameClock.load().members, 2)
    clock.stall(400)
    clock.advance(100)
    const frames = ({ ticks, skips }: Recorded) => ticks.length + skips.reduce((sum, count) => sum + count, 0)
    t.ok(one.skips.length > 0)
    t.equal(frames(one), frames(other))
    t.equal(new Set(one.ticks).size, one.ticks.length)
    frameClock.close()
    t.end()
  },
)
