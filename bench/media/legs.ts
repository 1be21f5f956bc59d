import { once } from 'node:events'
import { decodeG711, encodeG711, type G711Name, PAYLOAD_TYPES } from '../../fixtures/audio/g711.js'
import { levelDbfs, tone } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import type { RtpPeer } from '../../fixtures/rtp/peer-stream.js'
import { openRtpPeer } from '../../fixtures/rtp/rtp-peer.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openRtpEndpoint } from '../../media/rtp/endpoint.js'
import { type BindRtpPort, type DatagramListener, RtpPorts } from '../../media/rtp/port.js'
import { Session } from '../../media/session/session.js'
import { LoopEndpoint } from '../../media/sounds/endpoints.js'
import { CALLER_LEG, type LegId, type OpenedSession } from '../../workers/channel/protocol.js'
import { openMediaPool, type RunningMediaPool } from '../../workers/pool/media-pool.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import { speechLike } from './frame-cost.js'

const WARM_TICKS = 3000
const ROUND_TICKS = 2000
const ROUNDS = 15
const PEER = { address: '192.0.2.1', port: 5000 }

/** The codecs of the three legs. */
const CODECS: readonly G711Name[] = ['PCMA', 'PCMU', 'PCMA']

/**
 * Legs_cpu: CPU of a call of an agent and three legs that all hear each other, in percent of its parts: three calls of
 * one leg with an agent each, and the mixing of four parties without a network. The network is in memory, so that the share of the system does not hide the engine's.
 */
export async function measureLegs(): Promise<Measured[]> {
  const together = await openCalls([CODECS])
  const apart = await openCalls(CODECS.map((codec) => [codec]))
  const mixing = openMixing()
  const parts = (): void => {
    apart.tick()
    mixing.tick(0)
  }
  const timed = (run: () => void): number => {
    const beforeMs = ownCpuMs()
    for (let i = 0; i < ROUND_TICKS; i++) run()
    return (1000 * (ownCpuMs() - beforeMs)) / ROUND_TICKS
  }
  for (let i = 0; i < WARM_TICKS; i++) {
    together.tick()
    parts()
  }
  const rounds = Array.from({ length: ROUNDS }, () => ({
    together: timed(together.tick),
    apart: timed(parts),
  }))
  await Promise.all([together.close(), apart.close(), mixing.close('hangup')])
  const ratios = rounds.map((round) => (100 * round.together) / round.apart)
  const median = (values: readonly number[]) => rounded(percentile(values, 0.5))
  return [
    figure(
      'Legs_cpu',
      { value: median(ratios), max: rounded(maximum(ratios)), n: ROUNDS },
      {
        togetherUs: median(rounds.map((round) => round.together)),
        apartUs: median(rounds.map((round) => round.apart)),
      },
    ),
  ]
}

/** Opens calls of an agent that speaks all the time, and legs that do so too. All parties hear each other. */
async function openCalls(calls: readonly (readonly G711Name[])[]) {
  const clock = new VirtualClock()
  const listeners: DatagramListener[] = []
  const bind: BindRtpPort = async (address, port, listener, onClosed) => {
    // Even ports carry RTP.
    if (port % 2 === 0) listeners.push(listener)
    return {
      address,
      port,
      sendErrors: 0,
      connect: () => {},
      disconnect: () => {},
      send: () => {},
      close: onClosed,
    }
  }
  const ports = new RtpPorts(clock, bind)
  const senders: (() => void)[] = []
  const sessions: Session[] = []
  for (const codecs of calls) {
    const session = new Session({ rate: 8000, clock, recordTo: null, onRecordingFailed: () => {} })
    sessions.push(session)
    const ids = codecs.map((_, at) => `leg ${at}`)
    for (const [at, codec] of codecs.entries()) {
      const end = await openRtpEndpoint({
        id: `leg ${at}`,
        address: '192.0.2.2',
        ports,
        portRange: null,
        rate: 8000,
        clock,
        log: silentLog,
        onDigit: null,
        onTimeout: () => {
          throw new Error('the leg received nothing')
        },
        mediaTimeoutMs: 10_000,
      })
      session.add(end)
      end.setRemote({
        ...PEER,
        codec,
        payloadType: PAYLOAD_TYPES[codec],
        dtmfPayloadType: null,
        send: true,
        receive: true,
      })
      senders.push(packetsTo(listeners.at(-1) as DatagramListener, codec, senders.length))
    }
    session.add(talker('agent'))
    connectAll(session, ['agent', ...ids])
    session.start()
  }
  return {
    tick: () => {
      clock.advance(20)
      for (const send of senders) send()
      for (const session of sessions) session.tick()
    },
    close: async () => {
      for (const session of sessions) await session.close('hangup')
    },
  }
}

/** Opens a session of four parties that speak all the time and hear each other. */
function openMixing(): Session {
  const session = new Session({
    rate: 8000,
    clock: systemClock,
    recordTo: null,
    onRecordingFailed: () => {},
  })
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) session.add(talker(name))
  connectAll(session, names)
  session.start()
  return session
}

function talker(id: string): LoopEndpoint {
  return new LoopEndpoint(id, Int16Array.from(speechLike(8000).flatMap((frame) => [...frame])))
}

function connectAll(session: Session, ids: readonly string[]): void {
  for (const id of ids) {
    session.route(
      id,
      ids.filter((other) => other !== id),
    )
  }
}

/** Returns a function that delivers the next packet of a stream. */
function packetsTo(listener: DatagramListener, codec: G711Name, ssrc: number): () => void {
  const packets = speechLike(8000).map((frame) => Buffer.concat([Buffer.alloc(12), encodeG711(codec, frame)]))
  let sequence = 0
  return () => {
    const packet = packets[sequence % packets.length] as Buffer
    packet[0] = 0x80
    packet[1] = PAYLOAD_TYPES[codec]
    packet.writeUInt16BE(sequence & 0xffff, 2)
    packet.writeUInt32BE((sequence * 160) >>> 0, 4)
    packet.writeUInt32BE(ssrc + 1, 8)
    sequence++
    listener.onDatagram(packet, PEER)
  }
}

const TRANSFERS = 300
const SPEECH_DBFS = -35
const PERSON = 'person'

/**
 * Transfer_gap: from the request for the bridge to the first packet of the other's voice at both telephones, over UDP
 * and a media thread. Both speak all the time.
 */
export async function measureTransfers(probe: Probe): Promise<Measured[]> {
  const pool = await openMediaPool({
    workers: 1,
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 0, last: 0 },
    mediaTimeoutMs: 30_000,
    providers: {},
  })
  try {
    const opened = await pool.open(
      'call',
      { party: { kind: 'none', maxCallSeconds: 3600 }, recordTo: null, rate: 8000 },
      () => {},
    )
    const caller = await telephone(pool, CALLER_LEG, 'PCMA', opened)
    await pool.start('call')
    const leg = await pool.request({ type: 'addLeg', session: 'call', leg: PERSON })
    const person = await telephone(pool, PERSON, 'PCMU', leg)
    await pool.request({ type: 'hold', session: 'call', leg: CALLER_LEG, sound: 'silence' })
    const samples: { readonly fromMs: number; readonly toMs: number }[] = []
    await probe.begin()
    for (let i = 0; i < TRANSFERS; i++) {
      await pool.request({ type: 'route', session: 'call', mode: 'hold', persons: [PERSON] })
      // Longer than the fade and the jitter buffers; the rest spreads the requests over the frame.
      await wait(150 + ((i * 7) % 20))
      const fromMs = systemClock.now()
      const heard = Promise.all([caller.voice(), person.voice()])
      await pool.request({ type: 'route', session: 'call', mode: 'bridge', persons: [PERSON] })
      samples.push({ fromMs, toMs: Math.max(...(await heard)) })
    }
    const { late } = await probe.judge()
    const gaps = samples.flatMap(({ fromMs, toMs }) => (isJudged(late, fromMs, toMs) ? [toMs - fromMs] : []))
    await Promise.all([caller.peer.close(), person.peer.close()])
    return [
      figure(
        'Transfer_gap',
        {
          p50: rounded(percentile(gaps, 0.5)),
          p99: rounded(percentile(gaps, 0.99)),
          max: rounded(maximum(gaps)),
          n: gaps.length,
        },
        {},
      ),
    ]
  } finally {
    await pool.close()
  }
}

interface Telephone {
  readonly peer: RtpPeer
  /** Resolves with the clock time of the next packet that holds a voice. */
  voice(): Promise<number>
}

async function telephone(
  pool: RunningMediaPool,
  leg: LegId,
  codec: G711Name,
  { address, port }: OpenedSession,
): Promise<Telephone> {
  const packets = new EventTarget()
  const peer = await openRtpPeer({
    codec,
    keep: false,
    background: tone(300, 1000, 8000, 0.3),
    onPacket: ({ payload }) => {
      if (levelDbfs(decodeG711(codec, payload)) > SPEECH_DBFS) packets.dispatchEvent(new Event('voice'))
    },
  })
  const remote = {
    address: peer.address,
    port: peer.port,
    codec,
    payloadType: PAYLOAD_TYPES[codec],
    dtmfPayloadType: null,
    send: true,
    receive: true,
  }
  await pool.request({ type: 'remote', session: 'call', leg, remote })
  peer.start({ address, port })
  return {
    peer,
    voice: async () => {
      await once(packets, 'voice', { signal: AbortSignal.timeout(10_000) })
      return systemClock.now()
    },
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
