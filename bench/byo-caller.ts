import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readSdp, writeSdp } from '../fixtures/sdp.js'
import type { SipDialog } from '../fixtures/sip-dialog.js'
import { openSipPeer, type SipPeer } from '../fixtures/sip-peer.js'
import { systemClock } from '../media/base/clock.js'
import type { ByoJob, ByoResult, Echo, FromByoCaller, ToByoCaller } from './byo-job.js'
import { gapsOf, percentile } from './statistics.js'
import { pause } from './telephone.js'

/*
 * Many telephones in one process, as cheap as can be: a packet every 20 ms each, silence but for a loud
 * frame now and then, whose way back is timed.
 */

const FRAME = 160
const PACKET = 12 + FRAME
const PHASES = 4
const SILENCE = 0xd5
/** Loud frames are square waves of so many different heights, as A-law codes. */
const HEIGHTS = 32
const LOUD_CODE = 0x40

const tell = (message: FromByoCaller): void => {
  process.send?.(message)
}

class Phone {
  readonly echoes: Echo[] = []
  readonly arrivals: { readonly atMs: number; readonly timestamp: number }[] = []
  lost = 0
  dialog: SipDialog | null = null
  counting = false
  readonly #socket: Socket
  readonly #quiet = Buffer.alloc(PACKET, SILENCE)
  readonly #loud = Buffer.alloc(PACKET, SILENCE)
  #remote: { readonly address: string; readonly port: number } | null = null
  #sequence = 0
  /** When the loud frame of each height went out; null once it came back. */
  readonly #sentMs: (number | null)[] = Array.from({ length: HEIGHTS }, () => null)
  #height = 0
  #lastSequence = -1
  #frames: number

  constructor(socket: Socket, index: number) {
    this.#socket = socket
    this.#frames = index
    for (const packet of [this.#quiet, this.#loud]) {
      packet[0] = 0x80
      packet[1] = 8
      packet.writeUInt32BE(index + 1, 8)
    }
    socket.on('message', (bytes) => this.#heard(bytes))
    socket.on('error', () => {}) // the far side is gone when the call is over
  }

  get port(): number {
    return this.#socket.address().port
  }

  start(remote: { readonly address: string; readonly port: number }): void {
    this.#remote = remote
  }

  send(everyFrames: number): void {
    const remote = this.#remote
    if (remote === null) return
    const loud = this.#frames++ % everyFrames === 0
    if (loud) this.#raise()
    const packet = loud ? this.#loud : this.#quiet
    this.#sequence = (this.#sequence + 1) & 0xffff
    packet.writeUInt16BE(this.#sequence, 2)
    packet.writeUInt32BE((this.#frames * FRAME) >>> 0, 4)
    this.#socket.send(packet, remote.port, remote.address)
    if (loud) this.#sentMs[this.#height] = systemClock.now()
  }

  close(): void {
    this.dialog?.bye()
    this.#remote = null
    this.#socket.close()
  }

  #heard(bytes: Buffer): void {
    if (bytes.length !== PACKET) return
    const atMs = systemClock.now()
    if (this.counting) {
      const sequence = bytes.readUInt16BE(2)
      if (this.#lastSequence >= 0) this.lost += ((sequence - this.#lastSequence - 1) << 16) >> 16
      this.#lastSequence = sequence
      this.arrivals.push({ atMs, timestamp: bytes.readUInt32BE(4) })
    }
    let loud = 0
    let height = this.#height
    for (let i = 12; i < PACKET; i += 8) {
      const code = ((bytes[i] as number) ^ 0x55) & 0x7f
      if (code < LOUD_CODE) continue
      loud++
      if (exact) height = (code - LOUD_CODE) % HEIGHTS
    }
    const sentMs = this.#sentMs[height] ?? null
    if (loud < 5 || sentMs === null) return
    if (this.counting) this.echoes.push({ sentMs, delayMs: atMs - sentMs })
    this.#sentMs[height] = null
  }

  /** The next loud frame; one of the same height that never came back is given up. */
  #raise(): void {
    this.#height = (this.#height + 1) % HEIGHTS
    const lostMs = this.#sentMs[exact ? this.#height : (this.#height + HEIGHTS - 1) % HEIGHTS] ?? null
    if (lostMs !== null && this.counting) this.echoes.push({ sentMs: lostMs, delayMs: null })
    for (let i = 0; i < FRAME; i++) {
      this.#loud[12 + i] = ((LOUD_CODE + this.#height) ^ 0x55) | (((i >> 3) & 1) << 7)
    }
  }
}

let phones: Phone[] = []
let peer: SipPeer | null = null
let everyFrames = 25
let exact = false
let late: number[] = []
let running = true

function beat(): void {
  let phase = 0
  let dueMs = systemClock.now()
  const run = (): void => {
    if (!running) return
    const now = systemClock.now()
    late.push(now - dueMs)
    for (let i = phase; i < phones.length; i += PHASES) phones[i]?.send(everyFrames)
    phase = (phase + 1) % PHASES
    dueMs += 20 / PHASES
    // A stall of this process is no burst of old packets.
    if (systemClock.now() - dueMs > 100) dueMs = systemClock.now()
    systemClock.after(Math.max(0, dueMs - systemClock.now()), run)
  }
  run()
}

async function call(job: ByoJob): Promise<void> {
  everyFrames = Math.round(job.everyMs / 20)
  exact = job.exact
  peer = await openSipPeer({ transport: 'udp' })
  beat()
  let established = 0
  const ringing: Promise<void>[] = []
  for (let i = 0; i < job.calls; i++) {
    ringing.push(
      ring(peer, job, i).then(
        () => {
          established++
        },
        (error: unknown) => console.error(String(error)),
      ),
    )
    await pause(1000 / job.callsPerSecond)
  }
  await Promise.all(ringing)
  tell({ kind: 'up', established })
}

async function ring(sip: SipPeer, job: ByoJob, index: number): Promise<void> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 18 })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const phone = new Phone(socket, index)
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
  if (status >= 300) throw new Error(`call refused: ${status}`)
  phone.dialog = dialog
  phone.start(readSdp(dialog.remoteSdp ?? ''))
  phones.push(phone)
}

function result(): ByoResult {
  const gaps = phones.flatMap(({ arrivals }) => gapsOf(arrivals))
  return {
    echoes: phones.flatMap(({ echoes }) => echoes),
    packets: phones.reduce((sum, { arrivals }) => sum + arrivals.length, 0),
    lost: phones.reduce((sum, { lost }) => sum + lost, 0),
    gapP99: percentile(gaps, 0.99),
    gapP999: percentile(gaps, 0.999),
    gapMax: percentile(gaps, 1),
    ownLateP99: percentile(late, 0.99),
  }
}

process.on('message', (message: ToByoCaller) => {
  switch (message.do) {
    case 'call':
      call(message.job).catch((error: unknown) => {
        console.error(String(error))
        process.exit(1)
      })
      return
    case 'begin':
      late = []
      for (const phone of phones) phone.counting = true
      return
    case 'end':
      for (const phone of phones) phone.counting = false
      tell({ kind: 'result', result: result() })
      return
    case 'hang_up':
      running = false
      for (const phone of phones) phone.close()
      phones = []
      pause(300)
        .then(() => peer?.close())
        .then(() => process.disconnect())
        .catch(() => process.exit(1))
      return
    default:
      message satisfies never
  }
})
