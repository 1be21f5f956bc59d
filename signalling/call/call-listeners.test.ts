import t from 'tap'
import { tone, usualToneLevel } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { settle } from '../../fixtures/host/settle.js'
import { VOICE_HZ } from '../../fixtures/virtual-call/scripted-vendors.js'
import { NOTHING_LEFT, openVirtualCall, type VirtualCall } from '../../fixtures/virtual-call/virtual-call.js'
import { EngineError } from '../../media/base/errors.js'
import { CallListeners } from './call-listeners.js'
import type { CallEventBody } from './call-publisher.js'
import type { Leg, LegEvents } from './leg.js'
import type { LiveAudio } from './ports.js'

/* A listener of a call hears the tones of both sides, and the call does not notice. */

const CALLER_HZ = 620
const GREETING = 'Welcome to Smile Dental Clinic. We are open every day of the week.'

/** Adds a listener, and reads the audio while time passes. */
async function listen(call: VirtualCall, id = 'mon_1') {
  let ended = 0
  const listener = { id, by: 'usr_1', ended: () => ended++ }
  const audio = await call.settled(call.control.listen('call_1', listener))
  if (audio === null) throw new Error('the call has no media')
  return { audio, ended: () => ended, hear: (ms: number) => hear(call, audio, ms) }
}

/** Returns the levels of caller and agent in both channels over a time. */
async function hear(call: VirtualCall, audio: LiveAudio, ms: number) {
  const channels: number[][] = [[], []]
  audio.read()
  for (let past = 0; past < ms; past += 100) {
    await call.run(100)
    for (const [at, sample] of (audio.read() ?? []).entries()) channels[at % 2]?.push(sample)
  }
  const [caller, heard] = channels.map((samples) => Int16Array.from(samples)) as [Int16Array, Int16Array]
  const levels = (pcm: Int16Array) =>
    [CALLER_HZ, VOICE_HZ].map((hertz) => Math.round(10 * usualToneLevel(pcm, hertz)) / 10)
  return { caller: levels(caller), heard: levels(heard), samples: caller.length }
}

t.test('a listener hears the caller left and the agent right', async (t) => {
  const call = await openVirtualCall({ agent: { openingLine: GREETING }, understandsSpeech: false })
  const { audio, hear, ended } = await listen(call)
  const greeting = await hear(2_000)
  t.strictSame(greeting, { caller: [0, 0], heard: [0, 0.3], samples: 16_000 })
  t.equal(audio.lostMs, 0)
  await call.run(3_000)
  call.rtp.say(tone(CALLER_HZ, 1_500))
  await call.run(300)
  t.match(await hear(1_000), { caller: [0.3, 0], heard: [0, 0] })

  const second = await listen(call, 'mon_2')
  audio.close()
  audio.close()
  call.rtp.say(tone(CALLER_HZ, 1_500))
  await call.run(300)
  t.match(await second.hear(1_000), { caller: [0.3, 0] }, 'the other one still hears')
  call.control.hangUp('call_1', 'operator')
  await call.until('the end', () => call.of('ended').length > 0)
  t.same([ended(), second.ended()], [0, 1], 'who is there hears of the end')
  t.same(
    call.of('monitored').map(({ id, by, mode, status }) => `${id} ${by} ${mode} ${status}`),
    [
      'mon_1 usr_1 listen begun',
      'mon_2 usr_1 listen begun',
      'mon_1 usr_1 listen over',
      'mon_2 usr_1 listen over',
    ],
  )
  t.equal(call.events.at(-1)?.type, 'ended')
  t.equal(await call.control.listen('call_1', { id: 'mon_3', by: 'usr_1', ended: () => {} }), null)
  t.strictSame(await call.close(), NOTHING_LEFT)
})

t.test('a media session that does not answer has no listeners', async (t) => {
  const published: CallEventBody[] = []
  const asked: unknown[] = []
  const failure = new EngineError('timeout', 'no answer')
  const pool = {
    request: async (request: { readonly memory: unknown }) => {
      asked.push(request.memory)
      if (request.memory !== null) throw failure
    },
  }
  const listeners = new CallListeners(
    { pool, log: { debug() {}, info() {}, warn() {}, error() {} } } as never,
    { callId: 'call_1', rate: 8000, publish: (event) => published.push(event) },
  )
  let ended = 0
  await t.rejects(listeners.add({ id: 'mon_1', by: 'usr_1', ended: () => ended++ }), failure)
  listeners.end()
  t.match(published, [{ status: 'begun' }, { status: 'over' }])
  t.equal(ended, 0)
  t.equal(asked.at(-1), null, 'the memory is given back')
  t.equal(await listeners.add({ id: 'mon_2', by: 'usr_1', ended: () => ended++ }), null, 'after the end')
})

/** A call whose listeners join by legs that are in memory. */
function openJoining() {
  const clock = new VirtualClock()
  const published: string[] = []
  const requests: string[] = []
  const warnings: string[] = []
  const may = { listen: async () => true }
  const pool = {
    request: async ({ type, leg }: { readonly type: string; readonly leg: string }) => {
      requests.push(`${type} ${leg}`)
    },
  }
  const log = {
    debug() {},
    info() {},
    warn: (_fields: object, event: string) => warnings.push(event),
    error() {},
  }
  const listeners = new CallListeners({ pool, log, clock, dialLeg: () => {} } as never, {
    callId: 'call_1',
    rate: 8000,
    publish: (event) => {
      if (event.type === 'monitored') published.push(`${event.id} ${event.status}`)
    },
  })
  /** Adds a listener whose leg is answered at once. */
  const join = async (id: string) => {
    const leg = { events: null as LegEvents | null, endings: [] as string[] }
    const made: Leg = {
      sipCallId: id,
      ring() {},
      early: () => null,
      ask: async () => 'exists',
      connect: () => leg.events?.answered({ send: true, receive: false } as never),
      end: async ({ cause }) => {
        leg.endings.push(cause)
      },
    }
    listeners.join({ kind: 'listen', id, by: 'usr_1', mayListen: () => may.listen() }, (events) => {
      leg.events = events
      return made
    })
    await settle()
    return leg
  }
  return { clock, listeners, join, published, requests, warnings, may }
}

t.test('who listens by a leg attends until the leg ends, the right ends, or the call ends', async (t) => {
  const { clock, listeners, join, published, requests, warnings, may } = openJoining()
  const first = await join('mon_1')
  t.same(requests, ['addLeg listener-1', 'remote listener-1', 'attend listener-1'])
  first.events?.ended({ by: 'caller', cause: 'caller_hangup', fault: 'none' })
  t.same(published, ['mon_1 begun', 'mon_1 over'], 'a hang-up')
  t.equal(clock.pending, 0, 'nothing checks the right of who left')

  const second = await join('mon_2')
  clock.advance(15_000)
  await settle()
  t.same(second.endings, [], 'the right is still there')
  may.listen = async () => false
  clock.advance(15_000)
  await settle()
  t.same(second.endings, ['agent_hangup'], 'the right is gone')
  t.same(published.slice(2), ['mon_2 begun', 'mon_2 over'])
  t.same(warnings, ['listen.not_allowed'])

  const third = await join('mon_3')
  may.listen = async () => {
    throw new Error('the database is away')
  }
  clock.advance(15_000)
  await settle()
  t.same(third.endings, ['agent_hangup'], 'a right that cannot be checked is none')
  t.same(warnings.slice(1), ['listen.check_failed'])

  const fourth = await join('mon_4')
  await listeners.end()
  t.same(fourth.endings, ['agent_hangup'])
  t.same(published.slice(4), ['mon_3 begun', 'mon_3 over', 'mon_4 begun', 'mon_4 over'], 'the call ended')
  t.equal(clock.pending, 0)
  t.same(requests.at(-1), 'dropLeg listener-4')
})
