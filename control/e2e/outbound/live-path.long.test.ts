import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { seeded } from '../../../fixtures/host/random.js'
import { openRtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { addDesk } from '../../../fixtures/service/desk.js'
import { type Json, openService, type Service } from '../../../fixtures/service/service.js'
import {
  type Asterisk,
  findAsterisk,
  freeUdpPort,
  HOW_TO_GET_ASTERISK,
} from '../../../fixtures/sip/asterisk.js'
import {
  type CallRecord,
  callRecords,
  documented,
  documentedTrunk,
  placeFrom,
  startPbx,
} from '../../../fixtures/sip/asterisk-pbx.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { readSdp } from '../../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../../fixtures/sip/sip-dialog.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { silentLog } from '../../../media/base/log.js'
import { replayDecision } from '../../compliance/evidence/replay.js'
import { verifyBundle } from '../../compliance/evidence/verify-bundle.js'
import { openDatabase } from '../../db/database.js'

/*
 * The live path: one Asterisk is the carrier of some numbers and has the public network behind it, a second one is the
 * telephone system of the customer. Calls in and out, with random hang-ups, hold, re-INVITEs and transfers; at the end call
 * rows, charges, events and evidence agree with Asterisk's own records.
 */

/** Calls; `PARLEY_LIVE_CALLS=500` is the full run, with 100 numbers. */
const CALLS = Number(process.env.PARLEY_LIVE_CALLS ?? 40)
const NUMBER_COUNT = Number(process.env.PARLEY_LIVE_NUMBERS ?? Math.min(100, Math.ceil(CALLS / 4)))
const SEED = Number(process.env.PARLEY_LIVE_SEED ?? 1)
/** Calls at once. */
const LANES = 6
const FUNDS_PAISE = 10_000_000
const MORNING = Date.parse('2026-03-02T05:30:00Z')
/** Address of the carrier; the telephone system has 127.0.0.1. */
const CARRIER = '127.0.0.2'
const NUMBERS = Array.from(
  { length: NUMBER_COUNT },
  (_, i) => `+91117136${String(7_000 + i).padStart(4, '0')}`,
)
const DESK = '+919811112222'
/** Looks for the row of a call from outside, and the time between two of them (ms). */
const LOOKS = 200
const LOOK_MS = 500
/** Packets (20 ms) after which a telephone is known to be bridged. */
const BRIDGED = 10
/** Both sides round to seconds, and hear of answer and end at different times. */
const TOLERANCE_S = 2

const KINDS = [
  'in',
  'person_hangs_up',
  'busy',
  'carrier_error',
  'originate',
  'we_hang_up',
  'transfer',
  'hold',
  'in_transfer',
] as const
type Kind = (typeof KINDS)[number]

interface Placed {
  readonly kind: Kind
  readonly id: string
  /** The telephone number of the other party, used once. */
  readonly person: string
}

const installed = findAsterisk()

/** The public network: the digit behind +919876 tells what becomes of a call. */
const NETWORK = `[from-parley]
exten => _+919876${KINDS.indexOf('person_hangs_up')}XXXXX,1,Answer()
 same => n,Set(PJSIP_MEDIA_OFFER(audio)=!all,ulaw)
 same => n,Set(PJSIP_SEND_SESSION_REFRESH()=invite)
 same => n,Wait(\${RAND(1,5)})
exten => _+919876${KINDS.indexOf('busy')}XXXXX,1,Busy(1)
exten => _+919876${KINDS.indexOf('carrier_error')}XXXXX,1,Congestion(1)
exten => _+919876${KINDS.indexOf('originate')}XXXXX,1,Answer()
 same => n,Wait(60)
exten => _+919876${KINDS.indexOf('we_hang_up')}XXXXX,1,Answer()
 same => n,Wait(60)
exten => _+919876${KINDS.indexOf('transfer')}XXXXX,1,Answer()
 same => n,Wait(60)
; A telephone that holds the call.
exten => _+919876${KINDS.indexOf('hold')}XXXXX,1,Dial(PJSIP/\${EXTEN}@phone)
; The person at the desk takes the call with the key 1.
exten => ${DESK},1,Answer()
 same => n,Wait(2)
 same => n,SendDTMF(1)
 same => n,Wait(4)
`

function carrierFiles(port: number, service: number, phone: number) {
  const pjsip = `[transport-udp]
type = transport
protocol = udp
bind = ${CARRIER}:${port}

[parley]
type = aor
contact = sip:127.0.0.1:${service}

[parley]
type = endpoint
transport = transport-udp
context = from-parley
disallow = all
allow = alaw,ulaw
direct_media = no
moh_passthrough = yes
aors = parley

[parley]
type = identify
endpoint = parley
match = 127.0.0.1

[phone]
type = aor
contact = sip:127.0.0.1:${phone}

[phone]
type = endpoint
transport = transport-udp
context = nobody
disallow = all
allow = alaw
direct_media = no
aors = phone
`
  return { pjsip, extensions: NETWORK }
}

function pbxFiles(port: number, service: number) {
  const pjsip = documented('pjsip.conf: an extension calls an agent')
    .replaceAll('203.0.113.10:5060', `127.0.0.1:${service}`)
    .replaceAll('0.0.0.0:5060', `127.0.0.1:${port}`)
  return { pjsip, extensions: '[from-parley]\n' }
}

interface Rig {
  readonly service: Service
  readonly carrier: Asterisk
  readonly pbx: Asterisk
  readonly numberIds: readonly string[]
  /** Calls that reached the telephone, by number. */
  readonly ringing: ReadonlyMap<string, SipDialog>
  live(method: string, path: string, body?: Json, headers?: Json): Promise<Json>
  /** Returns all items of a list. */
  list(path: string): Promise<readonly Json[]>
}

async function openRig(t: Test): Promise<Rig> {
  if (installed === null) throw new Error(HOW_TO_GET_ASTERISK)
  const folder = await mkdtemp(join(tmpdir(), 'parley-live-path-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const port = await freeUdpPort()
  const ringing = new Map<string, SipDialog>()
  const phone = await openSipPeer({
    onInvite: (dialog) => {
      const [, number = ''] = /^sip:([^@]+)@/.exec(dialog.invite?.uri ?? '') ?? []
      ringing.set(number, dialog)
    },
  })
  t.teardown(() => phone.close())
  const carrier = await startPbx(installed, (own) => carrierFiles(own, port, phone.port))
  t.teardown(() => carrier.close())
  const pbx = await startPbx(installed, (own) => pbxFiles(own, port))
  t.teardown(() => pbx.close())
  const wide = { maxConcurrent: 30, callsPerMinute: 1_000 }
  const trunks = [
    {
      ...wide,
      name: 'carrier',
      gateway: { host: CARRIER, port: carrier.sipPort },
      inbound: { auth: 'ip_acl', addresses: [CARRIER] },
      numbers: NUMBERS.map((e164) => ({ e164 })),
    },
    { ...documentedTrunk('office'), ...wide },
  ]
  const file = join(folder, 'trunks.json')
  await writeFile(file, JSON.stringify({ trunks }))
  const databaseUrl = `sqlite:${join(folder, 'parley.db')}`
  const clock = movedClock(MORNING)
  const service = await openService(t, {
    clock,
    agent: { ...LIVE_MODELS, callSettings: { nudges: { enabled: false }, maxCallSeconds: 300 } },
    fundsPaise: FUNDS_PAISE,
    live: { callerIds: NUMBERS, purpose: 'collections' },
    env: {
      ...LIVE_MODELS_ENV,
      PARLEY_DATABASE_URL: databaseUrl,
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_TRUNKS_FILE: file,
      PARLEY_SIP_LISTEN: `udp:127.0.0.1:${port}`,
      OFFICE_PASSWORD: 'change-me',
    },
  })
  const live: Rig['live'] = async (method, path, body, headers = {}) => {
    const all = { authorization: `Bearer ${service.keys.live}`, ...headers }
    let answer = await service.send(method, path, body, all)
    // Many numbers need more requests than the limit of a minute.
    while (answer.status === 429) {
      await new Promise((resolve) =>
        setTimeout(resolve, 1_000 * Number(answer.headers.get('retry-after') ?? 1)),
      )
      answer = await service.send(method, path, body, all)
    }
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const list: Rig['list'] = async (path) => {
    const items: Json[] = []
    for (let query = ''; ; ) {
      const { data, meta } = await live('GET', `${path}?limit=100${query}`)
      items.push(...(data as Json[]))
      const { cursor } = (meta as { readonly pagination: { readonly cursor: string | null } }).pagination
      if (cursor === null) return items
      query = `&cursor=${cursor}`
    }
  }
  const agentId = await addDesk({ service, live }, { databaseUrl, e164: DESK, at: clock.wall() })
  const numbers = await list('/v1/numbers')
  const numberIds = NUMBERS.map((e164) => String(numbers.find((number) => number.e164 === e164)?.id))
  for (const id of numberIds) await live('PATCH', `/v1/numbers/${id}`, { agentId })
  const database = openDatabase(databaseUrl, silentLog)
  // Staff allows origination.
  await database.db
    .updateTable('sipTrunks')
    .set({ allowOrigination: 1 })
    .where('name', '=', 'office')
    .execute()
  await database.close()
  return { service, carrier, pbx, numberIds, ringing, live, list }
}

const isInbound = (kind: Kind): boolean => kind === 'in' || kind === 'in_transfer'
const isAnswered = (kind: Kind): boolean => kind !== 'busy' && kind !== 'carrier_error'
const isTransferred = (kind: Kind): boolean => kind === 'transfer' || kind === 'in_transfer'

/** Plays one call to its end and returns what was placed. */
async function play(rig: Rig, kind: Kind, index: number, seconds: number): Promise<Placed> {
  const { service, carrier, pbx, numberIds, live } = rig
  const person = `+919876${KINDS.indexOf(kind)}${String(index).padStart(5, '0')}`
  const number = NUMBERS[index % NUMBERS.length] ?? ''
  const isOver = (id: string) => service.of(id, 'ended').length > 0
  const transfer = async (id: string): Promise<void> => {
    await service.until('the greeting', () => service.of(id, 'turn').length > 0 || isOver(id))
    await live('POST', `/v1/calls/${id}/transfer`, {})
  }
  /** The call of this other party, once it has a row; a call from outside has no id before. */
  const found = async (from: Asterisk): Promise<string> => {
    for (let looks = 0; looks < LOOKS; looks++) {
      const [call] = (await live('GET', `/v1/calls?search=${person.slice(1)}`)).data as Json[]
      if (call !== undefined) return String(call.id)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
    const seen = JSON.stringify(callRecords(from).slice(-LANES))
    throw new Error(`${kind} ${index} has no call; the last ones of Asterisk: ${seen}`)
  }
  if (kind === 'in' || kind === 'in_transfer' || kind === 'originate') {
    const from = kind === 'originate' ? number : person
    const channel = `PJSIP/${kind === 'originate' ? person : number}@parley`
    // A transferred call ends when the person at the desk hangs up.
    const wait = kind === 'in_transfer' ? 60 : seconds
    const asterisk = kind === 'originate' ? pbx : carrier
    await placeFrom(asterisk, {
      id: `${kind}-${index}`,
      channel,
      from,
      seconds: wait,
    })
    const id = await found(asterisk)
    if (kind === 'in_transfer') await transfer(id)
    await service.until(`the end of ${kind} ${index}`, () => isOver(id))
    return { kind, id, person }
  }
  const placed = await live(
    'POST',
    '/v1/calls',
    { to: person, numberId: numberIds[index % NUMBERS.length] },
    { 'idempotency-key': person },
  )
  const id = String((placed.data as Json).id)
  const answered = () => service.of(id, 'answered').length > 0
  if (kind === 'we_hang_up') {
    await service.until('the answer', () => answered() || isOver(id))
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
    await live('POST', `/v1/calls/${id}/hangup`, {})
  }
  if (kind === 'transfer') await transfer(id)
  if (kind === 'hold') await answerAndHold(rig, id, person, seconds)
  await service.until(`the end of ${kind} ${index}`, () => isOver(id))
  return { kind, id, person }
}

/** Answers at the telephone, holds the call, resumes it, and hangs up. */
async function answerAndHold(
  { service, ringing }: Rig,
  id: string,
  person: string,
  seconds: number,
): Promise<void> {
  const isOver = () => service.of(id, 'ended').length > 0
  await service.until('the telephone rings', () => ringing.has(person) || isOver())
  const dialog = ringing.get(person)
  if (dialog === undefined) return
  const rtp = await openRtpPeer({ codec: 'PCMA' })
  try {
    dialog.answer(offerOf(rtp))
    rtp.start(readSdp(dialog.remoteSdp ?? ''))
    await service.until('the answer', () => service.of(id, 'answered').length > 0 || isOver())
    // Asterisk passes a hold on once it has bridged the call.
    await service.until('media of the bridge', () => rtp.audio().length > BRIDGED || isOver())
    const held = (on: boolean) => () => service.of(id, 'held').some((event) => event.on === on) || isOver()
    dialog.reinvite(offerOf(rtp).replace('a=sendrecv', 'a=sendonly'))
    const status = await dialog.final()
    if (status !== 200 && !isOver()) throw new Error(`hold of ${person} was refused with ${status}`)
    await service.until('hold', held(true))
    await new Promise((resolve) => setTimeout(resolve, seconds * 500))
    dialog.reinvite(offerOf(rtp))
    await service.until('resume', held(false))
    dialog.bye()
    await service.until('the end', isOver)
  } finally {
    await rtp.close()
  }
}

/** Plays all calls, several at once. */
async function playAll(rig: Rig): Promise<readonly Placed[]> {
  const random = seeded(SEED)
  const plan = Array.from({ length: CALLS }, (_, index) => ({
    index,
    kind: KINDS[index % KINDS.length] ?? 'in',
    seconds: 1 + Math.floor(random.next() * 5),
  }))
  const placed: Placed[] = []
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let next = plan.shift(); next !== undefined; next = plan.shift()) {
        placed.push(await play(rig, next.kind, next.index, next.seconds))
      }
    }),
  )
  return placed
}

/** Returns whether a carrier's record and a call or its sealed outcome have the same length. */
const agrees = ({ answeredSeconds }: CallRecord, { durationSeconds }: Json): boolean =>
  Math.abs(answeredSeconds - Number(durationSeconds)) <= TOLERANCE_S

/** Reads again until the value is whole, and returns the last one after the limit. */
async function eventually<T>(read: () => Promise<T>, isWhole: (value: T) => boolean): Promise<T> {
  const until = performance.now() + 2 * WAIT_LIMIT_MS
  for (;;) {
    const value = await read()
    if (isWhole(value) || performance.now() > until) return value
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

const options = { skip: installed === null ? HOW_TO_GET_ASTERISK : false, timeout: 60_000 + CALLS * 5_000 }

t.test(`${CALLS} live calls agree with the records of two Asterisks`, options, async (t) => {
  const rig = await openRig(t)
  const { service, carrier, pbx, live, list } = rig
  const placed = await playAll(rig)
  const call = async (id: string): Promise<Json> => (await live('GET', `/v1/calls/${id}`)).data as Json
  const rows = new Map<string, Json>()
  for (const { id } of placed) {
    let row = await call(id)
    for (let i = 0; i < 500 && row.status !== 'ended'; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      row = await call(id)
    }
    rows.set(id, row)
  }
  const originated = placed.filter(({ kind }) => kind === 'originate').length
  // A transferred call has a second channel at the carrier: that of the desk.
  const channels = placed.length + placed.filter(({ kind }) => isTransferred(kind)).length
  await service.until(
    'the records of all calls',
    () => callRecords(carrier).length >= channels && callRecords(pbx).length >= originated,
  )
  const seen = callRecords(carrier)
  /** The carrier's record of each call, by its id. */
  const records = new Map(
    placed.map(({ id, person }) => [
      id,
      seen.filter(({ source, destination }) => source === person || destination === person),
    ]),
  )

  await t.test('each call as Asterisk saw it', async (t) => {
    t.equal(seen.length, channels, 'no channel besides those of the calls')
    t.equal(seen.filter(({ destination }) => destination === DESK).length, channels - placed.length)
    t.equal(callRecords(pbx).length, originated)
    for (const { kind, id, person } of placed) {
      const row = rows.get(id) ?? {}
      const name = `${kind} ${person}`
      const [record, ...more] = records.get(id) ?? []
      t.same(more, [], `${name} has one record`)
      if (record === undefined) throw new Error(`${name} has no record`)
      const [side, direction] = isInbound(kind)
        ? (['source', 'inbound'] as const)
        : (['destination', 'outbound'] as const)
      t.equal(record[side], person, name)
      t.match(row, { direction, [isInbound(kind) ? 'from' : 'to']: person }, name)
      t.equal(row.disposition, isAnswered(kind) ? 'answered' : kind === 'busy' ? 'busy' : 'failed', name)
      t.equal(row.answeredAt !== null, isAnswered(kind), name)
      t.equal(record.disposition === 'ANSWERED', isAnswered(kind), `${name}: ${record.disposition}`)
      t.ok(agrees(record, row), `${name}: ${record.answeredSeconds} s and ${row.durationSeconds} s`)
      if (isTransferred(kind))
        t.match(row, { transfer: { outcome: 'connected' }, endedReason: 'transfer_completed' }, name)
    }
  })

  await t.test(
    'money: charges follow the seconds, the wallet and its ledger follow the charges',
    async (t) => {
      let billed = 0
      const entries = (await list('/v1/wallet/ledger')).filter(({ type }) => type === 'call')
      for (const [id, row] of rows) {
        const charged = (row.charges as Json[]).reduce((total, { seconds }) => total + Number(seconds), 0)
        t.equal(charged, row.durationSeconds, `${id}: every second is charged once`)
        const posted = entries.filter(({ reference }) => (reference as Json).id === id)
        t.same(
          posted.map(({ amountPaise }) => Number(amountPaise)).toSorted((a, b) => a - b),
          (row.charges as Json[])
            .map(({ amountPaise }) => 0 - Number(amountPaise))
            .filter((amount) => amount !== 0)
            .toSorted((a, b) => a - b),
          `${id}: one entry of the ledger for each charge`,
        )
        for (const charge of row.charges as Json[]) {
          const { seconds, ratePaisePerMinute, amountPaise } = charge as Record<string, number>
          t.equal(amountPaise, Math.ceil(((ratePaisePerMinute ?? 0) * (seconds ?? 0)) / 60), id)
        }
        const sum = (row.charges as Json[]).reduce((total, charge) => total + Number(charge.amountPaise), 0)
        t.equal(row.billedPaise, sum, id)
        if (row.disposition !== 'answered') t.equal(sum, 0)
        billed += sum
      }
      t.ok(billed > 0)
      t.same(
        [...new Set(entries.map(({ reference }) => (reference as Json).id))].filter(
          (id) => !rows.has(String(id)),
        ),
        [],
      )
      t.match((await live('GET', '/v1/wallet')).data, { balancePaise: FUNDS_PAISE - billed, heldPaise: 0 })
    },
  )

  await t.test('events: each call begins and ends once', async (t) => {
    for (const { id, kind } of placed) {
      const types = service.events.filter(({ callId }) => callId === id).map(({ type }) => type)
      t.equal(types.filter((type) => type === 'ended').length, 1, kind)
      t.equal(types.at(-1), 'ended', kind)
      if (kind === 'hold') {
        t.same(
          service.of(id, 'held').map(({ on }) => on),
          [true, false],
          'held and resumed once',
        )
      }
    }
  })

  await t.test('events of the API: those of each call, and no others', async (t) => {
    const of = (events: readonly Json[], id: string) =>
      events.filter(({ subjectId }) => subjectId === id).map(({ type }) => String(type))
    const isWhole = (events: readonly Json[]) =>
      placed.every(({ id }) => of(events, id).includes('call.completed'))
    const events = await eventually(() => list('/v1/events'), isWhole)
    for (const { kind, id, person } of placed) {
      const expected = [
        'call.initiated',
        ...(isAnswered(kind) ? ['call.answered'] : ['call.failed']),
        ...(isTransferred(kind) ? ['call.transfer_started', 'call.transferred'] : []),
        'call.completed',
      ]
      t.same(of(events, id).toSorted(), expected.toSorted(), `${kind} ${person}`)
      t.equal(of(events, id).at(-1), 'call.initiated', 'the first')
    }
    const known = new Set(placed.map(({ id }) => id))
    t.same(
      events.filter(({ subjectType, subjectId }) => subjectType === 'call' && !known.has(String(subjectId))),
      [],
    )
  })

  await t.test('evidence: a verified record for every dial, and the outcome that Asterisk saw', async (t) => {
    const sealed = (lines: readonly string[]) =>
      lines.flatMap((line) => {
        const { record } = JSON.parse(line)
        return typeof record === 'string' ? [JSON.parse(record) as Json] : []
      })
    const outcomes = (lines: readonly string[]) => sealed(lines).filter(({ kind }) => kind === 'outcome')
    const lines = await eventually(
      async () => {
        const bundle = await fetch(`${service.parley.httpUrl}/v1/compliance/evidence/export`, {
          headers: { authorization: `Bearer ${service.keys.live}` },
        })
        return (await bundle.text()).trimEnd().split('\n')
      },
      (bundle) => outcomes(bundle).length >= placed.length,
    )
    t.equal(outcomes(lines).length, placed.length, 'one for each call')
    for (const { kind, id, person } of placed) {
      const name = `${kind} ${person}`
      const { disposition, durationSeconds, direction } = rows.get(id) ?? {}
      const [outcome, ...more] = outcomes(lines).filter(({ callId }) => callId === id)
      t.same(more, [], name)
      t.match(outcome, { direction, outcome: { disposition, durationSeconds } }, name)
      t.equal((outcome?.outcome as Json | undefined)?.answeredAt !== null, isAnswered(kind), name)
      const [record] = records.get(id) ?? []
      t.ok(record && outcome && agrees(record, outcome.outcome as Json), name)
    }
    const report = await verifyBundle(Readable.from(lines), replayDecision)
    t.same(report.problems, [])
    const dials = placed.filter(({ kind }) => !isInbound(kind)).length
    t.ok(report.decisions.same >= dials, `${report.decisions.same} decisions of ${dials} dials`)
    t.equal(report.decisions.notReplayed, 0)
  })
})
