import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tone, toneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { openRtpPeer, type RtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { type Json, openService, type Service } from '../../../fixtures/service/service.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { readSdp } from '../../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../../fixtures/sip/sip-dialog.js'
import { cseqOf, header } from '../../../fixtures/sip/sip-message.js'
import { openSipPeer, type SipPeer } from '../../../fixtures/sip/sip-peer.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'

/* Calls that a telephone system asks the service to place: real SIP and RTP on both legs. */

const NUMBER = '+911171366910'
const PERSON = '+919876543210'
const OTHER = '+919876543211'
/** 11:00 in India: live calls are allowed. */
const MORNING = Date.parse('2026-03-02T05:30:00Z')
/** Address of the carrier; the telephone system has 127.0.0.1. */
const CARRIER = '127.0.0.2'
/** Tones of the carrier before the answer, of the telephone system, and of the person (Hz). */
const ANNOUNCEMENT = 440
const PBX = 700
const VOICE = 1_150
/** Packets (20 ms) that count as heard. */
const HEARD = 15

interface Rig {
  readonly service: Service
  readonly pbx: SipPeer
  /** Calls that reached the carrier. */
  readonly outside: SipDialog[]
  /** Places a call from the telephone system. */
  invite(sdp: string | null): SipDialog
  telephone(hz: number): Promise<RtpPeer>
  live(path: string): Promise<Json>
}

async function openRig(t: Test): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-origination-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const outside: SipDialog[] = []
  const carrier = await openSipPeer({ address: CARRIER, onInvite: (dialog) => outside.push(dialog) })
  t.teardown(() => carrier.close())
  const pbx = await openSipPeer({
    onRequest(request, from, self) {
      if (request.method !== 'NOTIFY') return false
      self.respond(request, from, 200, 'OK')
      return true
    },
  })
  t.teardown(() => pbx.close())
  const trunks = [
    {
      name: 'pbx',
      gateway: { host: '127.0.0.1', port: pbx.port },
      inbound: { auth: 'ip_acl', addresses: ['127.0.0.1'] },
    },
    {
      name: 'carrier',
      gateway: { host: CARRIER, port: carrier.port },
      inbound: { auth: 'ip_acl', addresses: [CARRIER] },
      numbers: [{ e164: NUMBER }],
    },
  ]
  const file = join(folder, 'trunks.json')
  await writeFile(file, JSON.stringify({ trunks }))
  const databaseUrl = `sqlite:${join(folder, 'parley.db')}`
  const service = await openService(t, {
    clock: movedClock(MORNING),
    fundsPaise: 100_000,
    live: { callerIds: [NUMBER], purpose: 'service' },
    env: { PARLEY_DATABASE_URL: databaseUrl, PARLEY_TRUNKS_FILE: file },
  })
  const headers = { authorization: `Bearer ${service.keys.live}` }
  const numbers = (await service.send('GET', '/v1/numbers', undefined, headers)).body.data as Json[]
  await service.send('PATCH', `/v1/numbers/${numbers[0]?.id}`, { recordCalls: true }, headers)
  const database = openDatabase(databaseUrl, silentLog)
  // Staff allows origination.
  await database.db.updateTable('sipTrunks').set({ allowOrigination: 1 }).where('name', '=', 'pbx').execute()
  await database.close()
  const target = service.target('udp')
  return {
    service,
    pbx,
    outside,
    invite: (sdp) =>
      pbx.invite({
        uri: `sip:${PERSON}@${target.address}:${target.port}`,
        target,
        from: `sip:${NUMBER}@pbx.example`,
        sdp,
      }),
    async telephone(hz) {
      const rtp = await openRtpPeer({ codec: 'PCMA', background: tone(hz, 1_000) })
      t.teardown(() => rtp.close())
      return rtp
    },
    live: async (path) => (await service.send('GET', path, undefined, headers)).body.data as Json,
  }
}

/** Responses to the INVITE of a call, in order, without repetitions and 100. */
const responses = (pbx: SipPeer, { callId }: SipDialog): number[] => [
  ...new Set(
    pbx.log.flatMap(({ direction, message }) =>
      direction === 'in' &&
      message.status !== null &&
      message.status > 100 &&
      cseqOf(message).method === 'INVITE' &&
      header(message, 'call-id') === callId
        ? [message.status]
        : [],
    ),
  ),
]

t.test('a telephone system places calls', { timeout: 120_000 }, async (t) => {
  const rig = await openRig(t)
  const { service, pbx, outside } = rig
  const callIds = () => [...new Set(service.events.map(({ callId }) => callId))]
  const next = async () => {
    const known = outside.length
    return async () => {
      await service.until('the call at the carrier', () => outside.length > known)
      return outside[known] as SipDialog
    }
  }

  await t.test('early media both ways, the answer, and a recording that begins with it', async (t) => {
    const called = await next()
    const own = await rig.telephone(PBX)
    const dialog = rig.invite(offerOf(own))
    const person = await called()
    const announcement = await rig.telephone(ANNOUNCEMENT)
    person.ring()
    await pbx.until(() => responses(pbx, dialog).includes(180), 20_000, '180')
    person.ring(offerOf(announcement))
    announcement.start(readSdp(person.remoteSdp ?? ''))
    await pbx.until(() => dialog.remoteSdp, 20_000, 'a description before the answer')
    const early = dialog.remoteSdp ?? ''
    own.start(readSdp(early))
    await service.until('the announcement', () => own.holding(ANNOUNCEMENT).length > HEARD)
    await service.until('what is said before the answer', () => announcement.holding(PBX).length > HEARD)
    const id = callIds().at(-1) ?? ''
    t.equal(service.of(id, 'answered').length, 0, 'which is no answer')
    t.same(responses(pbx, dialog), [180, 183])

    const voice = await rig.telephone(VOICE)
    person.answer(offerOf(voice))
    t.equal(await dialog.final(), 200)
    t.equal(dialog.remoteSdp, early, 'the 200 repeats the answer')
    voice.start(readSdp(person.remoteSdp ?? ''))
    announcement.pause()
    await service.until('the person', () => own.holding(VOICE).length > HEARD)
    await service.until('the telephone system', () => voice.holding(PBX).length > HEARD)
    dialog.bye()
    await service.until('the end', () => service.of(id, 'ended').length > 0)
    await person.ended()
    t.equal(service.of(id, 'answered').length, 1)
    const [ended] = service.of(id, 'ended')
    const { channels } = readWav(new Uint8Array(await readFile(ended?.recording?.path ?? '')))
    const loudest = (hz: number) => Math.max(...channels.map((pcm) => toneLevel(pcm, hz)))
    t.ok(loudest(VOICE) > 10 * loudest(ANNOUNCEMENT), `${loudest(VOICE)} and ${loudest(ANNOUNCEMENT)}`)
  })

  await t.test('early media before a refusal', async (t) => {
    const called = await next()
    const own = await rig.telephone(PBX)
    const dialog = rig.invite(offerOf(own))
    const person = await called()
    const announcement = await rig.telephone(ANNOUNCEMENT)
    person.ring(offerOf(announcement))
    announcement.start(readSdp(person.remoteSdp ?? ''))
    await pbx.until(() => dialog.remoteSdp, 20_000, 'a description before the answer')
    own.start(readSdp(dialog.remoteSdp ?? ''))
    await service.until('the announcement', () => own.holding(ANNOUNCEMENT).length > HEARD)
    person.reject(486, 'Busy Here')
    t.equal(await dialog.final(), 486)
    t.same(responses(pbx, dialog), [183, 486])
    const id = callIds().at(-1) ?? ''
    await service.until('the end', () => service.of(id, 'ended').length > 0)
    t.match(service.of(id, 'ended'), [{ ending: { cause: 'busy' }, recording: null }])
    t.equal(service.of(id, 'answered').length, 0)
  })

  await t.test('the status of the carrier reaches the telephone system, with its Reason', async (t) => {
    for (const [status, Reason, passed, told] of [
      [404, 'Q.850;cause=1', 404, 'Q.850;cause=1, SIP;cause=404'],
      [503, null, 503, 'SIP;cause=503'],
      [606, null, 606, 'SIP;cause=606'],
      [420, null, 500, 'SIP;cause=420'],
    ] as const) {
      const called = await next()
      const known = callIds().length
      const dialog = rig.invite(offerOf(await rig.telephone(PBX)))
      const person = await called()
      person.reject(status, 'As said', Reason === null ? [] : [['Reason', Reason]])
      t.equal(await dialog.final(), passed)
      const refusal = pbx.log.find(
        ({ message }) => message.status === passed && header(message, 'call-id') === dialog.callId,
      )
      t.equal(refusal && header(refusal.message, 'reason'), told)
      t.equal(refusal && header(refusal.message, 'retry-after'), '', 'another call may succeed at once')
      const id = () => callIds()[known] ?? ''
      await service.until('the end', () => service.of(id(), 'ended').length > 0)
      t.match(service.of(id(), 'ended'), [{ ending: { cause: 'carrier_error', sip: status } }])
    }
  })

  await t.test('a caller that gives up during early media', async (t) => {
    const called = await next()
    const own = await rig.telephone(PBX)
    const dialog = rig.invite(offerOf(own))
    const person = await called()
    const announcement = await rig.telephone(ANNOUNCEMENT)
    person.ring(offerOf(announcement))
    await pbx.until(() => dialog.remoteSdp, 20_000, 'a description before the answer')
    dialog.cancel()
    t.equal(await dialog.final(), 487)
    await person.ended()
    const id = callIds().at(-1) ?? ''
    await service.until('the end', () => service.of(id, 'ended').length > 0)
    t.match(service.of(id, 'ended'), [{ ending: { cause: 'caller_hangup' } }])
  })

  await t.test('a late offer: no early media, the offer is in the 200; a REFER is refused', async (t) => {
    const known = outside.length
    const called = await next()
    const own = await rig.telephone(PBX)
    const dialog = rig.invite(null)
    dialog.ackSdp = offerOf(own)
    const person = await called()
    const voice = await rig.telephone(VOICE)
    person.ring(offerOf(voice))
    await pbx.until(() => responses(pbx, dialog).includes(180), 20_000, '180 instead of 183')
    person.answer(offerOf(voice))
    t.equal(await dialog.final(), 200)
    own.start(readSdp(dialog.remoteSdp ?? ''))
    voice.start(readSdp(person.remoteSdp ?? ''))
    await service.until('the person', () => own.holding(VOICE).length > HEARD)
    await service.until('the telephone system', () => voice.holding(PBX).length > HEARD)
    t.same(responses(pbx, dialog), [180, 200])

    // Both parties stay with the telephone system, which can connect them itself.
    dialog.request('REFER', [['Refer-To', `<sip:${OTHER}@pbx.example>`]])
    const told = () =>
      pbx.log.flatMap(({ direction, message }) =>
        direction === 'in' && message.method === 'NOTIFY'
          ? [/^SIP\/2\.0 (\d+)/.exec(message.body)?.[1] ?? '']
          : [],
      )
    await pbx.until(() => told().includes('603'), 20_000, 'the refusal of the REFER')
    const before = own.holding(VOICE).length
    await service.until('the person after it', () => own.holding(VOICE).length > before + HEARD)
    t.equal(outside.length, known + 1, 'nobody else was called')
    person.bye()
    await dialog.ended()
  })
})
