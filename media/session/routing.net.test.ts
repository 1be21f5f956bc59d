import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { joined, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { readWav } from '../../fixtures/audio/wav.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { openRtpPeer } from '../../fixtures/rtp/rtp-peer.js'
import { systemClock } from '../base/clock.js'
import type { AudioFrame, SessionRate } from '../base/frame.js'
import { silentLog } from '../base/log.js'
import type { CodecName } from '../codec/codec.js'
import { codecOf } from '../codec/registry.js'
import { openRtpEndpoint, type RtpEndpoint } from '../rtp/endpoint.js'
import { RtpPorts } from '../rtp/port.js'
import type { RtpRemote } from '../rtp/remote-description.js'
import { LoopEndpoint } from '../sounds/endpoints.js'
import type { Endpoint } from './endpoint.js'
import { FrameClock, PHASE_MS } from './frame-clock.js'
import { applyRouting, type CallParties, type RoutingMode, routesFor } from './routing.js'
import { Session } from './session.js'

assertNothingLeft(t)

/** The hum of each party (Hz): far apart, and none a harmonic of another. */
const HUMS = { caller: 500, human: 870, agent: 1330, music: 1750, ambience: 2230, monitor: 2690 } as const
type Name = keyof typeof HUMS

const LEVEL = 0.15
const AMBIENCE = 0.5
/** Ticks to skip after a change: jitter buffers, fades, ducking. */
const SETTLE = 24
const LISTEN = 12

/** The hums that each party hears; a party that is not listed hears nothing. */
const EXPECTED: Readonly<
  Record<RoutingMode, Partial<Record<'caller' | 'human' | 'agent', readonly Name[]>>>
> = {
  agent: { caller: ['agent', 'ambience'], agent: ['caller'] },
  hold: { caller: ['music'] },
  briefing: { caller: ['music'], agent: ['human'], human: ['agent'] },
  bridge: { caller: ['human'], human: ['caller'] },
  three_way: {
    caller: ['agent', 'ambience', 'human'],
    agent: ['caller', 'human'],
    human: ['agent', 'caller'],
  },
  whisper: { caller: ['agent', 'ambience'], agent: ['caller', 'human'], human: ['agent', 'caller'] },
}
const SITUATIONS = Object.keys(EXPECTED) as RoutingMode[]

/** A local endpoint: an agent has arrival delivery, a bot has tick delivery. */
class Inside implements Endpoint {
  readonly heard: Int16Array[] = []
  readonly #hum: LoopEndpoint

  constructor(
    readonly id: string,
    readonly kind: 'agent' | 'byo',
    readonly delivery: 'arrival' | 'tick',
    rate: SessionRate,
    hertz: number = HUMS.agent,
  ) {
    this.#hum = new LoopEndpoint(id, tone(hertz, 1000, rate, LEVEL))
  }

  pull(into: Int16Array, at: number): boolean {
    return this.#hum.pull(into, at)
  }

  push(frame: AudioFrame): void {
    this.heard.push(frame.pcm.slice())
  }

  close(): void {}
}

/** Packets sent by one side of a connection, and those received from the other. */
interface Traffic {
  readonly sent: number
  readonly taken: number
}

/** A telephone that hums: its address, and the audio it received. */
interface Telephone {
  readonly address: string
  readonly port: number
  /** Number of received frames. */
  readonly frames: number
  readonly rate: number
  traffic(): Traffic
  start(remote: { address: string; port: number }): void
  heard(): Int16Array
  close(): Promise<void>
}

interface Rig {
  readonly clock: VirtualClock
  readonly session: Session
  readonly lines: readonly (readonly [RtpEndpoint, Telephone])[]
  readonly parties: CallParties
  readonly peers: { readonly caller: Telephone; readonly human: Telephone }
  readonly inside: Inside
  /** Listens, and hums in vain. */
  readonly monitor: Inside
  readonly rate: SessionRate
}

/** G.711 without the engine. */
async function plainTelephone(time: Time, codec: 'PCMA' | 'PCMU', hertz: number): Promise<Telephone> {
  const { clock } = time
  const peer = await openRtpPeer({ clock, codec, background: tone(hertz, 1000, 8000, LEVEL) })
  return {
    address: peer.address,
    port: peer.port,
    get frames() {
      return peer.received.length
    },
    rate: 8000,
    traffic: () => ({ sent: peer.packetsSent, taken: peer.received.length }),
    start: (remote) => peer.start(remote),
    heard: () => peer.heard().pcm,
    close: () => peer.close(),
  }
}

/** Any codec: the peer is another RTP endpoint. */
async function wideTelephone(time: Time, codec: CodecName, hertz: number): Promise<Telephone> {
  const end = await openLeg(time, 'far', 16_000)
  const session = openTalk(time, 16_000)
  const hum = new Inside('hum', 'byo', 'tick', 16_000, hertz)
  session.add(end)
  session.add(hum)
  session.route('far', ['hum'])
  session.route('hum', ['far'])
  session.start()
  const leave = time.frameClock.add(session)
  return {
    address: end.address,
    port: end.port,
    get frames() {
      return hum.heard.length
    },
    rate: 16_000,
    traffic: () => trafficOf(end),
    start: (remote) => end.setRemote(remoteOf(codec, remote)),
    heard: () => joined(...hum.heard),
    async close() {
      leave()
      await session.close('hangup')
    },
  }
}

function remoteOf(codec: CodecName, { address, port }: { address: string; port: number }): RtpRemote {
  const payloadType = codecOf(codec).offeredPayloadType
  return { address, port, codec, payloadType, dtmfPayloadType: null, send: true, receive: true }
}

function trafficOf(end: RtpEndpoint): Traffic {
  const { packetsSent, packetsReceived, refused } = end.stats()
  return { sent: packetsSent, taken: packetsReceived + refused }
}

function openTalk({ clock }: Time, rate: SessionRate): Session {
  return new Session({ rate, clock, recordTo: null, onRecordingFailed: () => {} })
}

function openLeg({ clock }: Time, id: string, rate: SessionRate): Promise<RtpEndpoint> {
  return openRtpEndpoint({
    id,
    address: '127.0.0.1',
    ports: new RtpPorts(clock),
    portRange: null,
    rate,
    clock,
    log: silentLog,
    onDigit: null,
    onTimeout: () => {},
    mediaTimeoutMs: 30_000,
  })
}

/** The test moves time and ticks, so that the result does not depend on the host. */
interface Time {
  readonly clock: VirtualClock
  readonly frameClock: FrameClock
}

async function openRig(
  t: Test,
  rate: SessionRate,
  kind: 'agent' | 'byo',
  codecs: { readonly caller: CodecName; readonly human: CodecName },
): Promise<Rig> {
  const clock = new VirtualClock()
  const frameClock = new FrameClock(clock, (_, error) => {
    throw error
  })
  const time = { clock, frameClock }
  const session = openTalk(time, rate)
  const leg = async (id: 'caller' | 'human') => {
    const end = await openLeg(time, id, rate)
    const codec = codecs[id]
    const telephone =
      codec === 'PCMA' || codec === 'PCMU'
        ? await plainTelephone(time, codec, HUMS[id])
        : await wideTelephone(time, codec, HUMS[id])
    session.add(end)
    return [end, telephone] as const
  }
  const lines = [await leg('caller'), await leg('human')] as const
  const peers = { caller: lines[0][1], human: lines[1][1] }
  const inside = new Inside('agent', kind, kind === 'agent' ? 'arrival' : 'tick', rate)
  session.add(inside)
  const monitor = new Inside('monitor', 'byo', 'tick', rate, HUMS.monitor)
  session.add(monitor)
  session.add(new LoopEndpoint('music', tone(HUMS.music, 1000, rate, LEVEL)))
  session.add(new LoopEndpoint('ambience', tone(HUMS.ambience, 1000, rate, LEVEL)))
  session.start()
  const leave = frameClock.add(session)
  t.teardown(async () => {
    leave()
    await session.close('hangup')
    await Promise.all([peers.caller.close(), peers.human.close()])
    frameClock.close()
  })
  // Nothing is sent before both sides are listening, so every packet counts.
  clock.advance(20)
  for (const [end, telephone] of lines) {
    end.setRemote(remoteOf(codecs[end.id === 'caller' ? 'caller' : 'human'], telephone))
    telephone.start(end)
  }
  const parties: CallParties = {
    caller: 'caller',
    agent: 'agent',
    legs: ['human', 'monitor'],
    persons: ['human'],
    listeners: ['monitor'],
    fillers: new Map([['caller', 'music']]),
    sounds: ['music'],
    holders: new Set(),
    holdSound: null,
    announcement: null,
    ambience: { id: 'ambience', volume: AMBIENCE },
    dtmf: null,
  }
  return { clock, session, lines, parties, peers, inside, monitor, rate }
}

/** Runs this many ticks. The packets of a tick have arrived before the next one. */
async function pass({ clock, lines }: Rig, ticks: number): Promise<void> {
  for (let phase = 0; phase < ticks * 4; phase++) {
    clock.advance(PHASE_MS)
    const deadline = systemClock.now() + 30_000
    while (!lines.every(([end, telephone]) => through(trafficOf(end), telephone.traffic()))) {
      if (systemClock.now() > deadline) throw new Error('the packets do not come')
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function through(one: Traffic, other: Traffic): boolean {
  return one.sent === other.taken && other.sent === one.taken
}

/** Returns the hums in the audio, including quiet ones. */
function humsIn(pcm: Int16Array, rate: number): Name[] {
  if (pcm.length === 0) return []
  return (Object.keys(HUMS) as Name[]).filter((name) => toneLevel(pcm, HUMS[name], rate) > 0.015).sort()
}

/** Returns the hums that each party hears in a situation, and records what follows the switch to `path`. */
async function heardIn(rig: Rig, situation: RoutingMode, path: string): Promise<unknown> {
  const { peers, inside, monitor, rate } = rig
  applyRouting(rig.session, situation, rig.parties)
  await pass(rig, SETTLE)
  const from = { caller: peers.caller.heard().length, human: peers.human.heard().length }
  const frames = { caller: peers.caller.frames, human: peers.human.frames }
  inside.heard.length = 0
  monitor.heard.length = 0
  rig.session.record(path)
  await pass(rig, LISTEN)
  rig.session.record(null)
  for (const name of ['caller', 'human'] as const) {
    const count = peers[name].frames - frames[name]
    if (count !== LISTEN) throw new Error(`${count} frames in ${LISTEN} ticks`)
  }
  const at = (telephone: Telephone, sample: number) =>
    humsIn(telephone.heard().subarray(sample), telephone.rate)
  const heard = {
    caller: at(peers.caller, from.caller),
    human: at(peers.human, from.human),
    agent: humsIn(joined(...inside.heard), rate),
    monitor: humsIn(joined(...monitor.heard), rate),
  }
  return Object.fromEntries(Object.entries(heard).filter(([, hums]) => hums.length > 0))
}

for (const [rate, kind, caller, human] of [
  [8000, 'agent', 'PCMA', 'PCMU'],
  [16_000, 'byo', 'PCMU', 'PCMA'],
  [16_000, 'agent', 'OPUS', 'G722'],
  [8000, 'byo', 'G722', 'PCMA'],
] as const) {
  t.test(`routes on the wire: ${kind} at ${rate} Hz, caller ${caller}, person ${human}`, async (t) => {
    const rig = await openRig(t, rate, kind, { caller, human })
    const folder = t.testdir()
    const paths: { readonly path: string; readonly situation: RoutingMode }[] = []
    // There and back again: no route may outlive its mode.
    for (const situation of [...SITUATIONS, ...SITUATIONS.toReversed()]) {
      const heard = EXPECTED[situation]
      const monitor = [...(heard.caller ?? []), 'caller']
      const expected = Object.fromEntries(
        Object.entries({ ...heard, monitor }).map(([name, hums]) => [name, hums.toSorted()]),
      )
      const path = join(folder, `${paths.length}.wav`)
      paths.push({ path, situation })
      t.strictSame(await heardIn(rig, situation, path), expected, situation)
    }
    await rig.session.close('hangup')
    for (const { path, situation } of paths) {
      const [left = new Int16Array(), right = new Int16Array()] = readWav(await readFile(path)).channels
      const { caller, agent = [], human = [] } = EXPECTED[situation]
      const isHeard = [...agent, ...human].includes('caller')
      t.strictSame(
        humsIn(left, rate),
        isHeard ? ['caller'] : [],
        `the caller on the recording in ${situation}`,
      )
      t.strictSame(humsIn(right, rate), caller?.toSorted() ?? [], `what he hears in ${situation}`)
    }
  })
}
t.test('ambience is ducked by the agent, DTMF mutes everything, and every endpoint is rerouted', (t) => {
  const parties: CallParties = {
    caller: 'caller',
    agent: 'agent',
    legs: [],
    persons: [],
    listeners: [],
    fillers: new Map(),
    sounds: [],
    holders: new Set(),
    holdSound: null,
    announcement: null,
    ambience: { id: 'room', volume: 0.3 },
    dtmf: 'keys',
  }
  const routes = routesFor('agent', parties)
  t.strictSame(
    routes.map(({ from }) => from),
    ['caller', 'agent', 'room', 'keys'],
  )
  t.match(routes[1]?.to, [{ to: 'caller', duckedBy: [{ endpoint: 'keys', gain: 0 }] }])
  const [room] = routes[2]?.to ?? []
  t.equal(room?.gain, 0.3)
  t.strictSame(
    room?.duckedBy?.map(({ endpoint: end }) => end),
    ['keys', 'agent'],
  )
  t.strictSame(routesFor('hold', parties)[2], { from: 'room', to: [] })
  t.end()
})

t.test('who is held hears the hold sound, under what the holder sends', (t) => {
  const parties: CallParties = {
    caller: 'caller',
    agent: 'agent',
    legs: ['person', 'second'],
    persons: ['person', 'second'],
    listeners: [],
    fillers: new Map(),
    sounds: ['music'],
    holders: new Set(['person']),
    holdSound: 'music',
    announcement: null,
    ambience: null,
    dtmf: null,
  }
  const music = (mode: RoutingMode, change: Partial<CallParties>) =>
    routesFor(mode, { ...parties, ...change })
      .find(({ from }) => from === 'music')
      ?.to.map(({ to, duckedBy = [] }) => [
        to,
        ...duckedBy.map(({ endpoint, gain }) => `${endpoint} ${gain}`),
      ])
  t.same(music('bridge', {}), [], 'the second person talks with the caller')
  t.same(music('bridge', { persons: ['person'] }), [['caller', 'person 0']])
  t.same(music('bridge', { persons: ['person'], holders: new Set(['caller']) }), [['person', 'caller 0']])
  const listeners = ['monitor']
  t.same(
    music('bridge', { persons: ['person'], listeners }),
    [
      ['caller', 'person 0'],
      ['monitor', 'person 0'],
    ],
    'who listens hears what the caller hears',
  )
  t.same(music('bridge', { persons: ['person'], listeners, holders: new Set(['caller']) }), [
    ['person', 'caller 0'],
  ])
  t.same(music('bridge', { persons: ['person'], holders: new Set(['caller', 'person']) }), [], 'both hold')
  t.same(music('bridge', { holders: new Set(['caller', 'second']) }), [['person', 'caller 0', 'second 0']])
  t.same(
    music('bridge', { persons: ['person'], announcement: { from: 'agent', to: ['caller'] } }),
    [],
    'somebody speaks to the caller',
  )
  t.same(music('agent', { holders: new Set(['caller']) }), [], 'an agent needs no music')
  t.same(music('bridge', { persons: ['person'], holdSound: null }), [])
  t.end()
})
