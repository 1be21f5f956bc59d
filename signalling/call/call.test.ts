import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { settle } from '../../fixtures/host/settle.js'
import { EngineError } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import type { TransferRequest, TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import {
  CALLER_LEG,
  type ClosedSession,
  type MediaPool,
  type RemoteMedia,
  type SessionEvent,
} from '../../workers/channel/protocol.js'
import type { PeerAnswer } from '../sip/dialog-port.js'
import { Call } from './call.js'
import type { CallEvent } from './call-events.js'
import type { CallDirection } from './call-machine.js'
import { callTimers } from './call-options.js'
import type { Ending } from './ending.js'
import type { Leg, LegEvents } from './leg.js'
import type { TransferHandler } from './ports.js'

const remote: RemoteMedia = {
  address: '127.0.0.1',
  port: 4000,
  codec: 'PCMA',
  payloadType: 8,
  dtmfPayloadType: 101,
  send: true,
  receive: true,
}
const rtp = {
  packetsSent: 1,
  packetsReceived: 2,
  lost: 0,
  late: 0,
  duplicates: 0,
  refused: 0,
  concealedFrames: 0,
  jitterMs: 0,
  playout: { targetMs: 40, delayMs: 0, insertedMs: 0, discardedMs: 0, driftPpm: 0 },
}
const closed: ClosedSession = {
  stats: { frames: 3, rtp },
  recording: { path: 'a.wav', bytes: 44, durationMs: 60, sha256: 'x' },
  legs: [],
  parts: [],
}
const byCaller: Ending = { by: 'caller', cause: 'caller_hangup', fault: 'none' }
type Assert = Pick<typeof t, 'equal' | 'match' | 'strictSame'>
const never = new Promise<never>(() => {})

interface Faults {
  open?: () => Promise<{ address: string; port: number; worker: number }>
  remote?: () => Promise<void>
  close?: () => Promise<ClosedSession>
  legEnd?: () => Promise<void>
  ask?: () => Promise<PeerAnswer>
  transfers?: TransferHandler
}

function rig(direction: CallDirection, faults: Faults = {}) {
  const clock = new VirtualClock()
  const events: CallEvent[] = []
  const done: string[] = []
  let say: (event: SessionEvent) => void = () => {}
  let told: LegEvents | null = null
  const pool: MediaPool = {
    open(_session, _order, listener) {
      say = listener
      done.push('open')
      return faults.open?.() ?? Promise.resolve({ address: '127.0.0.1', port: 5000, worker: 0 })
    },
    setRemote(_session, media) {
      done.push(media.send ? 'remote' : 'remote:hold')
      return faults.remote?.() ?? Promise.resolve()
    },
    start() {
      done.push('start')
      return Promise.resolve()
    },
    request: () => Promise.reject(new Error('no request is expected')),
    digit(_session, digit) {
      done.push(`digit:${digit}`)
      return Promise.resolve()
    },
    transferUpdate(_session, { id, status, code }) {
      done.push(`transfer:${id}:${status}:${code}`)
      return Promise.resolve()
    },
    toolResult(_session, request, result) {
      done.push(`result:${request}:${result}`)
      return Promise.resolve()
    },
    closeSession(_session, why) {
      done.push(`close:${why}`)
      return faults.close?.() ?? Promise.resolve(closed)
    },
    onLost() {},
    load: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  }
  const leg: Leg = {
    sipCallId: 'sip-1',
    ring: () => done.push('ring'),
    early: () => null,
    ask() {
      done.push('ask')
      return faults.ask?.() ?? Promise.resolve('gone')
    },
    connect: ({ port }) => done.push(`connect:${port}`),
    end(ending) {
      done.push(`end:${ending.cause}`)
      return faults.legEnd?.() ?? Promise.resolve()
    },
  }
  let endings = 0
  const call = new Call(
    {
      pool,
      clock,
      log: silentLog,
      events: { publish: (event) => events.push(event) },
      ...(faults.transfers === undefined ? {} : { transfers: faults.transfers }),
    },
    {
      callId: 'call_1',
      direction,
      party: {
        kind: 'persona',
        persona: { name: 'x', script: { utterances: [] }, steps: [], loopFrom: null },
      },
      recordTo: null,
      rate: 8000,
      timers: callTimers(30_000, 600),
      onEnded: () => endings++,
    },
    (listener) => {
      told = listener
      return leg
    },
  )
  call.begin()
  return {
    call,
    clock,
    events,
    done,
    say: (event: SessionEvent) => say(event),
    get leg(): LegEvents {
      if (!told) throw new Error('no leg')
      return told
    },
    types: () => events.map((event) => event.type),
    /** Checks that there is one end, last, with gapless seq and no timer left. */
    checkOver(t: Assert, cause: string) {
      t.equal(call.state, 'ended')
      t.equal(endings, 1)
      t.strictSame(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      )
      const last = events.at(-1)
      t.match(last, { type: 'ended', ending: { cause } })
      t.equal(events.filter(({ type }) => type === 'ended').length, 1)
      t.equal(clock.pending, 0, 'no timer left')
      return last
    },
  }
}

async function live(direction: CallDirection, faults: Faults = {}) {
  const it = rig(direction, faults)
  await settle()
  if (direction === 'outbound') it.leg.progress(180)
  it.leg.answered(remote)
  await settle()
  return it
}

t.test('an outbound call from beginning to end', async (t) => {
  const it = rig('outbound')
  await settle()
  t.strictSame(it.done, ['open', 'connect:5000'])
  it.leg.progress(183)
  it.leg.progress(180)
  it.leg.answered(remote)
  await settle()
  it.say({ type: 'dtmf', digit: '5', atMs: 10, durationMs: 80 })
  it.say({ type: 'finished', why: 'agent_hangup' })
  await settle()
  t.strictSame(it.done, ['open', 'connect:5000', 'remote', 'start', 'end:agent_hangup', 'close:hangup'])
  t.strictSame(it.types(), ['dialing', 'ringing', 'answered', 'dtmf', 'ended'])
  t.match(it.events[0], { sipCallId: 'sip-1', callId: 'call_1', at: it.clock.wall() })
  t.match(it.events[1], { sip: 183 })
  t.match(it.checkOver(t, 'agent_hangup'), { rtp, recording: { path: 'a.wav' } })
})

t.test('an inbound call rings while media opens; media starts with the ACK', async (t) => {
  const it = rig('inbound')
  t.strictSame(it.done, ['ring', 'open'])
  await settle()
  t.strictSame(it.done, ['ring', 'open', 'connect:5000'], 'no media before the ACK')
  it.leg.answered(remote)
  await settle()
  t.strictSame(it.types(), ['ringing', 'answered'])
  it.leg.ended(byCaller)
  await settle()
  t.strictSame(it.done.slice(-3), ['remote', 'start', 'close:hangup'], 'no BYE back')
  it.checkOver(t, 'caller_hangup')
})

t.test('events of a closing session precede the end; none follows it', async (t) => {
  let close: (session: ClosedSession) => void = () => {}
  const it = await live('inbound', {
    close: () =>
      new Promise((resolve) => {
        close = resolve
      }),
  })
  it.leg.ended(byCaller)
  await settle()
  it.say({ type: 'dtmf', digit: '1', atMs: 1, durationMs: 1 })
  close(closed)
  await settle()
  it.say({ type: 'dtmf', digit: '2', atMs: 1, durationMs: 1 })
  t.strictSame(it.types(), ['ringing', 'answered', 'dtmf', 'ended'])
  it.checkOver(t, 'caller_hangup')
})

t.test('hold and resume follow the leg', async (t) => {
  const it = await live('inbound')
  await it.leg.mediaChanged({ ...remote, send: false })
  it.say({ type: 'media_timeout', leg: CALLER_LEG, again: false })
  await it.leg.mediaChanged(remote)
  t.strictSame(it.types(), ['ringing', 'answered', 'held', 'held'])
  t.match(it.events.at(-1), { on: false })
  t.strictSame(it.done.slice(-2), ['remote:hold', 'remote'])
  it.say({ type: 'media_timeout', leg: CALLER_LEG, again: false })
  await settle()
  t.strictSame(it.done.slice(-3), ['ask', 'end:carrier_error', 'close:media_timeout'])
  it.checkOver(t, 'carrier_error')
})

const silence = (again: boolean) => ({ type: 'media_timeout', leg: CALLER_LEG, again }) as const

t.test('a silent caller that still has the call keeps it, and its last words', async (t) => {
  const it = await live('inbound', { ask: () => Promise.resolve('exists') })
  for (const again of [false, true, true, false]) {
    it.say(silence(again))
    await settle()
  }
  t.equal(it.done.filter((what) => what === 'ask').length, 4)
  t.equal(it.call.state, 'live')
  it.leg.ended(byCaller)
  await settle()
  it.checkOver(t, 'caller_hangup')
})

t.test('a silent caller that answers nothing is gone when it is still silent', async (t) => {
  for (const ask of [() => never, () => Promise.resolve('unanswered' as const)]) {
    const it = await live('inbound', { ask })
    it.say(silence(false))
    await settle()
    it.say(silence(false))
    await settle()
    t.equal(it.call.state, 'live', 'it was heard in between')
    it.say(silence(true))
    await settle()
    it.checkOver(t, 'carrier_error')
  }
})

t.test('a caller whose media failed is not asked', async (t) => {
  const it = await live('inbound')
  it.say({ type: 'media_failed', leg: CALLER_LEG })
  await settle()
  t.notOk(it.done.includes('ask'))
  it.checkOver(t, 'carrier_error')
})

t.test('a caller that closed its media hung up, also on hold', async (t) => {
  const it = await live('inbound')
  await it.leg.mediaChanged({ ...remote, send: false })
  it.say({ type: 'media_closed', leg: CALLER_LEG })
  await settle()
  it.checkOver(t, 'caller_hangup')
})

t.test('a hold received while media is being connected is not lost', async (t) => {
  const it = rig('inbound')
  await settle()
  it.leg.answered(remote)
  await it.leg.mediaChanged({ ...remote, send: false })
  await settle()
  t.strictSame(it.types(), ['ringing', 'answered', 'held'])
  it.call.finish(byCaller)
  await settle()
  it.checkOver(t, 'caller_hangup')
})

t.test('every failure ends the call once, with the right ending', async (t) => {
  const failed =
    (code: 'overloaded' | 'worker_lost') =>
    <T>() =>
      Promise.reject<T>(new EngineError(code, 'test'))

  t.test('no capacity on any worker', async (t) => {
    const it = rig('outbound', { open: failed('overloaded') })
    await settle()
    t.strictSame(it.done, ['open', 'end:pool_full'], 'nothing to close, no INVITE')
    t.match(it.checkOver(t, 'pool_full'), { rtp: null, recording: null })
  })
  t.test('the session rejects the remote address', async (t) => {
    const it = await live('outbound', { remote: failed('worker_lost') })
    await settle()
    t.match(it.checkOver(t, 'internal'), { ending: { fault: 'ours' } })
  })
  t.test('the worker dies', async (t) => {
    const it = await live('inbound')
    it.call.mediaLost()
    await settle()
    t.match(it.checkOver(t, 'internal'), { ending: { fault: 'ours' } })
    t.ok(it.done.includes('end:internal'), 'BYE')
  })
  t.test('closing the session fails', async (t) => {
    const it = await live('inbound', { close: failed('worker_lost') })
    it.leg.ended(byCaller)
    await settle()
    t.match(it.checkOver(t, 'caller_hangup'), { recording: null })
  })
  t.test('the watchdog ends a call whose leg and session never close', async (t) => {
    const it = await live('inbound', { close: () => never, legEnd: () => never })
    it.call.finish({ by: 'operator', cause: 'api_hangup', fault: 'none' })
    await settle()
    t.equal(it.call.state, 'ending')
    it.clock.advance(26_000)
    it.checkOver(t, 'api_hangup')
  })
  t.test('a session that opens after the call ended is closed', async (t) => {
    let open: (media: { address: string; port: number; worker: number }) => void = () => {}
    const it = rig('outbound', {
      open: () =>
        new Promise((resolve) => {
          open = resolve
        }),
    })
    it.call.finish({ by: 'operator', cause: 'api_hangup', fault: 'none' })
    await settle()
    it.clock.advance(26_000)
    it.checkOver(t, 'api_hangup')
    open({ address: '127.0.0.1', port: 1, worker: 0 })
    await settle()
    t.equal(it.done.at(-1), 'close:api_hangup')
  })
  t.test('no answer before the ring timeout', async (t) => {
    const it = rig('outbound')
    await settle()
    it.leg.progress(180)
    it.clock.advance(29_999)
    t.equal(it.call.state, 'ringing')
    it.clock.advance(1)
    await settle()
    t.equal(it.done.at(-2), 'end:no_answer')
    it.checkOver(t, 'no_answer')
  })
  t.test('the ACK never arrives', async (t) => {
    const it = rig('inbound')
    await settle()
    it.clock.advance(35_000)
    await settle()
    it.checkOver(t, 'carrier_error')
  })
  t.test('the call exceeds its maximum duration', async (t) => {
    const it = await live('outbound')
    it.clock.advance(720_000)
    await settle()
    t.match(it.checkOver(t, 'internal'), { ending: { fault: 'ours' } })
  })
  t.test(
    'detector events are published; one-way audio is reported as a failure when it begins',
    async (t) => {
      const it = await live('outbound')
      const heard = (event: DetectorEvent) => it.say({ type: 'detected', event })
      heard({ type: 'beep', hertz: 1000, startMs: 400, durationMs: 300 })
      t.match(it.events.at(-1), { type: 'detected', event: { type: 'beep', hertz: 1000 } })
      it.clock.advance(3000)
      const oneWay = { type: 'one_way', what: 'nothing_comes', startMs: 0 } as const
      heard({ ...oneWay, over: false })
      t.match(it.events.at(-1), { type: 'trouble', part: 'media', code: 'one_way_audio', atMs: 3000 })
      heard({ ...oneWay, over: true })
      t.match(it.events.at(-1), { type: 'detected' }, 'its end is not')
      t.equal(it.events.filter(({ type }) => type === 'trouble').length, 1)
      it.call.finish(byCaller)
      await settle()
      it.checkOver(t, 'caller_hangup')
    },
  )
  t.test('the recording fails and the call continues', async (t) => {
    const it = await live('outbound')
    it.clock.advance(1500)
    it.say({ type: 'recording_failed', message: 'disk full' })
    t.match(it.events.at(-1), { type: 'trouble', part: 'recording', atMs: 1500 })
    t.equal(it.call.state, 'live')
    it.call.finish(byCaller)
    await settle()
    it.checkOver(t, 'caller_hangup')
  })
})

t.test('errors thrown by the event sink and the leg are contained', async (t) => {
  const clock = new VirtualClock()
  let published = 0
  let ended = 0
  const call = new Call(
    {
      clock,
      log: silentLog,
      events: {
        publish() {
          published++
          throw new Error('disk full')
        },
      },
      pool: {
        open: () => Promise.resolve({ address: '127.0.0.1', port: 1, worker: 0 }),
        setRemote: () => Promise.resolve(),
        start: () => Promise.resolve(),
        request: () => Promise.reject(new Error('no request is expected')),
        digit: () => Promise.resolve(),
        transferUpdate: () => Promise.resolve(),
        toolResult: () => Promise.resolve(),
        closeSession: () => Promise.resolve(closed),
        onLost() {},
        load: () => Promise.resolve([]),
        close: () => Promise.resolve(),
      },
    },
    {
      callId: 'call_2',
      direction: 'outbound',
      party: {
        kind: 'persona',
        persona: { name: 'x', script: { utterances: [] }, steps: [], loopFrom: null },
      },
      recordTo: null,
      rate: 8000,
      timers: callTimers(1000, 60),
      onEnded: () => ended++,
    },
    () => ({
      sipCallId: 'sip',
      ring() {},
      early: () => null,
      ask: async () => 'exists',
      connect() {
        throw new Error('no socket')
      },
      end: () => Promise.resolve(),
    }),
  )
  call.begin()
  await settle()
  t.equal(call.state, 'ended')
  t.equal(ended, 1)
  t.equal(published, 2, 'dialing and ended')
  t.equal(clock.pending, 0)
})

t.test('a REFER of the far side is a request for a transfer', async (t) => {
  const requests: TransferRequest[] = []
  const updates: ((update: TransferUpdate) => void)[] = []
  const it = await live('inbound', {
    transfers: {
      request(_callId, request, report) {
        requests.push(request)
        updates.push(report)
      },
    },
  })
  const reported: string[] = []
  const refer = (target: string) =>
    it.leg.referred?.(target, (status, reason) => reported.push(`${status} ${reason}`))
  t.equal(refer('<sip:+911140000002@pbx.example>'), true)
  t.equal(refer('<https://pbx.example>'), false, 'no number')
  for (const status of ['accepted', 'ringing', 'failed'] as const) updates[0]?.({ id: 'refer-1', status })
  t.strictSame(reported, ['100 Trying', '180 Ringing', '503 Service Unavailable'])
  t.match(requests, [{ id: 'refer-1', destination: '+911140000002', handoff: 'cold', reason: 'REFER' }])
  it.leg.ended(byCaller)
  await settle()
  t.equal(refer('<sip:+911140000002@pbx.example>'), false, 'the call is over')
  const without = await live('inbound')
  t.equal(
    without.leg.referred?.('<sip:+911140000002@pbx.example>', () => {}),
    false,
  )
})
