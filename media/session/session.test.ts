import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { joined, levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { readWav } from '../../fixtures/audio/wav.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { EMPTY_RTP_STATS } from '../../fixtures/rtp/empty-stats.js'
import type { AudioFrame, Digit, SessionRate } from '../base/frame.js'
import type { ArrivalListener, CloseReason, Endpoint, EndpointKind, NetworkEndpoint } from './endpoint.js'
import { allocateLiveAudio } from './live-audio.js'
import { Session } from './session.js'

const noFailure = (message: string) => {
  throw new Error(message)
}

/** An endpoint that hums one tone and keeps the audio it hears. */
class Party implements Endpoint {
  readonly kind: EndpointKind = 'tone'
  readonly heard: Int16Array[] = []
  readonly positions: number[] = []
  readonly digits: string[] = []
  closed: CloseReason | null = null
  silent = false
  readonly #tone: Int16Array

  constructor(
    readonly id: string,
    readonly hertz: number,
    readonly delivery: 'arrival' | 'tick' = 'tick',
    rate: SessionRate = 8000,
  ) {
    this.#tone = tone(hertz, 60_000, rate, 0.2)
  }

  pull(into: Int16Array, at: number): boolean {
    if (this.silent) return false
    into.set(this.#tone.subarray(at, at + into.length))
    return true
  }

  push(frame: AudioFrame): void {
    this.heard.push(frame.pcm.slice())
    this.positions.push(frame.at)
  }

  dtmf(digit: Digit, durationMs: number): void {
    this.digits.push(`${digit} ${durationMs}`)
  }

  close(why: CloseReason): void {
    this.closed = why
  }

  hears(hertz: number): boolean {
    const level = toneLevel(joined(...this.heard.slice(-50)), hertz)
    return level > 0.1
  }
}

/** A network leg without a network. */
class Leg extends Party implements NetworkEndpoint {
  override readonly kind = 'rtp'
  listener: ArrivalListener | null = null
  originMs = -1
  sent = 0
  /** The session's last word about the jitter buffer. `pulls` counts how often the session pulled. */
  playout = true
  pulls = 0
  flushed = 0
  #pushed = false

  start(originMs: number, listener: ArrivalListener): void {
    this.originMs = originMs
    this.listener = listener
  }

  override push(frame: AudioFrame): void {
    super.push(frame)
    this.#pushed = true
  }

  setPlayout(on: boolean): void {
    this.playout = on
  }

  override pull(into: Int16Array, at: number): boolean {
    this.pulls++
    return super.pull(into, at)
  }

  flush(): boolean {
    const sent = this.#pushed
    this.#pushed = false
    this.flushed++
    if (sent) this.sent++
    return sent
  }

  stats() {
    return { ...EMPTY_RTP_STATS, packetsSent: this.sent }
  }
}

function rig(recordTo: string | null = null, rate: SessionRate = 8000) {
  const clock = new VirtualClock({ nowMs: 500 })
  const session = new Session({ rate, clock, recordTo, onRecordingFailed: noFailure })
  const ticks = (count: number) => {
    for (let i = 0; i < count; i++) {
      clock.advance(20)
      session.tick(clock.now())
    }
  }
  return { clock, session, ticks }
}

const addAll = (session: Session, ...ends: Endpoint[]) => {
  for (const end of ends) session.add(end)
}

t.test('a leg plays through its jitter buffer only while somebody hears it so', (t) => {
  const { session, ticks } = rig()
  const leg = new Leg('leg', 400)
  const person = new Leg('person', 700)
  const bot = new Party('bot', 1100, 'arrival')
  const sound = new Party('sound', 900)
  addAll(session, leg, person, bot, sound)
  session.route('leg', ['bot'])
  session.route('bot', ['leg'])
  session.start()
  ticks(10)
  t.strictSame([leg.playout, leg.pulls], [false, 0], 'a bot hears it as it arrives')
  session.route('leg', ['person'])
  ticks(10)
  t.strictSame([leg.playout, leg.pulls], [true, 10], 'a person hears it evenly')
  session.route('leg', ['bot'])
  const before = leg.pulls
  ticks(10)
  t.equal(leg.playout, false)
  t.equal(leg.pulls - before, 1, 'the end of the route fades out in one frame')
  session.route('sound', [{ to: 'leg', duckedBy: [{ endpoint: 'person', gain: 0.2, releaseMs: 500 }] }])
  t.strictSame([leg.playout, person.playout], [false, true], 'a voice that softens a sound is followed')
  session.shareAudio(allocateLiveAudio(8000))
  t.equal(leg.playout, true, 'so does somebody who listens live')
  session.shareAudio(null)
  t.equal(leg.playout, false)
  t.end()
})

t.test('each endpoint hears exactly the endpoints routed to it', (t) => {
  const { session, ticks } = rig()
  const a = new Party('a', 400)
  const b = new Party('b', 700)
  const c = new Party('c', 1100)
  addAll(session, a, b, c)
  session.start()
  const heard = () =>
    [a, b, c].map((party) =>
      [a, b, c]
        .filter((other) => party.hears(other.hertz))
        .map((other) => other.id)
        .join(''),
    )
  const next = (routes: Record<string, string[]>) => {
    for (const [from, to] of Object.entries(routes)) session.route(from, to)
    for (const party of [a, b, c]) party.heard.length = 0
    ticks(50)
    return heard()
  }
  t.strictSame(next({}), ['', '', ''])
  t.strictSame(next({ a: ['b'], b: ['a'] }), ['b', 'a', ''])
  t.strictSame(next({ a: ['b', 'c'], b: ['a', 'c'], c: ['a', 'b'] }), ['bc', 'ac', 'ab'])
  t.strictSame(next({ c: ['b'] }), ['b', 'ac', 'ab'], 'a whisper to one side')
  t.strictSame(next({ a: [], b: ['c'], c: ['b'] }), ['', 'c', 'b'], 'a is on hold')
  t.strictSame(next({ a: ['c'], b: [], c: ['a'] }), ['c', '', 'a'])
  t.end()
})

t.test('a mix that exceeds 16 bits is limited', (t) => {
  const { session, ticks } = rig()
  const loud = (id: string): Endpoint => ({
    id,
    kind: 'tone',
    delivery: 'tick',
    pull: (into) => {
      into.fill(28_000)
      return true
    },
    push: () => {},
    close: () => {},
  })
  const listener = new Party('listener', 400)
  addAll(session, loud('x'), loud('y'), listener)
  session.route('x', ['listener'])
  session.route('y', ['listener'])
  session.start()
  ticks(2)
  t.ok(
    joined(...listener.heard).every((sample) => sample > 29_000 && sample < 32_768),
    `${Math.max(...(listener.heard[0] ?? []))}`,
  )
  t.equal(listener.heard[1]?.[80], 29_204, 'settled at -1 dBFS')
  session.route('y', [])
  ticks(10)
  t.equal(listener.heard.at(-1)?.[80], 28_000, 'one alone passes as it is')
  t.end()
})

t.test('a route has its own gain, and is added and removed without a click', (t) => {
  const { session, ticks } = rig()
  const a = new Party('a', 400)
  const b = new Party('b', 700)
  const c = new Party('c', 1100)
  addAll(session, a, b, c)
  session.start()
  ticks(1)
  session.route('a', [{ to: 'b', gain: 0.25 }, 'c'])
  ticks(50)
  const levels = [b, c].map(({ heard }) => toneLevel(joined(...heard.slice(-40)), 400))
  t.ok(Math.abs((levels[0] ?? 0) - 0.05) < 0.001, `${levels[0]}`)
  t.ok(Math.abs((levels[1] ?? 0) - 0.2) < 0.001, `${levels[1]}`)
  session.route('a', ['b'])
  ticks(5)
  session.route('a', [])
  ticks(5)
  t.equal(c.heard.length, 51, 'one more frame, in which it fades')
  const steepest = (pcm: Int16Array) =>
    pcm.reduce((most, sample, i) => Math.max(most, Math.abs(sample - (pcm[i - 1] ?? 0))), 0)
  // The sine itself: 0.2 of full scale at 400 Hz rises by at most 2058 per sample.
  for (const { heard } of [b, c]) t.ok(steepest(joined(...heard)) < 2_100, `${steepest(joined(...heard))}`)
  t.throws(() => session.route('a', [{ to: 'b', gain: -1 }]), { code: 'internal' })
  t.throws(() => session.route('a', ['b', { to: 'b' }]), { code: 'internal' })
  t.end()
})

t.test('a route is ducked while another endpoint has audio, and recovers', (t) => {
  const { session, ticks } = rig()
  const music = new Party('music', 400)
  const voice = new Party('voice', 1100)
  const listener = new Party('listener', 700)
  addAll(session, music, voice, listener)
  session.route('music', [
    { to: 'listener', gain: 0.5, duckedBy: [{ endpoint: 'voice', gain: 0.25, releaseMs: 200 }] },
  ])
  session.route('voice', ['listener'])
  session.start()
  const musicLevel = () => toneLevel(joined(...listener.heard.slice(-5)), 400)
  voice.silent = true
  ticks(10)
  t.ok(Math.abs(musicLevel() - 0.1) < 0.002, `${musicLevel()}`)
  voice.silent = false
  ticks(6)
  t.ok(Math.abs(musicLevel() - 0.025) < 0.002, `${musicLevel()}`)
  voice.silent = true
  ticks(5)
  t.ok(musicLevel() < 0.09, `not at once: ${musicLevel()}`)
  ticks(15)
  t.ok(Math.abs(musicLevel() - 0.1) < 0.002, `${musicLevel()}`)
  t.end()
})

t.test('a removed endpoint is closed and inaudible, and the others continue', (t) => {
  const { session, ticks } = rig()
  const leg = new Leg('leg', 400)
  const human = new Leg('human', 900)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, leg, agent, human)
  session.route('leg', ['agent', 'human'])
  session.route('human', ['agent', 'leg'])
  session.route('agent', ['leg', 'human'])
  session.start()
  ticks(5)
  session.remove('human', 'hangup')
  t.equal(human.closed, 'hangup')
  const { flushed } = human
  leg.listener?.onFrame({ pcm: new Int16Array(160).fill(7), rate: 8000, at: 0 })
  t.equal(agent.heard.at(-1)?.[0], 7, 'one leg again: as packets arrive')
  ticks(60)
  t.equal(human.flushed, flushed)
  t.ok(leg.hears(700) && !leg.hears(900))
  t.throws(() => session.remove('human', 'hangup'), { code: 'internal' })
  t.throws(() => session.route('leg', ['human']), { code: 'internal' })
  t.end()
})

t.test('an endpoint with tick delivery gets every frame, including silence', (t) => {
  const { session, ticks } = rig()
  const a = new Party('a', 400)
  const b = new Party('b', 700)
  addAll(session, a, b)
  session.route('a', ['b'])
  session.start()
  a.silent = true
  ticks(3)
  t.strictSame(b.positions, [0, 160, 320])
  t.ok(b.heard.every((pcm) => pcm.every((sample) => sample === 0)))
  session.skip(5)
  ticks(1)
  t.equal(b.positions.at(-1), 8 * 160, 'skipped frames are time that passed')
  t.end()
})

t.test('nothing is sent before start, and the first tick is sample 0', (t) => {
  const { session, ticks, clock } = rig()
  const leg = new Leg('leg', 400)
  const party = new Party('party', 700)
  addAll(session, leg, party)
  session.route('party', ['leg'])
  ticks(10)
  t.equal(leg.heard.length, 0)
  t.equal(leg.flushed, 0)
  t.equal(leg.listener, null)
  t.equal(session.nowMs, 0)
  session.start()
  t.equal(leg.flushed, 0)
  ticks(1)
  t.strictSame(leg.positions, [0])
  t.equal(leg.originMs, clock.now())
  clock.advance(7)
  t.equal(session.nowMs, 7)
  t.end()
})

t.test('arrival delivery hears a single leg at once, and two legs on the tick', (t) => {
  const { session, ticks } = rig()
  const leg = new Leg('leg', 400)
  const other = new Party('other', 900)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, leg, other, agent)
  session.route('leg', ['agent'])
  session.start()
  ticks(5)
  t.equal(agent.heard.length, 0)
  const pcm = new Int16Array(160).fill(77)
  leg.listener?.onFrame({ pcm, rate: 8000, at: 480 })
  t.strictSame(agent.positions, [480])
  t.equal(agent.heard[0]?.[0], 77)
  session.route('other', ['agent'])
  leg.listener?.onFrame({ pcm, rate: 8000, at: 640 })
  t.equal(agent.heard.length, 1, 'now it hears the mix')
  ticks(50)
  t.ok(agent.hears(400) && agent.hears(900))
  session.route('other', [])
  leg.listener?.onFrame({ pcm, rate: 8000, at: 800 })
  t.equal(agent.positions.at(-1), 800)
  session.route('leg', [{ to: 'agent', gain: 0.5 }])
  leg.listener?.onFrame({ pcm, rate: 8000, at: 960 })
  t.equal(agent.positions.at(-1), 800, 'a gain needs the mix')
  t.end()
})

t.test('a silent party sends nothing to its leg: the leg sends comfort silence itself', (t) => {
  const { session, ticks } = rig()
  const leg = new Leg('leg', 400)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, leg, agent)
  session.route('agent', ['leg'])
  session.start()
  agent.silent = true
  ticks(4)
  t.equal(leg.heard.length, 0)
  t.equal(leg.flushed, 4, 'but it sends a packet each beat')
  agent.silent = false
  ticks(2)
  t.equal(leg.sent, 2)
  t.end()
})

t.test('digits follow the routes', (t) => {
  const { session, ticks } = rig()
  const leg = new Leg('leg', 400)
  const agent = new Party('agent', 700, 'arrival')
  const human = new Party('human', 900)
  addAll(session, leg, agent, human)
  session.route('leg', ['agent'])
  session.start()
  ticks(1)
  leg.listener?.onDigit('5', 120)
  session.route('leg', ['human'])
  leg.listener?.onDigit('#', 80)
  t.strictSame(agent.digits, ['5 120'])
  t.strictSame(human.digits, ['# 80'])

  const other = new Leg('other', 1100)
  session.add(other)
  session.route('leg', ['agent', 'other'])
  session.press('leg', '1', 100, false)
  session.press('leg', '2', 100, true)
  t.strictSame(agent.digits.slice(1), ['1 100', '2 100'])
  t.strictSame(other.digits, ['1 100'], 'the peer of a leg hears a tone in the audio')
  session.route('leg', [])
  session.press('leg', '3', 100, false)
  t.strictSame(other.digits, ['1 100'])
  t.end()
})

t.test('the recording has the leg on the left and the audio sent to it on the right', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const { session, ticks } = rig(path)
  const leg = new Leg('leg', 400)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, leg, agent)
  session.route('agent', ['leg'])
  session.route('leg', ['agent'])
  session.start()
  const caller = tone(1000, 5000)
  for (let i = 0; i < 250; i++) {
    agent.silent = i >= 100 && i < 150
    ticks(1)
    if (i >= 25) {
      leg.listener?.onFrame({ pcm: caller.subarray(i * 160, (i + 1) * 160), rate: 8000, at: i * 160 })
    }
  }
  const done = await session.close('hangup')
  t.equal(done.recording?.durationMs, 5000)
  t.equal(done.stats.frames, 250)
  t.equal(done.stats.rtp?.packetsSent, 200)
  t.equal(leg.closed, 'hangup')
  t.equal(agent.closed, 'hangup')
  t.equal(await session.close('error'), done)
  const [left = new Int16Array(), right = new Int16Array()] = readWav(await readFile(path)).channels
  // Received audio is recorded 10 ms after it was spoken, half way to the arrival of its packet.
  t.equal(levelDbfs(left, 0, 25 * 160 + 80), -120)
  t.strictSame(left.subarray(25 * 160 + 80), caller.subarray(25 * 160, 250 * 160 - 80))
  t.ok(toneLevel(right.subarray(0, 100 * 160), 700) > 0.15)
  t.equal(levelDbfs(right, 100 * 160, 150 * 160), -120)
  t.ok(toneLevel(right.subarray(150 * 160), 700) > 0.15)
  t.ok(toneLevel(right, 400) < 0.01)
})

t.test('the person of a transfer is recorded while the caller hears the person', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const { session, ticks } = rig(path)
  const caller = new Leg('caller', 400)
  const human = new Leg('human', 900)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, caller, human, agent)
  session.route('agent', ['caller'])
  session.start()
  const voice = tone(1300, 20, 8000, 0.3)
  const talk = (frames: number, from: number) => {
    for (let i = from; i < from + frames; i++) {
      ticks(1)
      human.listener?.onFrame({ pcm: voice, rate: 8000, at: i * 160 })
    }
  }
  talk(100, 0)
  // Briefed by the agent, the person speaks to no party of the recording.
  session.route('agent', ['human'])
  session.route('human', ['agent'])
  talk(50, 100)
  session.route('agent', [])
  session.route('human', ['caller'])
  session.route('caller', ['human'])
  talk(100, 150)
  session.route('human', [])
  session.remove('human', 'hangup')
  ticks(50)
  const done = await session.close('hangup')
  t.equal(done.recording?.durationMs, 6000)
  const [left = new Int16Array(), right = new Int16Array()] = readWav(await readFile(path)).channels
  const at = (seconds: number) => right.subarray(seconds * 8000 + 400, (seconds + 1) * 8000 - 400)
  t.ok(toneLevel(at(1), 700) > 0.15, 'the agent')
  t.equal(levelDbfs(at(2)), -120, 'a person whom the caller does not hear')
  for (const second of [3, 4]) t.ok(toneLevel(at(second), 1300) > 0.25, 'a person whom he hears')
  t.equal(levelDbfs(at(5)), -120, 'who has left')
  t.ok(toneLevel(right, 900) < 0.01 && levelDbfs(left) === -120, 'nobody on anybody else’s channel')
})

t.test('the parts of a recording follow each other without a gap', async (t) => {
  const folder = t.testdir()
  const path = (name: string) => join(folder, `${name}.wav`)
  const { session, ticks } = rig(path('call'))
  const caller = new Leg('caller', 400)
  const human = new Leg('human', 900)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, caller, human, agent)
  session.route('agent', ['caller'])
  session.route('caller', ['agent'])
  session.start()
  let frame = 0
  const voices = { caller: tone(500, 20, 8000, 0.3), human: tone(1300, 20, 8000, 0.3) }
  const talk = (frames: number) => {
    for (let i = 0; i < frames; i++, frame++) {
      ticks(1)
      caller.listener?.onFrame({ pcm: voices.caller, rate: 8000, at: frame * 160 })
      human.listener?.onFrame({ pcm: voices.human, rate: 8000, at: frame * 160 })
    }
  }
  talk(100)
  session.route('agent', [])
  session.route('human', ['caller'])
  session.route('caller', ['human'])
  session.record(path('human'))
  talk(150)
  session.record(null)
  talk(50)
  session.pauseRecording()
  session.record(path('return'))
  session.route('human', [])
  session.remove('human', 'hangup')
  session.route('caller', ['agent'])
  session.route('agent', ['caller'])
  talk(50)
  session.resumeRecording()
  talk(50)
  const done = await session.close('hangup')
  t.strictSame(
    [done.recording, ...done.parts].map((file) => [file?.path, file?.durationMs]),
    [
      [path('call'), 2000],
      [path('human'), 3000],
      [path('return'), 2000],
    ],
  )
  const channels = async (name: string) => readWav(await readFile(path(name))).channels
  const loud = (pcm: Int16Array | undefined, hertz: number) => {
    const inner = pcm?.subarray(800, -800) ?? new Int16Array()
    return toneLevel(inner.subarray(-8000), hertz) > 0.15
  }
  const [called, answered] = await channels('call')
  t.strictSame([loud(called, 500), loud(answered, 700)], [true, true])
  const [before, after] = await channels('human')
  t.strictSame([loud(before, 500), loud(after, 1300), loud(after, 700)], [true, true, false])
  const [left, right] = await channels('return')
  t.strictSame([loud(left, 500), loud(right, 700), loud(right, 1300)], [true, true, false])
  t.ok(toneLevel(left?.subarray(0, 7600) ?? new Int16Array(), 500) < 0.001, 'it begins paused')
})

t.test('a recording pauses and resumes at the right position', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const { session, ticks } = rig(path)
  const leg = new Leg('leg', 400)
  const agent = new Party('agent', 700, 'arrival')
  addAll(session, leg, agent)
  session.route('agent', ['leg'])
  session.start()
  ticks(100)
  session.pauseRecording()
  ticks(100)
  session.resumeRecording()
  ticks(100)
  t.equal((await session.close('hangup')).recording?.durationMs, 6000)
  const [, right = new Int16Array()] = readWav(await readFile(path)).channels
  const level = (from: number) => toneLevel(right.subarray(from * 8000, (from + 2) * 8000), 700)
  t.ok(level(0) > 0.15 && level(4) > 0.15)
  t.ok(level(2) < 0.001)
})

t.test('an unfinished recording is reported, and the session closes nevertheless', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const reported: string[] = []
  const session = new Session({
    rate: 8000,
    clock: new VirtualClock(),
    recordTo: path,
    onRecordingFailed: (message) => reported.push(message),
    finish: async () => {
      throw new Error('no space left')
    },
  })
  const leg = new Leg('leg', 400)
  addAll(session, leg)
  session.start()
  for (let i = 0; i < 100; i++) session.tick(i * 20)
  const { recording } = await session.close('hangup')
  t.strictSame(reported, ['no space left'])
  t.equal(recording?.durationMs, 2000, 'what is there is kept')
  t.equal(leg.closed, 'hangup')
})

t.test('invalid wiring is rejected', async (t) => {
  const { session } = rig()
  session.add(new Party('a', 400))
  t.throws(() => session.add(new Party('a', 500)), { code: 'internal' })
  t.throws(() => session.route('a', ['nobody']), { code: 'internal' })
  t.throws(() => session.route('a', ['a']), { code: 'internal' })
  await session.close('hangup')
  t.throws(() => session.add(new Party('b', 500)), { code: 'closed' })
  session.tick()
})
