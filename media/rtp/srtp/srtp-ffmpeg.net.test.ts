import { execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { ffmpegInstalled } from '../../../fixtures/audio/ffmpeg.js'
import { tone, toneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { decodeAlaw, encodeAlaw } from '../../codec/g711.js'
import { RtpPacket, writeRtpHeader } from '../packet.js'
import type { SrtpKey } from './keying.js'
import { SrtpReceiver, SrtpSender } from './srtp.js'
import { MAX_SRTP_OVERHEAD } from './transform.js'

/* ffmpeg has its own SRTP implementation: AES-CM with either tag. */

const skip = ffmpegInstalled ? false : 'ffmpeg is not installed (Debian: ffmpeg)'

const key: SrtpKey = { keyAndSalt: Buffer.from('0123456789abcdefghijklmnopqrst', 'latin1'), mki: null }
const base64 = Buffer.from(key.keyAndSalt).toString('base64')
const HZ = 1000
const QUIET = ['-hide_banner', '-loglevel', 'error', '-nostdin']

async function openSocket(t: Test): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(async () => {
    const closed = once(socket, 'close')
    socket.close()
    await closed
  })
  return socket
}

/** An even port that ffmpeg can bind together with the next one, outside the ephemeral range. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 30_000 + 2 * randomInt(500)
    const taken = await Promise.all([port, port + 1].map(binds))
    if (taken.every((binds) => binds)) return port
  }
}

async function binds(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  try {
    socket.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(socket, 'listening')
    return true
  } catch {
    return false
  } finally {
    socket.close()
  }
}

/** Sends on a connected socket until there is a receiver. The system reports when there is none. */
async function deliver(socket: Socket, packet: Uint8Array, ended: () => boolean): Promise<void> {
  let refused = true
  const told = () => {
    refused = true
  }
  socket.on('error', told)
  while (refused && !ended()) {
    refused = false
    socket.send(packet)
    await new Promise<void>((resolve) => setTimeout(resolve, 20))
    // Sockets are read between a timer and this point, even when both are late.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  socket.off('error', told)
}

for (const suite of ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'] as const) {
  t.test(`${suite}: packets of ffmpeg are unprotected`, { skip }, async (t) => {
    const socket = await openSocket(t)
    const into = new SrtpReceiver(suite, key)
    const packet = new RtpPacket()
    const heard: Int16Array[] = []
    let refused = 0
    socket.on('message', (data) => {
      const length = into.unprotectRtp(data, data.length)
      const plain = data.subarray(0, Math.max(0, length))
      // RTCP arrives on the same port and is ignored here.
      if (length < 0 || !packet.parse(plain) || packet.payloadType !== 8) {
        if ((data[1] as number) < 200) refused++
        return
      }
      const pcm = new Int16Array(packet.payloadLength)
      decodeAlaw(plain, packet.payloadOffset, packet.payloadLength, pcm, 0)
      heard.push(pcm)
    })
    await promisify(execFile)('ffmpeg', [
      ...QUIET,
      ...['-re', '-f', 'lavfi', '-i', `sine=frequency=${HZ}:sample_rate=8000:duration=1`],
      ...['-c:a', 'pcm_alaw', '-f', 'rtp', '-srtp_out_suite', suite, '-srtp_out_params', base64],
      `srtp://127.0.0.1:${socket.address().port}?rtcpport=${socket.address().port}`,
    ])
    const samples = heard.reduce((sum, pcm) => sum + pcm.length, 0)
    t.equal(refused, 0)
    t.ok(samples >= 7000, `${samples} samples`)
    const levels = heard.slice(1, -1).map((pcm) => toneLevel(pcm, HZ))
    t.ok(Math.min(...levels) > 0.08, `${Math.min(...levels)}`)
  })

  t.test(`${suite}: ffmpeg unprotects sent packets`, { skip }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-srtp-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const socket = await openSocket(t)
    const port = await freePort()
    // Packets sent after the end of ffmpeg are refused.
    socket.on('error', () => {})
    socket.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const offer = join(folder, 'offer.sdp')
    const file = join(folder, 'heard.wav')
    await writeFile(
      offer,
      [
        'v=0',
        'o=- 1 1 IN IP4 127.0.0.1',
        's=-',
        'c=IN IP4 127.0.0.1',
        't=0 0',
        `m=audio ${port} RTP/SAVP 8`,
        `a=crypto:1 ${suite} inline:${base64}`,
        '',
      ].join('\r\n'),
    )
    const child = spawn(
      'ffmpeg',
      [
        ...QUIET,
        ...['-protocol_whitelist', 'file,udp,rtp,srtp', '-i', offer],
        ...['-t', '1', '-c:a', 'pcm_s16le', '-y', file],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const over = once(child, 'close')
    const out = new SrtpSender(suite, key)
    const payload = tone(HZ, 20)
    // Across a roll-over of the sequence number, which counts from the first packet that ffmpeg received.
    for (let sequence = 65_500; child.exitCode === null && sequence < 70_000; sequence++) {
      const packet = Buffer.alloc(172 + MAX_SRTP_OVERHEAD)
      writeRtpHeader(packet, 8, false, sequence & 0xffff, sequence * 160, 0x5eed)
      encodeAlaw(payload, 0, 160, packet, 12)
      const sealed = packet.subarray(0, out.protectRtp(packet, 172))
      if (sequence === 65_500) await deliver(socket, sealed, () => child.exitCode !== null)
      else socket.send(sealed)
      await new Promise<void>((resolve) => setTimeout(resolve, 8))
    }
    await over
    const pcm = readWav(await readFile(file)).channels[0] ?? new Int16Array(0)
    t.equal(said, '', 'no packet failed its authentication')
    t.ok(pcm.length >= 7900, `${pcm.length} samples`)
    t.ok(toneLevel(pcm.subarray(1600, 6400), HZ) > 0.25)
  })
}
