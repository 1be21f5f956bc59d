import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { writeWav } from '../../../fixtures/audio/wav.js'
import { call } from '../../../fixtures/service/caller.js'
import { openService } from '../../../fixtures/service/service.js'
import { baresipInstalled, startBaresip } from '../../../fixtures/sip/baresip.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'

/*
 * Media transport through the whole service: IPv6, and SRTP with another SIP stack.
 */

t.test('media over IPv6', async (t) => {
  const service = await openService(t, { env: { PARLEY_RTP_ADDRESS: '::1' } })
  const caller = await call(t, service, { rtp: { address: '::1' } })
  await caller.answered()
  t.equal(caller.remote.address, '::1')
  await caller.until('the greeting', () => caller.rtp.loud().length > 20)
  await caller.until('packets the other way', () => caller.rtp.sent.length > 25)
  const callId = await caller.callId()
  await caller.hangUp()
  await service.ended(callId)
  const [ended] = service.of(callId, 'ended')
  t.match(ended?.rtp, { lost: 0, refused: 0 })
  t.ok((ended?.rtp?.packetsReceived ?? 0) > 20)
  const elsewhere = await call(t, service)
  await t.rejects(elsewhere.answered(), { message: /488/ }, 'IPv4 media cannot be served then')
})

const skip = baresipInstalled ? false : 'baresip is not installed (Debian: baresip-core)'

t.test('SRTP over TLS, keys through to the media worker', { skip }, async (t) => {
  const authority = makeAuthority(t)
  const { certificateFile, keyFile } = authority.issue('IP:127.0.0.1')
  const service = await openService(t, {
    env: {
      PARLEY_SIP_LISTEN: 'udp:127.0.0.1:0,tls:127.0.0.1:0',
      PARLEY_SIP_TLS_CERT: certificateFile,
      PARLEY_SIP_TLS_KEY: keyFile,
    },
  })
  const folder = await mkdtemp(join(tmpdir(), 'parley-heard-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'says.wav')
  await writeFile(file, writeWav({ rate: 8000, channels: [tone(440, 20_000)] }))
  const port = service.parley.sip.find(({ transport }) => transport === 'tls')?.port ?? 0
  const phone = await startBaresip(t, {
    serverPort: port,
    authorities: authority.certificateFile,
    encryption: 'srtp-mand',
    speaks: { file, hearsInto: folder },
    commands: [`/dial sip:${service.number}@127.0.0.1:${port};transport=tls`],
  })
  await service.until('the answer', () => service.events.some(({ type }) => type === 'answered'))
  const callId = service.events.find(({ type }) => type === 'answered')?.callId ?? ''
  await service.until('the greeting', () => service.of(callId, 'turn').length > 0)
  phone.process.kill('SIGTERM')
  await service.ended(callId)
  const [ended] = service.of(callId, 'ended')
  t.match(ended?.rtp, { lost: 0 })
  t.ok((ended?.rtp?.packetsReceived ?? 0) > 20, `${ended?.rtp?.packetsReceived} genuine packets`)
  t.match(phone.output(), /SRTP is Enabled/)
})
