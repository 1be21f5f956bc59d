import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chromium } from 'playwright-core'
import t from 'tap'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { systemClock } from '../../base/clock.js'
import { createIceCredentials, IceLiteAgent } from '../ice/lite-agent.js'
import { isRtcp, RTP_HEADER_BYTES } from '../packet.js'
import { SrtpReceiver, SrtpSender } from '../srtp/srtp.js'
import { MAX_SRTP_OVERHEAD } from '../srtp/transform.js'
import { createDtlsIdentity } from './identity.js'
import { splitRecords } from './record.js'
import { type DtlsEnd, DtlsServer } from './server.js'

/*
 * ICE-lite, the DTLS server and its SRTP keys against a browser, on one socket that sends the browser's audio back.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const MIN_PACKETS = 20
const OUR_SSRC = 0x50415231

/** Runs in the page: offers a tone, and plays what comes back, without which nothing is decoded. */
const OFFER = `(async () => {
  const audio = new AudioContext()
  const tone = audio.createOscillator()
  const output = audio.createMediaStreamDestination()
  tone.connect(output)
  tone.start()
  globalThis.peer = new RTCPeerConnection({ iceServers: [], bundlePolicy: 'max-bundle' })
  peer.ontrack = ({ track }) => {
    globalThis.player = new Audio()
    player.srcObject = new MediaStream([track])
    player.play()
  }
  for (const track of output.stream.getTracks()) peer.addTrack(track, output.stream)
  await peer.setLocalDescription()
  return peer.localDescription.sdp
})()`

const STATS = `(async () => {
  const all = [...(await peer.getStats()).values()]
  const transport = all.find(({ type }) => type === 'transport')
  const inbound = all.find(({ type }) => type === 'inbound-rtp')
  return {
    state: peer.connectionState,
    tls: transport?.tlsVersion,
    cipher: transport?.dtlsCipher,
    srtp: transport?.srtpCipher,
    energy: inbound?.totalAudioEnergy ?? 0,
  }
})()`

interface Stats {
  readonly state: string
  readonly tls: string
  readonly cipher: string
  readonly srtp: string
  /** Of the audio that the browser decoded and played. */
  readonly energy: number
}

t.test('a browser connects, and hears its own audio', { skip }, async (t) => {
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? '',
    args: [
      ...['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-background-networking'],
      ...['--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection'],
      '--disable-features=WebRtcHideLocalIpsWithMdns',
    ],
  })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const offer = await page.evaluate<string>(OFFER)
  const value = (name: string) => new RegExp(`^a=${name}[: ](\\S+)`, 'm').exec(offer)?.[1] ?? ''
  const [, fingerprint = ''] = /^a=fingerprint:sha-256 (\S+)/m.exec(offer) ?? []
  const opus = /^a=rtpmap:(\d+) opus\/48000\/2/m.exec(offer)?.[1] ?? ''

  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const local = createIceCredentials()
  const ice = new IceLiteAgent({
    local,
    remoteUfrag: value('ice-ufrag'),
    send: (datagram, { address, port }) => socket.send(datagram, port, address),
  })
  const identity = createDtlsIdentity(Date.now())
  let incoming: SrtpReceiver | null = null
  let outgoing: SrtpSender | null = null
  let suite = ''
  let end: DtlsEnd | null = null
  let packets = 0
  let refused = 0
  let fragments = 0
  const dtls = new DtlsServer({
    clock: systemClock,
    identity,
    fingerprints: [{ hash: 'sha-256', digest: fingerprint }],
    send: (datagram, to) => socket.send(datagram, Number(to), '127.0.0.1'),
    onKeys: (keys) => {
      suite = keys.suite
      incoming = new SrtpReceiver(keys.suite, keys.receive)
      outgoing = new SrtpSender(keys.suite, keys.send)
    },
    onEnd: (why) => {
      end = why
    },
  })
  socket.on('message', (data, from) => {
    const first = data[0] ?? 255
    if (first <= 3) ice.receive(data, from, systemClock.now())
    else if (!ice.isValid(from.address, from.port, systemClock.now())) refused++
    else if (first >= 20 && first <= 63) {
      // A fragment is shorter than its message.
      fragments += splitRecords(data).filter(
        ({ type, epoch, body }) =>
          type === 22 && epoch === 0 && body.readUIntBE(1, 3) > body.readUIntBE(9, 3),
      ).length
      dtls.receive(data, String(from.port))
    } else if (incoming !== null && outgoing !== null && !isRtcp(data)) {
      const length = incoming.unprotectRtp(data, data.length)
      if (length < RTP_HEADER_BYTES) return
      packets++
      const echo = Buffer.alloc(length + MAX_SRTP_OVERHEAD)
      data.copy(echo, 0, 0, length)
      echo.writeUInt32BE(OUR_SSRC, 8)
      socket.send(echo.subarray(0, outgoing.protectRtp(echo, length)), from.port, from.address)
    }
  })
  t.teardown(() => {
    dtls.close()
    socket.close()
  })

  const { port } = socket.address()
  const answer = [
    ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=ice-lite', 'a=group:BUNDLE 0'],
    ...[
      `m=audio ${port} UDP/TLS/RTP/SAVPF ${opus}`,
      'c=IN IP4 127.0.0.1',
      'a=mid:0',
      'a=sendrecv',
      'a=rtcp-mux',
    ],
    ...[
      `a=ice-ufrag:${local.ufrag}`,
      `a=ice-pwd:${local.password}`,
      `a=fingerprint:sha-256 ${identity.fingerprint.digest}`,
    ],
    ...['a=setup:passive', `a=rtpmap:${opus} opus/48000/2`, `a=ssrc:${OUR_SSRC} cname:echo`],
    ...[`a=candidate:1 1 udp 2130706431 127.0.0.1 ${port} typ host`, 'a=end-of-candidates', ''],
  ].join('\r\n')
  await page.evaluate(`peer.setRemoteDescription(${JSON.stringify({ type: 'answer', sdp: answer })})`)
  await until(() => packets >= MIN_PACKETS || end !== null)
  t.equal(end, null)
  const stats = () => page.evaluate<Stats>(STATS)
  await until(async () => (await stats()).energy > 0, { everyMs: 50 })
  const told = await stats()
  t.equal(told.state, 'connected')
  t.equal(told.tls, 'FEFD')
  t.equal(told.cipher, 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256')
  // Chromium 156 changed from the name in SDES (RFC 7714) to the name of the profile in DTLS-SRTP.
  t.ok(suite !== null && [suite, `SRTP_${suite}`].includes(told.srtp), told.srtp)
  t.ok(fragments >= 2, 'a browser sends its hello in fragments')
  t.equal(refused, 0, 'nothing comes from an address that was not checked')
  await page.evaluate('peer.close()')
  await until(() => end !== null)
  t.equal(end, 'closed')
})
