import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { joined, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { readWav, writeWav } from '../../fixtures/audio/wav.js'
import { openRig, type TestDialog } from '../../fixtures/rigs/embedded-rig.js'
import { type Baresip, baresipInstalled, startBaresip } from '../../fixtures/sip/baresip.js'
import { makeAuthority } from '../../fixtures/sip/certificates.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openRtpEndpoint } from '../../media/rtp/endpoint.js'
import { RtpPorts } from '../../media/rtp/port.js'
import { FrameClock } from '../../media/session/frame-clock.js'
import type { RemoteMedia } from '../../workers/channel/protocol.js'
import type { SrtpPolicy } from './sdp-crypto.js'
import { SdpSession } from './sdp-session.js'

/*
 * SRTP and SRTCP with keys in SDP against another implementation: Debian's baresip, over TLS.
 */

const skip = baresipInstalled ? false : 'baresip is not installed (Debian: baresip-core)'
const TIMERS = { T1: 100, T2: 800, T4: 1000 }
/** Long enough for RTCP reports of both sides. */
const SPEAK_FRAMES = 50 * 6
const OURS_HZ = 1000
const THEIRS_HZ = 440

/** Opens a leg that sends a tone in real time and keeps the received audio. */
async function openLeg(t: Test, srtp: SrtpPolicy) {
  const end = await openRtpEndpoint({
    id: 'leg',
    address: '127.0.0.1',
    ports: new RtpPorts(systemClock),
    portRange: null,
    rate: 8000,
    clock: systemClock,
    log: silentLog,
    onDigit: null,
    onTimeout: () => {},
    mediaTimeoutMs: 60_000,
  })
  const beat = new FrameClock(systemClock, (_member, error) => t.error(error))
  t.teardown(() => {
    beat.close()
    end.close('hangup')
  })
  const heard: Int16Array[] = []
  const said = tone(OURS_HZ, 1000)
  let frame = 0
  let sent = 0
  return {
    end,
    sdp: new SdpSession(
      { address: end.address, port: end.port, rtcpPort: end.rtcpPort },
      ['PCMA', 'PCMU'],
      '7',
      srtp,
    ),
    heard: () => joined(...heard),
    talk: async (remote: RemoteMedia) => {
      end.setRemote(remote)
      const over = new Promise<void>((resolve) => {
        const leave = beat.add({
          skip: (frames) => {
            frame += frames
          },
          tick: (idealMs) => {
            if (frame === 0) {
              end.start(idealMs, { onFrame: ({ pcm }) => heard.push(pcm.slice()), onDigit: () => {} })
            }
            const at = frame * 160
            end.push({ pcm: said.subarray(at % 8000, (at % 8000) + 160), rate: 8000, at })
            end.flush(at)
            frame++
            sent++
            // A host that stands still skips frames, which the other side then does not get.
            if (sent < SPEAK_FRAMES) return
            leave()
            resolve()
          },
        })
      })
      await over
    },
  }
}

interface Scene {
  readonly rig: Awaited<ReturnType<typeof openRig>>
  readonly authorities: string
  /** The file baresip plays, and the file it records to. */
  readonly says: string
  readonly hearsInto: string
}

async function scene(t: Test): Promise<Scene> {
  const authority = makeAuthority(t)
  const hearsInto = await mkdtemp(join(tmpdir(), 'parley-heard-'))
  t.teardown(() => rm(hearsInto, { recursive: true, force: true }))
  const says = join(hearsInto, 'says.wav')
  await writeFile(says, writeWav({ rate: 8000, channels: [tone(THEIRS_HZ, 20_000)] }))
  const rig = await openRig(t, {
    listen: [{ transport: 'tls', address: '127.0.0.1', port: 0 }],
    tls: authority.issue('IP:127.0.0.1'),
    timers: TIMERS,
  })
  return { rig, authorities: authority.certificateFile, says, hearsInto }
}

/** Resolves with the audio that baresip recorded. */
async function baresipHeard(folder: string): Promise<Int16Array> {
  const names = await readdir(folder)
  const name = names.find((one) => one.endsWith('dec.wav'))
  if (name === undefined) throw new Error(`baresip wrote ${names.join(', ') || 'nothing'}`)
  const bytes = await readFile(join(folder, name))
  return readWav(bytes).channels[0] ?? new Int16Array(0)
}

/** Returns the median level over tenths of a second, from the second second on. */
function usualLevel(pcm: Int16Array, hz: number): number {
  const levels: number[] = []
  for (let at = 8_000; at + 800 <= 40_000; at += 800) levels.push(toneLevel(pcm.subarray(at, at + 800), hz))
  return levels.sort((a, b) => a - b)[Math.floor(levels.length / 2)] ?? 0
}

function verify(t: Test, leg: Awaited<ReturnType<typeof openLeg>>, theirs: Int16Array): void {
  const ours = leg.heard()
  t.ok(usualLevel(ours, THEIRS_HZ) > 0.05, 'their tone is heard here')
  t.ok(usualLevel(theirs, OURS_HZ) > 0.1, 'our tone is heard there')
  const stats = leg.end.stats()
  t.match(stats, { unknownSources: 0, otherProtocols: 0, lost: 0 })
  t.ok(stats.authFailures <= 1, 'its BYE, which this version sends in the clear')
  t.ok(stats.packetsReceived > SPEAK_FRAMES / 2, `${stats.packetsReceived} packets`)
  t.ok(stats.rtcp > 0, 'their SRTCP is genuine')
  t.ok(stats.quality?.sent, 'and reports what we sent')
  t.equal(stats.quality?.sent?.loss, 0)
}

t.test('answers an offer with keys: both receive audio, and both report', { skip }, async (t) => {
  const { rig, authorities, says, hearsInto } = await scene(t)
  const app = await rig.app()
  app.use('register', (req, res) =>
    res.send(200, { headers: { Contact: req.get('Contact'), Expires: '60' } }),
  )
  const leg = await openLeg(t, 'required')
  const called = new Promise<{ dialog: TestDialog; remote: RemoteMedia }>((resolve, reject) => {
    app.use('invite', (req, res) => {
      const answer = leg.sdp.answer(req.body)
      if (!answer.ok) {
        reject(new Error(`${answer.reason}: ${req.body}`))
        return
      }
      app
        .createUAS(req, res, { localSdp: answer.sdp })
        .then((dialog) => resolve({ dialog, remote: answer.remote }), reject)
    })
  })
  await rig.routed(app)
  const phone = await startBaresip(t, {
    serverPort: rig.port,
    authorities,
    encryption: 'srtp-mand',
    speaks: { file: says, hearsInto },
    commands: [`/dial sip:service@127.0.0.1:${rig.port};transport=tls`],
  })
  const { dialog, remote } = await within(called, phone)
  t.ok(remote.srtp, 'keys are agreed')
  await leg.talk(remote)
  await within(dialog.destroy(), phone)
  await written(hearsInto, phone)
  verify(t, leg, await baresipHeard(hearsInto))
})

t.test('offers optional keys: both receive audio, and both report', { skip }, async (t) => {
  const { rig, authorities, says, hearsInto } = await scene(t)
  const app = await rig.app()
  const registered = new Promise<string>((resolve) => {
    app.use('register', (req, res) => {
      const contact = req.get('Contact')
      res.send(200, { headers: { Contact: contact, Expires: '60' } })
      resolve(/<([^>]+)>/.exec(contact)?.[1] ?? '')
    })
  })
  await rig.routed(app)
  const phone = await startBaresip(t, {
    serverPort: rig.port,
    authorities,
    encryption: 'srtp',
    speaks: { file: says, hearsInto },
  })
  const contact = await within(registered, phone)
  const leg = await openLeg(t, 'optional')
  const dialog = await within(app.createUAC(contact, { localSdp: leg.sdp.offer() }), phone)
  const accepted = leg.sdp.accept(dialog.remote.sdp)
  if (!accepted.ok) throw new Error(`${accepted.reason}: ${dialog.remote.sdp}`)
  t.equal(accepted.remote.srtp?.suite, 'AEAD_AES_256_GCM')
  await leg.talk(accepted.remote)
  await dialog.destroy()
  await written(hearsInto, phone)
  verify(t, leg, await baresipHeard(hearsInto))
})

/** Waits until baresip has closed its recording, whose header then gives the length. */
async function written(folder: string, phone: Baresip): Promise<void> {
  const begin = performance.now()
  while (performance.now() - begin < 30_000) {
    const heard = await baresipHeard(folder).catch(() => new Int16Array(0))
    if (heard.length >= 40_000) return
    await new Promise<void>((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`baresip wrote too little; it says:\n${phone.output()}`)
}

/** Resolves as the promise does; a timeout reports baresip's output. */
async function within<T>(promise: Promise<T>, phone: Baresip): Promise<T> {
  const signal = AbortSignal.timeout(30_000)
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`not in time; baresip says:\n${phone.output()}`)))
    promise.then(resolve, reject)
  })
}
