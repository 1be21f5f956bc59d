import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import { readSdp, writeSdp } from '../../fixtures/sip/sdp.js'
import { openSipPeer, type SipPeer } from '../../fixtures/sip/sip-peer.js'
import { systemClock } from '../../media/base/clock.js'
import { pause } from '../agent/telephone.js'
import { raiseCallerPriority } from '../lib/priority.js'
import { percentile } from '../lib/statistics.js'
import type { ByoJob, ByoResult, FromByoCaller, ToByoCaller } from './job.js'
import { Phone } from './phone.js'

/*
 * Many telephones in one process: each sends a packet every 20 ms, at all phases of the period, like real
 * callers.
 */

const PHASES = 20
const PHASE_MS = 20 / PHASES
const RETRY_MS = 2_000
const BUSY = 503

const tell = (message: FromByoCaller): void => {
  process.send?.(message)
}

const phones: Phone[] = []
let peer: SipPeer | null = null
let everyFrames = 25
let late: number[] = []
let tries = 0
let running = true
let begun = { atMs: 0, cpuMs: ownCpuMs() }

function beat(): void {
  let phase = 0
  let dueMs = systemClock.now()
  const run = (): void => {
    if (!running) return
    const now = systemClock.now()
    // After a stall of this process the missed packets are not sent in a burst.
    if (now - dueMs > 100) dueMs = now
    while (dueMs <= now) {
      if (phase < phones.length) late.push(now - dueMs)
      for (let i = phase; i < phones.length; i += PHASES) phones[i]?.send(everyFrames)
      phase = (phase + 1) % PHASES
      dueMs += PHASE_MS
    }
    systemClock.after(Math.max(0, dueMs - systemClock.now()), run)
  }
  run()
}

async function call(job: ByoJob): Promise<void> {
  everyFrames = Math.round(job.everyMs / 20)
  const sip = await openSipPeer({ transport: 'udp' })
  peer = sip
  beat()
  const giveUpMs = systemClock.now() + job.patienceMs
  const ringing: Promise<boolean>[] = []
  for (let i = 0; i < job.calls; i++) {
    ringing.push(
      ring(sip, job, i, giveUpMs).catch((error: unknown) => {
        console.error(String(error))
        return false
      }),
    )
    await pause(1000 / job.callsPerSecond)
  }
  const up = await Promise.all(ringing)
  tell({ kind: 'up', established: up.filter(Boolean).length, tries })
}

/** Returns false if the call was refused during all that time. */
async function ring(sip: SipPeer, job: ByoJob, index: number, giveUpMs: number): Promise<boolean> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 18 })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const phone = new Phone(socket, index, job.exact)
  for (;;) {
    tries++
    const dialog = sip.invite({
      uri: `sip:${job.to}@${job.target.address}:${job.target.port}`,
      target: job.target,
      from: `sip:+9198${String(20_000_000 + index)}@127.0.0.1`,
      sdp: writeSdp({
        address: '127.0.0.1',
        port: phone.port,
        codecs: ['PCMA'],
        dtmfPayloadType: 101,
        direction: 'sendrecv',
      }),
    })
    const status = await dialog.final(20_000)
    if (status < 300) {
      phone.dialog = dialog
      phone.start(readSdp(dialog.remoteSdp ?? ''))
      phones.push(phone)
      return true
    }
    if (status !== BUSY) throw new Error(`call refused: ${status}`)
    if (systemClock.now() > giveUpMs) {
      socket.close()
      return false
    }
    // The worker's frame clock was late in the last seconds; the retries are spread.
    await pause(RETRY_MS + (index % 20) * 100)
  }
}

function result(): ByoResult {
  const gaps = phones.flatMap(({ gaps }) => gaps)
  return {
    echoes: phones.flatMap(({ echoes }) => echoes),
    packets: phones.reduce((sum, { packets }) => sum + packets, 0),
    lost: phones.reduce((sum, { lost }) => sum + lost, 0),
    gapP99: percentile(gaps, 0.99),
    gapP999: percentile(gaps, 0.999),
    gapMax: percentile(gaps, 1),
    ownLateP99: percentile(late, 0.99),
    ownCores: (ownCpuMs() - begun.cpuMs) / (systemClock.now() - begun.atMs),
  }
}

raiseCallerPriority()
process.on('message', (message: ToByoCaller) => {
  switch (message.type) {
    case 'call':
      call(message.job).catch((error: unknown) => {
        console.error(String(error))
        process.exit(1)
      })
      return
    case 'begin':
      late = []
      begun = { atMs: systemClock.now(), cpuMs: ownCpuMs() }
      for (const phone of phones) phone.begin()
      return
    case 'end':
      for (const phone of phones) phone.end()
      tell({ kind: 'result', result: result() })
      return
    case 'hang_up':
      running = false
      for (const phone of phones) phone.close()
      pause(300)
        .then(() => peer?.close())
        .then(() => process.disconnect())
        .catch(() => process.exit(1))
      return
    default:
      message satisfies never
  }
})
process.on('disconnect', () => process.exit(0))
// The parent may have ended while this process was loading.
if (!process.connected) process.exit(0)
