import { join } from 'node:path'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { silentLog } from '../../media/base/log.js'
import { openRtpEndpoint } from '../../media/rtp/endpoint.js'
import { RtpPorts } from '../../media/rtp/port.js'
import { FrameClock } from '../../media/session/frame-clock.js'
import { Session } from '../../media/session/session.js'
import { raiseThreadPriority } from '../../workers/thread/thread-priority.js'
import type { FromBridges, Ports, ToBridges } from './job.js'
import { PAYLOAD_TYPES } from './job.js'

/*
 * The media side of the engine in a process of its own: bridged calls on one frame clock, as in a media
 * worker, without signalling and agents.
 */

const TIMEOUT_MS = 60_000
const sessions: Session[] = []
const beat = new FrameClock(systemClock, (_member, error) => fail(error))
let setting: Extract<ToBridges, { type: 'open' }> | null = null

function send(message: FromBridges): void {
  process.send?.(message)
}

function fail(error: unknown): void {
  send({ kind: 'failed', message: errorText(error) })
}

const rtpPorts = new RtpPorts(systemClock)

async function bridge(peers: Ports): Promise<Ports> {
  if (setting === null) throw new Error('no variant was opened')
  const { variant, keys, folder } = setting
  const session = new Session({
    rate: variant.rate,
    clock: systemClock,
    recordTo: variant.record ? join(folder, `${sessions.length}.wav`) : null,
    onRecordingFailed: fail,
  })
  const ports: number[] = []
  for (const [index, id] of (['a', 'b'] as const).entries()) {
    const leg = await openRtpEndpoint({
      id,
      address: '127.0.0.1',
      ports: rtpPorts,
      portRange: null,
      rate: variant.rate,
      clock: systemClock,
      log: silentLog,
      onDigit: null,
      onTimeout: () => fail('a leg heard nothing'),
      mediaTimeoutMs: TIMEOUT_MS,
      onFault: fail,
    })
    const codec = variant.codecs[index] ?? 'PCMA'
    leg.setRemote({
      address: '127.0.0.1',
      port: peers[index] ?? 0,
      codec,
      payloadType: PAYLOAD_TYPES[codec],
      dtmfPayloadType: null,
      send: true,
      receive: true,
      ...(keys === null ? {} : { srtp: keys }),
    })
    session.add(leg)
    ports.push(leg.port)
  }
  session.route('a', ['b'])
  session.route('b', ['a'])
  session.start()
  beat.add({ tick: (idealMs) => session.tick(idealMs), skip: (frames) => session.skip(frames) })
  sessions.push(session)
  return [ports[0] ?? 0, ports[1] ?? 0]
}

async function handle(message: ToBridges): Promise<void> {
  switch (message.type) {
    case 'open':
      setting = message
      send({ kind: 'ready' })
      return
    case 'add': {
      const ports: Ports[] = []
      for (const peers of message.peers) ports.push(await bridge(peers))
      send({ kind: 'added', ports })
      return
    }
    case 'usage': {
      if (message.collect) globalThis.gc?.()
      const { p50Ms, p99Ms, maxMs, skippedFrames } = beat.load()
      send({
        kind: 'usage',
        usage: {
          cpuMs: ownCpuMs(),
          rssMb: process.memoryUsage().rss / 1e6,
          latenessP50: p50Ms,
          latenessP99: p99Ms,
          latenessMax: maxMs,
          skippedFrames,
        },
      })
      return
    }
    case 'close':
      beat.close()
      await Promise.all(sessions.map((session) => session.close('hangup')))
      send({ kind: 'closed' })
      process.disconnect()
  }
}

raiseThreadPriority()
let last = Promise.resolve()
process.on('message', (message: ToBridges) => {
  last = last.then(() => handle(message)).catch(fail)
})
process.on('disconnect', () => process.exit(0))
