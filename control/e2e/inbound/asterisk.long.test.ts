import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { tone } from '../../../fixtures/audio/tones.js'
import { REQUEST_MS, WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { openRtpPeer, type RtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { addDesk } from '../../../fixtures/service/desk.js'
import { type Json, openService, type Service } from '../../../fixtures/service/service.js'
import {
  type Asterisk,
  findAsterisk,
  freeUdpPort,
  HOW_TO_GET_ASTERISK,
} from '../../../fixtures/sip/asterisk.js'
import { documented, documentedTrunk, startPbx } from '../../../fixtures/sip/asterisk-pbx.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { readSdp } from '../../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../../fixtures/sip/sip-dialog.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { silentLog } from '../../../media/base/log.js'
import { headerOf } from '../../../signalling/trace/sip-trace.js'
import type { TracedMessage } from '../../../signalling/trace/trace-mask.js'
import { openDatabase } from '../../db/database.js'

/*
 * The service beside Asterisk, with the configurations of docs/sip-trunks.md: a telephone of the test talks to Asterisk,
 * and Asterisk to the service.
 */

const OFFICE = '+911171366900'
const LINE = '+911171366901'
const PROTECTED = '+911171366902'
/** Numbers of telephone systems that register. */
const BRANCH = '+911171366903'
const VAULT = '+911171366904'
const PERSON = '+919876543210'
/** Refers its caller to another number. */
const REFERS = '+919876543211'
/** Refers its caller to the desk. */
const REFERS_TO_DESK = '+919876543212'
const DESK = '+919811113333'
const PASSWORD = 'change-me'
/** 11:00 in India, a Monday: live calls are allowed. */
const MORNING = Date.parse('2026-03-02T05:30:00Z')
/** Asterisk's second address, that of a carrier. */
const CARRIER = '127.0.0.2'
/** Packets (20 ms) that count as speech. */
const SPEECH = 20
/** Tone that the network plays (Hz). */
const TONE = 440

/** Refreshes the session after 45 s, as the shortest interval allows. */
const TIMERS = 'timers = always\ntimers_sess_expires = 90\n'

const installed = findAsterisk()

interface Rig {
  readonly service: Service
  readonly pbx: Asterisk
  /** Calls an extension of Asterisk. */
  dial(extension: string): Promise<PhoneCall>
  /** Sends an INVITE to an extension of Asterisk. */
  ask(extension: string, rtp: RtpPeer): SipDialog
  /** Returns a wait for the next call that Asterisk sends on to the public network. */
  next(): () => Promise<SipDialog>
  telephone(): Promise<RtpPeer>
  live(method: string, path: string, body?: Json, headers?: Json): ReturnType<Service['send']>
}

interface PhoneCall {
  readonly dialog: SipDialog
  readonly rtp: RtpPeer
  /** Id of the call at the service. */
  readonly id: string
}

/** Returns pjsip.conf and extensions.conf: those of the guide, a telephone, and the public network behind a gateway. */
function configured(
  ports: { readonly asterisk: number; readonly service: number; readonly phone: number },
  keys: { readonly certificateFile: string; readonly keyFile: string; readonly authorities: string },
): { readonly pjsip: string; readonly extensions: string } {
  const telephone = `type = endpoint
transport = transport-udp
context = internal
disallow = all
allow = alaw
direct_media = no
callerid = <+919811000001>
`
  const pjsip = [
    documented('pjsip.conf: an extension calls an agent'),
    TIMERS,
    documented('pjsip.conf: Parley has an account').replace(
      'transport = transport-udp',
      'transport = transport-carrier',
    ),
    documented('pjsip.conf: protected'),
    documented('pjsip.conf: Asterisk registers at Parley'),
    documented('pjsip.conf: Asterisk registers over TLS'),
    `[transport-carrier]\ntype = transport\nprotocol = udp\nbind = ${CARRIER}:${ports.asterisk}\n`,
    `[phone]\n${telephone}`,
    `[gateway]\n${telephone}aors = gateway\n[gateway]\ntype = aor\ncontact = sip:127.0.0.1:${ports.phone}\n`,
  ]
    .join('\n')
    .replaceAll('203.0.113.10:5060', `127.0.0.1:${ports.service}`)
    .replaceAll('sip.parley.example:5061', `127.0.0.1:${ports.service}`)
    .replaceAll('0.0.0.0:5060', `127.0.0.1:${ports.asterisk}`)
    .replaceAll('0.0.0.0:5061', `127.0.0.1:${ports.asterisk}`)
    .replace('/etc/asterisk/keys/asterisk.pem', keys.certificateFile)
    .replace('/etc/asterisk/keys/asterisk.key', keys.keyFile)
    .replace('/etc/ssl/certs/ca-certificates.crt', keys.authorities)
  const extensions = `${documented('extensions.conf: 7 and a number reaches the agent of that number')}
; 5: over TLS. 6: the codec changes after the answer. 9: Parley is asked to place a call of its number.
exten => _9X.,1,Set(CALLERID(num)=${LINE})
 same => n,Dial(PJSIP/+\${EXTEN:1}@parley)
exten => _5X.,1,Dial(PJSIP/\${EXTEN:1}@parley-tls)
exten => _6X.,1,Dial(PJSIP/\${EXTEN:1}@parley,,U(recode))
[recode]
exten => s,1,Set(PJSIP_MEDIA_OFFER(audio)=!all,ulaw)
 same => n,Set(PJSIP_SEND_SESSION_REFRESH()=invite)
 same => n,Return()
${documented('extensions.conf: 8 reaches the agent; Parley calls out')}
; Answers by itself and refers the caller to somebody else.
exten => ${REFERS},1,Answer()
 same => n,Wait(1)
 same => n,Transfer(PJSIP/sip:+919811112222@127.0.0.1)
 same => n,Set(GLOBAL(REFERRED)=\${TRANSFERSTATUS})
 same => n,Wait(60)
exten => ${REFERS_TO_DESK},1,Answer()
 same => n,Wait(1)
 same => n,Transfer(PJSIP/sip:${DESK}@127.0.0.1)
 same => n,Set(GLOBAL(TO_DESK)=\${TRANSFERSTATUS})
 same => n,Wait(60)
`
  return { pjsip, extensions }
}

async function openRig(t: Test): Promise<Rig> {
  if (installed === null) throw new Error(HOW_TO_GET_ASTERISK)
  const folder = await mkdtemp(join(tmpdir(), 'parley-asterisk-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const authority = makeAuthority(t)
  const own = authority.issue('IP:127.0.0.1')
  const theirs = authority.issue('IP:127.0.0.1')
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const outside: SipDialog[] = []
  const phone = await openSipPeer({
    onInvite: (dialog) => outside.push(dialog),
    onRequest(request, from, self) {
      if (request.method !== 'OPTIONS') return false
      self.respond(request, from, 200, 'OK')
      return true
    },
  })
  t.teardown(() => phone.close())
  const port = await freeUdpPort()
  const pbx = await startPbx(installed, (asterisk) =>
    configured(
      { asterisk, service: port, phone: phone.port },
      { ...theirs, authorities: authority.certificateFile },
    ),
  )
  t.teardown(() => pbx.close())
  const office = documentedTrunk('office')
  const line = documentedTrunk('line')
  const trunks = [
    { ...office, maxConcurrent: 10 },
    {
      ...line,
      inbound: { auth: 'ip_acl', addresses: [CARRIER] },
      gateway: { ...(line.gateway as Json), host: CARRIER, port: pbx.sipPort },
    },
    {
      name: 'protected',
      srtp: 'required',
      inbound: { ...(office.inbound as Json), username: 'protected' },
      numbers: [{ e164: PROTECTED }],
    },
    documentedTrunk('branch'),
    {
      name: 'vault',
      srtp: 'required',
      inbound: { ...(office.inbound as Json), username: 'vault' },
      numbers: [{ e164: VAULT }],
    },
  ]
  const file = join(folder, 'trunks.json')
  await writeFile(file, JSON.stringify({ trunks }))
  const databaseUrl = `sqlite:${join(folder, 'parley.db')}`
  const clock = movedClock(MORNING)
  const service = await openService(t, {
    clock,
    agent: { ...LIVE_MODELS, callSettings: { nudges: { enabled: false }, maxCallSeconds: 300 } },
    fundsPaise: 100_000,
    live: { callerIds: [LINE, BRANCH, VAULT], purpose: 'collections' },
    env: {
      ...LIVE_MODELS_ENV,
      PARLEY_DATABASE_URL: databaseUrl,
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_TRUNKS_FILE: file,
      PARLEY_SIP_LISTEN: `udp:127.0.0.1:${port},tls:127.0.0.1:${port}`,
      PARLEY_SIP_TLS_CERT: own.certificateFile,
      PARLEY_SIP_TLS_KEY: own.keyFile,
      PARLEY_SIP_TLS_CA: authority.certificateFile,
      OFFICE_PASSWORD: PASSWORD,
      LINE_PASSWORD: PASSWORD,
      BRANCH_PASSWORD: PASSWORD,
    },
  })
  const live: Rig['live'] = (method, path, body, headers = {}) =>
    service.send(method, path, body, { authorization: `Bearer ${service.keys.live}`, ...headers })
  const send = async (method: string, path: string, body?: Json): Promise<Json> =>
    (await live(method, path, body)).body
  const agentId = await addDesk({ service, live: send }, { databaseUrl, e164: DESK, at: clock.wall() })
  for (const number of (await live('GET', '/v1/numbers')).body.data as Json[]) {
    const { status } = await live('PATCH', `/v1/numbers/${number.id}`, { agentId })
    t.equal(status, 200)
  }
  const database = openDatabase(databaseUrl, silentLog)
  // Staff allows origination.
  await database.db
    .updateTable('sipTrunks')
    .set({ allowOrigination: 1 })
    .where('name', '=', 'office')
    .execute()
  await database.close()
  const dial: Rig['dial'] = async (extension) => {
    const known = service.events.length
    const rtp = await telephone()
    const dialog = ask(extension, rtp)
    const status = await dialog.final()
    if (status !== 200) throw new Error(`${extension} was refused with ${status}`)
    rtp.start(readSdp(dialog.remoteSdp ?? ''))
    await service.until('the answer', () => service.events.slice(known).some(isAnswer))
    const id = service.events.slice(known).find(isAnswer)?.callId
    return { dialog, rtp, id: String(id) }
  }
  const telephone = async () => {
    const rtp = await openRtpPeer({ codec: 'PCMA' })
    t.teardown(() => rtp.close())
    return rtp
  }
  const ask = (extension: string, rtp: RtpPeer) =>
    phone.invite({
      uri: `sip:${extension}@127.0.0.1:${pbx.sipPort}`,
      target: { address: '127.0.0.1', port: pbx.sipPort },
      from: 'sip:phone@127.0.0.1',
      sdp: offerOf(rtp),
    })
  const next = () => {
    const known = outside.length
    return async () => {
      await service.until('the call of the person', () => outside.length > known)
      return outside[known] as SipDialog
    }
  }
  return { service, pbx, dial, ask, next, telephone, live }
}

const isAnswer = ({ type }: { readonly type: string }): boolean => type === 'answered'

/** The SIP messages of a call, once a message of this kind is among them. */
async function traced(service: Service, callId: string, line: RegExp, times = 1): Promise<TracedMessage[]> {
  const path = join(service.dataFolder, 'traces', `${callId}.json`)
  let messages: TracedMessage[] = []
  await service.until(
    `${times} of ${line}`,
    () => {
      if (!existsSync(path)) return false
      messages = JSON.parse(readFileSync(path, 'utf8')).messages
      return messages.filter(({ startLine }) => line.test(startLine)).length >= times
    },
    90_000,
  )
  return messages
}

/** The record of a live call once it is ended. */
async function ended({ service, live }: Rig, id: string): Promise<Json> {
  let call: Json = {}
  await service.until(`the end of ${id}`, () => service.of(id, 'ended').length > 0)
  for (let i = 0; i * REQUEST_MS < WAIT_LIMIT_MS && call.status !== 'ended'; i++) {
    call = (await live('GET', `/v1/calls/${id}`)).body.data as Json
    await new Promise((resolve) => setTimeout(resolve, REQUEST_MS))
  }
  return call
}

/** Places a live call from a number, and returns its id. */
async function place({ live }: Rig, to: string, from = LINE): Promise<string> {
  const numbers = (await live('GET', '/v1/numbers')).body.data as Json[]
  const numberId = numbers.find(({ e164 }) => e164 === from)?.id
  const placed = await live('POST', '/v1/calls', { to, numberId }, { 'idempotency-key': `${from} ${to}` })
  if (placed.status !== 201) throw new Error(JSON.stringify(placed.body))
  return String((placed.body.data as Json).id)
}

t.test(
  'the service beside Asterisk',
  { skip: installed === null ? HOW_TO_GET_ASTERISK : false, timeout: 240_000 },
  async (t) => {
    const rig = await openRig(t)
    const { service, pbx, next, live } = rig

    // It lives until its session was refreshed, beside all others.
    const long = await rig.dial(`7${OFFICE.slice(1)}`)

    await t.test('digest: an extension talks with an agent, presses keys, holds and resumes', async (t) => {
      const { dialog, rtp, id } = await rig.dial(`7${OFFICE.slice(1)}`)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      rtp.press('1')
      await service.until('the key', () => service.of(id, 'dtmf').length === 1)
      // Asterisk repeats a key of which it has not seen all end packets when its bridge changes.
      const pressedAt = rtp.packetsSent
      await service.until('its end packets', () => rtp.packetsSent > pressedAt + SPEECH)
      dialog.reinvite(offerOf(rtp).replace('a=sendrecv', 'a=sendonly'))
      await service.until('hold', () => service.of(id, 'held').some(({ on }) => on))
      dialog.reinvite(offerOf(rtp))
      await service.until('resume', () => service.of(id, 'held').some(({ on }) => !on))
      rtp.press('2')
      const keys = () => service.of(id, 'dtmf').map(({ digit }) => digit)
      await service.until('the second key', () => keys().includes('2'))
      t.same(keys(), ['1', '2'], 'each once')
      dialog.bye()
      t.match(await ended(rig, id), { to: OFFICE, endedReason: 'caller_hangup' })
    })

    await t.test('the codec changes by re-INVITE', async (t) => {
      const { dialog, rtp, id } = await rig.dial(`6${OFFICE.slice(1)}`)
      const messages = await traced(service, id, /^INVITE/, 3)
      const answer = messages.findLast(
        ({ startLine, body }) => startLine.startsWith('SIP/2.0 200') && body !== '',
      )
      t.match(answer?.body, /^m=audio \d+ RTP\/AVP 0\b/m)
      const before = rtp.loud().length
      await service.until('speech in the new codec', () => rtp.loud().length > before + SPEECH)
      dialog.bye()
      await ended(rig, id)
    })

    await t.test('TLS and SRTP', async (t) => {
      const { dialog, rtp, id } = await rig.dial(`5${PROTECTED.slice(1)}`)
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      const [invite] = await traced(service, id, /^INVITE/)
      t.match(invite, { transport: 'tls', body: /RTP\/SAVP/ })
      dialog.bye()
      t.match(await ended(rig, id), { to: PROTECTED })
    })

    await t.test('the service registers at Asterisk, which calls it there', async (t) => {
      await service.until('the registration', () => pbx.command('pjsip show contacts').includes('line/sip:'))
      const { dialog, rtp, id } = await rig.dial('8')
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      dialog.bye()
      t.match(await ended(rig, id), { to: LINE, direction: 'inbound' })
    })

    await t.test('a call over Asterisk: early media, answer, hold of the person, hang-up', async (t) => {
      const called = next()
      const id = await place(rig, PERSON)
      const person = await called()
      const rtp = await rig.telephone()
      person.ring(offerOf(rtp))
      rtp.start(readSdp(person.remoteSdp ?? ''))
      await service.until('early media', () => service.of(id, 'ringing').some(({ sip }) => sip === 183))
      t.equal(service.of(id, 'answered').length, 0, 'which is no answer')
      person.answer(offerOf(rtp))
      await service.until('the greeting', () => rtp.loud().length > SPEECH)
      person.reinvite(offerOf(rtp).replace('a=sendrecv', 'a=sendonly'))
      await service.until('hold', () => service.of(id, 'held').some(({ on }) => on))
      person.reinvite(offerOf(rtp))
      await service.until('resume', () => service.of(id, 'held').some(({ on }) => !on))
      person.bye()
      t.match(await ended(rig, id), { to: PERSON, disposition: 'answered', direction: 'outbound' })
    })

    for (const { from, name, transport } of [
      { from: BRANCH, name: 'branch', transport: 'udp' },
      { from: VAULT, name: 'vault', transport: 'tls' },
    ]) {
      await t.test(`${transport}: Asterisk registers at the service, which calls it there`, async (t) => {
        const contacts = async () => {
          const trunks = (await live('GET', '/v1/sip-trunks')).body.data as Json[]
          return (trunks.find((trunk) => trunk.name === name)?.contacts ?? []) as Json[]
        }
        let found: Json[] = []
        for (let i = 0; i * REQUEST_MS < WAIT_LIMIT_MS && found.length === 0; i++) {
          found = await contacts()
          await new Promise((resolve) => setTimeout(resolve, REQUEST_MS))
        }
        t.match(found, [{ transport, address: '127.0.0.1', uri: /;line=/ }])
        t.match(pbx.command('pjsip show registrations'), new RegExp(`${name}-registration.*Registered`))
        const called = next()
        const id = await place(rig, PERSON, from)
        const person = await called()
        const rtp = await rig.telephone()
        person.answer(offerOf(rtp))
        rtp.start(readSdp(person.remoteSdp ?? ''))
        await service.until('the greeting', () => rtp.loud().length > SPEECH)
        const [invite] = await traced(service, id, /^INVITE/)
        t.match(invite, {
          transport,
          startLine: /^INVITE sip:\+\w+@[^ ]+;line=/,
          body: transport === 'tls' ? /RTP\/SAVP/ : /RTP\/AVP/,
        })
        person.bye()
        t.match(await ended(rig, id), { to: PERSON, disposition: 'answered', direction: 'outbound' })
      })
    }

    await t.test(
      'a REFER of Asterisk that no destination answers for is refused, and the call goes on',
      async (t) => {
        const id = await place(rig, REFERS)
        const referred = () => /REFERRED=(\w+)/.exec(pbx.command('dialplan show globals'))?.[1]
        await service.until('the verdict', () => referred() !== undefined)
        t.equal(referred(), 'FAILURE')
        const messages = await traced(service, id, /^NOTIFY/)
        t.match(
          messages.filter(({ startLine }) => startLine.startsWith('NOTIFY')).at(-1)?.body,
          /^SIP\/2\.0 [456]\d\d /,
        )
        t.equal(service.of(id, 'ended').length, 0)
        t.equal((await live('POST', `/v1/calls/${id}/hangup`, {})).status, 200)
        await ended(rig, id)
      },
    )

    await t.test('a REFER of Asterisk becomes a transfer to the desk, and succeeds', async (t) => {
      const called = next()
      const id = await place(rig, REFERS_TO_DESK)
      const desk = await called()
      const person = await rig.telephone()
      desk.ring()
      desk.answer(offerOf(person))
      person.start(readSdp(desk.remoteSdp ?? ''))
      await service.until('what the person is told', () => person.loud().length > SPEECH)
      person.press('1')
      const bridged = () => service.of(id, 'transfer').some(({ status }) => status === 'bridged')
      await service.until('the bridge', bridged)
      await service.until('the verdict', () => pbx.command('dialplan show globals').includes('TO_DESK='))
      t.match(pbx.command('dialplan show globals'), /TO_DESK=SUCCESS/)
      if (desk.state !== 'ended') desk.bye()
      t.match(await ended(rig, id), { transfer: { outcome: 'connected' } })
    })

    await t.test('Asterisk asks for a call: early media passes through, then the answer', async (t) => {
      const called = next()
      const own = await rig.telephone()
      const known = service.events.length
      const dialog = rig.ask('9919876543213', own)
      const person = await called()
      t.match(person.invite?.uri, /\+919876543213@/)
      const rtp = await openRtpPeer({ codec: 'PCMA', background: tone(TONE, 1_000) })
      t.teardown(() => rtp.close())
      person.ring(offerOf(rtp))
      rtp.start(readSdp(person.remoteSdp ?? ''))
      await service.until('a description before the answer', () => dialog.remoteSdp !== null)
      own.start(readSdp(dialog.remoteSdp ?? ''))
      await service.until('the announcement', () => own.holding(TONE).length > SPEECH)
      t.equal(dialog.status, null, 'which is no answer')
      person.answer(offerOf(rtp))
      t.equal(await dialog.final(), 200)
      const before = own.holding(TONE).length
      await service.until('the person', () => own.holding(TONE).length > before + SPEECH)
      dialog.bye()
      const id = String(service.events[known]?.callId)
      t.match(await ended(rig, id), { routingMode: 'byo_sip', disposition: 'answered', from: LINE })
    })

    await t.test('Asterisk refreshes the session of a long call', async (t) => {
      const messages = await traced(service, long.id, /^(?:INVITE|UPDATE)/, 3)
      const invite = messages[0]
      t.match(invite && headerOf(invite, 'session-expires', 'x'), /^90/)
      const refresh = messages.findLast(({ startLine }) => /^(?:INVITE|UPDATE)/.test(startLine))
      t.ok((refresh?.at ?? 0) - (invite?.at ?? 0) > 40_000)
      const before = long.rtp.packetsSent
      await service.until('packets after it', () => long.rtp.packetsSent > before + SPEECH)
      t.equal(service.of(long.id, 'ended').length, 0, 'the call goes on')
      long.dialog.bye()
      await ended(rig, long.id)
    })
  },
)
