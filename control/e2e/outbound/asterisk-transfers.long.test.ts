import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../../fixtures/api/live-models.js'
import { levelDbfs, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { REQUEST_MS, WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { movedClock } from '../../../fixtures/host/moved-clock.js'
import { type Json, openService, type Service } from '../../../fixtures/service/service.js'
import {
  type Asterisk,
  findAsterisk,
  freeUdpPort,
  HOW_TO_GET_ASTERISK,
} from '../../../fixtures/sip/asterisk.js'
import { callRecords, startPbx } from '../../../fixtures/sip/asterisk-pbx.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'

/*
 * Transfers whose both legs are calls of Asterisk: it is the carrier of the number and has caller and person behind it. The
 * caller presses 5 every second; a person who reads that key is connected to the caller. Other callers and
 * persons hum, and Asterisk records the audio that each of them hears.
 */

const NUMBER = '+911171367000'
/** A carrier whose numbers use the trunk: transfers over a trunk of the organization always consult. */
const CARRIER_NAME = 'vobiz'
const CARRIER = '127.0.0.2'
const MORNING = Date.parse('2026-03-02T05:30:00Z')
const FUNDS_PAISE = 1_000_000

/** Frequencies of the caller, of the person before the key, and of the person after it. No note of the music is near them. */
const HUMS = { caller: 1520, deciding: 855, decided: 1140 } as const
type Hum = keyof typeof HUMS
const hum = (name: Hum) => `Playtones(${HUMS[name]})`
/** Records the audio that the telephone of this number hears; a second file tells that the first is whole. */
const HEARD = `\${ASTSPOOLDIR}/heard-\${EXTEN}`
const RECORD = `MixMonitor(\${ASTSPOOLDIR}/all-\${EXTEN}.wav,r(${HEARD}.wav),touch ${HEARD}.done)`

/** Dialplan of each person, with the number of the destination. All read a key of the caller once they have one. */
const PERSONS = {
  takes: ['+919811110001', 'Answer()', 'Wait(3)', 'SendDTMF(1)', 'Read(KEY,,1,,1,15)'],
  declines: ['+919811110002', 'Answer()', 'Wait(3)', 'SendDTMF(2)', 'Wait(20)'],
  connected: ['+919811110003', 'Answer()', 'Read(KEY,,1,,1,15)'],
  stays: ['+919811110004', 'Answer()', 'Wait(60)'],
  rings: ['+919811110005', 'Ringing()', 'Wait(60)'],
  busy: ['+919811110006', 'Busy(1)'],
  leaves: ['+919811110007', 'Answer()', 'Wait(2)', 'Hangup()'],
  helps: ['+919811110008', 'Answer()', 'Wait(3)', 'SendDTMF(1)', 'Wait(60)'],
  hums: ['+919811110009', 'Answer()', RECORD, hum('decided'), 'Wait(8)'],
  decides: [
    ...['+919811110010', 'Answer()', RECORD, hum('deciding'), 'Wait(4)', 'StopPlaytones()'],
    ...['SendDTMF(1)', hum('decided'), 'Wait(8)'],
  ],
} as const
type Person = keyof typeof PERSONS

const installed = findAsterisk()

function network(): string {
  const persons = Object.entries(PERSONS).map(([name, [number, ...steps]]) =>
    [
      `exten => ${number},1,${steps[0]}`,
      ...steps.slice(1).map((step) => ` same => n,${step}`),
      ` same => n,Set(GLOBAL(KEY_${name})=\${KEY})`,
      ' same => n,Wait(2)',
    ].join('\n'),
  )
  return `[from-parley]
exten => _+919876[0-8]XXXXX,1,Answer()
 same => n(again),Wait(1)
 same => n,SendDTMF(5)
 same => n,Goto(again)
exten => _+9198769XXXXX,1,Answer()
 same => n,${RECORD}
 same => n,${hum('caller')}
 same => n,Wait(120)
${persons.join('\n')}
`
}

function carrierFiles(port: number, service: number) {
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
aors = parley

[parley]
type = identify
endpoint = parley
match = 127.0.0.1
`
  return { pjsip, extensions: network() }
}

interface Rig {
  readonly service: Service
  readonly carrier: Asterisk
  live(method: string, path: string, body?: Json): Promise<Json>
  /** A request of the signed-in owner. */
  session(method: string, path: string, body?: Json): Promise<Json>
  readonly destinations: ReadonlyMap<Person, string>
  readonly numberId: string
}

async function signIn({ parley }: Service): Promise<Rig['session']> {
  const { httpUrl: origin, firstStart } = parley
  const headers = { origin, 'content-type': 'application/json', connection: 'close' }
  const { email, password } = firstStart ?? {}
  const answer = await fetch(`${origin}/v1/auth/login`, {
    ...{ method: 'POST', headers, body: JSON.stringify({ email, password }) },
  })
  const cookies = answer.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  const csrf = cookies.find((pair) => pair.startsWith('svc_csrf='))?.slice('svc_csrf='.length) ?? ''
  return async (method, path, body = {}) => {
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { ...headers, cookie: cookies.join('; '), 'x-svc-csrf': csrf, 'x-svc-environment': 'live' },
      body: JSON.stringify(body),
    })
    const { data, error } = (await response.json()) as { data: Json; error?: Json }
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(error)}`)
    return data
  }
}

async function openRig(t: Test): Promise<Rig> {
  if (installed === null) throw new Error(HOW_TO_GET_ASTERISK)
  const folder = await mkdtemp(join(tmpdir(), 'parley-asterisk-transfers-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const vendor = await openFakeOpenAi()
  t.teardown(() => vendor.close())
  const port = await freeUdpPort()
  const carrier = await startPbx(installed, (own) => carrierFiles(own, port))
  t.teardown(() => carrier.close())
  const file = join(folder, 'trunks.json')
  const trunk = {
    name: 'carrier',
    carrier: CARRIER_NAME,
    gateway: { host: CARRIER, port: carrier.sipPort },
    inbound: { auth: 'ip_acl', addresses: [CARRIER] },
    maxConcurrent: 10,
    callsPerMinute: 1_000,
    numbers: [{ e164: NUMBER }],
  }
  await writeFile(file, JSON.stringify({ trunks: [trunk] }))
  const databaseUrl = `sqlite:${join(folder, 'parley.db')}`
  const clock = movedClock(MORNING)
  const service = await openService(t, {
    clock,
    agent: { ...LIVE_MODELS, callSettings: { nudges: { enabled: false } } },
    fundsPaise: FUNDS_PAISE,
    live: { callerIds: [NUMBER], purpose: 'collections' },
    env: {
      ...LIVE_MODELS_ENV,
      PARLEY_DATABASE_URL: databaseUrl,
      PARLEY_OPENAI_BASE_URL: vendor.baseUrl,
      PARLEY_TRUNKS_FILE: file,
      PARLEY_SIP_LISTEN: `udp:127.0.0.1:${port}`,
    },
  })
  const live: Rig['live'] = async (method, path, body) => {
    const answer = await service.send(method, path, body, { authorization: `Bearer ${service.keys.live}` })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body.data as Json
  }
  const destinations = new Map<Person, string>()
  for (const [key, [e164]] of Object.entries(PERSONS)) {
    const { id } = await live('POST', '/v1/transfer-destinations', { key, label: key, e164 })
    destinations.set(key as Person, String(id))
  }
  const database = openDatabase(databaseUrl, silentLog)
  const { organizationId } = await database.db
    .selectFrom('transferDestinations')
    .select('organizationId')
    .executeTakeFirstOrThrow()
  // The verification calls would add these rows.
  for (const [key, id] of destinations) {
    await database.db
      .insertInto('destinationVerifications')
      .values({
        ...{ destinationId: id, environment: 'live', organizationId, e164: PERSONS[key][0] },
        ...{ codeHash: null, codeExpiresAt: null, attemptsLeft: 0, lastCallAt: null },
        verifiedAt: clock.wall(),
      })
      .execute()
  }
  const numbers = (await live('GET', '/v1/numbers')) as unknown as Json[]
  const numberId = String(numbers.find(({ e164 }) => e164 === NUMBER)?.id)
  // Bought from a carrier, not on a trunk of the organization.
  await database.db
    .updateTable('numbers')
    .set({ provider: CARRIER_NAME, sipTrunkId: null })
    .where('id', '=', numberId)
    .execute()
  await database.close()
  const session = await signIn(service)
  await session('PATCH', '/v1/organization', { monitoring: { live: 'listen_and_takeover' } })
  return { service, carrier, live, session, destinations, numberId }
}

/** A call whose agent has greeted the caller. */
interface Begun {
  readonly id: string
  readonly caller: string
  /** Steps of its attempts. */
  steps(): readonly string[]
  until(step: string): Promise<void>
  ended(): Promise<Json>
}

let callers = 0

async function begin(rig: Rig, transfer: Json = {}, does: 'presses' | 'hums' = 'presses'): Promise<Begun> {
  const { service, live, destinations, numberId } = rig
  const agentId = await service.publishAgent({
    ...LIVE_MODELS,
    name: `Agent ${callers}`,
    callSettings: {
      nudges: { enabled: false },
      maxCallSeconds: 300,
      recordingNotice: { text: 'This call may be monitored.' },
      transfer: {
        ringTimeoutSeconds: 10,
        destinations: [...destinations.values()].map((destinationId) => ({ destinationId })),
        ...transfer,
      },
    },
  })
  const caller = `+919876${does === 'hums' ? 9 : 0}${String(++callers).padStart(5, '0')}`
  await live('PATCH', `/v1/numbers/${numberId}`, { agentId })
  const { id: callId } = await live('POST', '/v1/calls', { to: caller, numberId })
  const id = String(callId)
  await service.until(`the greeting of ${caller}`, () => service.of(id, 'turn').length > 0)
  const steps = () =>
    service.of(id, 'transfer').map(({ mode, status, outcome }) => [mode, status, outcome].join(' '))
  return {
    id,
    caller,
    steps,
    until: (step) =>
      service.until(`${step} of ${caller}: ${steps().join(', ')}`, () => steps().includes(step)),
    ended: async () => {
      await service.until(`the end of ${caller}`, () => service.of(id, 'ended').length > 0)
      let row = await live('GET', `/v1/calls/${id}`)
      for (let i = 0; i * REQUEST_MS < WAIT_LIMIT_MS && row.status !== 'ended'; i++) {
        await new Promise((resolve) => setTimeout(resolve, REQUEST_MS))
        row = await live('GET', `/v1/calls/${id}`)
      }
      return row
    },
  }
}

/** Ends the leg of a telephone number at Asterisk, as who hangs up. */
async function hangUp({ service, carrier }: Rig, number: string): Promise<void> {
  const channel = () =>
    carrier
      .command('core show channels concise')
      .split('\n')
      .find((line) => line.split('!')[2] === number)
      ?.split('!')[0]
  await service.until(`the channel of ${number}`, () => channel() !== undefined)
  carrier.command(`channel request hangup ${channel()}`)
}

const ask = ({ live, destinations }: Rig, { id }: Begun, person: Person, more: Json = {}) =>
  live('POST', `/v1/calls/${id}/transfer`, { destinationId: destinations.get(person), ...more })

/** The key that a person read; empty for one that read none. */
const keyOf = ({ carrier }: Rig, person: Person) =>
  new RegExp(`KEY_${person}=(\\S*)`).exec(carrier.command('dialplan show globals'))?.[1] ?? ''

/** The agent has its caller, who hangs up. */
async function agentIsBack(t: Test, rig: Rig, call: Begun): Promise<void> {
  t.equal(rig.service.of(call.id, 'ended').length, 0, 'the call goes on')
  await hangUp(rig, call.caller)
  t.match(await call.ended(), { endedReason: 'caller_hangup', disposition: 'answered' })
}

/** Caller and person are connected until the person has read a key of the caller and hangs up. */
async function connected(t: Test, rig: Rig, call: Begun, person: Person): Promise<void> {
  const row = await call.ended()
  t.match(row, {
    endedReason: 'transfer_completed',
    charges: [{ kind: 'agent' }, { kind: 'human', ratePaisePerMinute: 200 }],
    transfer: { status: 'completed', outcome: 'connected' },
  })
  t.equal(keyOf(rig, person), '5', 'the key of the caller reached the person')
  const [ended] = rig.service.of(call.id, 'ended')
  t.match(ended?.legs, [{ leg: 'person-1', rtp: { lost: 0 } }])
  t.ok((ended?.legs?.[0]?.rtp.packetsSent ?? 0) > 50, 'statistics of the leg of the person')
}

/** A half of a second as a telephone heard it. */
type Heard = Hum | 'silence' | 'other'

/** Returns the audio that the telephone of a number heard, in halves of a second. */
async function heardBy({ service, carrier }: Rig, number: string): Promise<readonly Heard[]> {
  const path = join(carrier.folder, `heard-${number}`)
  await service.until(`the recording of ${number}`, () => existsSync(`${path}.done`))
  await rm(`${path}.done`)
  const [pcm = new Int16Array(0)] = readWav(readFileSync(`${path}.wav`)).channels
  return Array.from({ length: Math.floor(pcm.length / 4_000) }, (_, index) => {
    const half = pcm.subarray(index * 4_000, (index + 1) * 4_000)
    const hums = (Object.keys(HUMS) as Hum[]).filter((name) => usualToneLevel(half, HUMS[name]) > 0.1)
    return hums.length > 1 ? 'other' : (hums[0] ?? (levelDbfs(half) < -60 ? 'silence' : 'other'))
  })
}

/** Caller and person hear each other from the bridge on, and neither of them before. */
async function humming(t: Test, rig: Rig, mode: 'blind' | 'screened' | 'consult'): Promise<void> {
  const blind = mode === 'blind'
  const call = await begin(rig, { blindTransfers: blind }, 'hums')
  const person = blind ? 'hums' : 'decides'
  await ask(rig, call, person, mode === 'consult' ? { handoff: 'warm' } : {})
  t.match(await call.ended(), { endedReason: 'transfer_completed', transfer: { mode, outcome: 'connected' } })
  const byCaller = await heardBy(rig, call.caller)
  const byPerson = await heardBy(rig, PERSONS[person][0])
  const course = (heard: readonly Heard[], bridged: Heard) => {
    const from = heard.indexOf(bridged)
    const after = heard.slice(from)
    return {
      before: heard.slice(0, from),
      share: after.filter((one) => one === bridged).length / after.length,
    }
  }
  const caller = course(byCaller, 'decided')
  t.ok(caller.before.includes('other'), `the agent, and the wait: ${byCaller}`)
  t.notOk(byCaller.includes('deciding') || byCaller.includes('caller'), `no decision, no echo: ${byCaller}`)
  t.ok(caller.share > 0.8, `the person for the whole bridge: ${byCaller}`)
  const heard = course(byPerson, 'caller')
  t.equal(heard.before.includes('other'), !blind, `a brief, unless blind: ${byPerson}`)
  t.ok(heard.share > 0.8, `the caller for the whole bridge, and no agent: ${byPerson}`)
  t.notOk(byPerson.includes('deciding') || byPerson.includes('decided'), `no echo: ${byPerson}`)
}

const SCENARIOS: Readonly<Record<string, (t: Test, rig: Rig) => Promise<void>>> = {
  async blind(t, rig) {
    const call = await begin(rig, { blindTransfers: true })
    await ask(rig, call, 'connected')
    await connected(t, rig, call, 'connected')
    t.same(call.steps(), [
      'blind accepted ',
      'blind answered ',
      'blind bridged connected',
      'blind completed connected',
    ])
  },
  async 'screened, accepted'(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'takes')
    await connected(t, rig, call, 'takes')
    t.same(call.steps(), [
      'screened accepted ',
      'screened answered ',
      'screened bridged connected',
      'screened completed connected',
    ])
  },
  async 'screened, declined'(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'declines')
    await call.until('screened declined declined')
    await agentIsBack(t, rig, call)
  },
  async 'consult, accepted'(t, rig) {
    const call = await begin(rig)
    rig.carrier.command('dialplan set global KEY_takes none')
    await ask(rig, call, 'takes', { handoff: 'warm' })
    await connected(t, rig, call, 'takes')
    t.ok(call.steps().includes('consult bridged connected'), call.steps().join(', '))
  },
  async 'consult, declined'(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'declines', { handoff: 'warm' })
    await call.until('consult declined declined')
    await agentIsBack(t, rig, call)
  },
  async 'no answer'(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'rings')
    await call.until('screened missed no_answer')
    await agentIsBack(t, rig, call)
  },
  async busy(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'busy')
    await call.until('screened missed busy')
    await agentIsBack(t, rig, call)
  },
  async 'the person hangs up during the brief'(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'leaves')
    await call.until('screened declined declined')
    await agentIsBack(t, rig, call)
  },
  async 'the person hangs up'(t, rig) {
    const call = await begin(rig, { blindTransfers: true })
    await ask(rig, call, 'stays')
    await call.until('blind bridged connected')
    await hangUp(rig, PERSONS.stays[0])
    t.match(await call.ended(), { endedReason: 'transfer_completed' })
  },
  async 'the caller hangs up while the telephone rings'(t, rig) {
    const call = await begin(rig)
    await ask(rig, call, 'rings')
    await call.until('screened ringing ')
    await hangUp(rig, call.caller)
    t.match(await call.ended(), {
      endedReason: 'caller_hangup',
      transfer: { status: 'canceled', outcome: 'caller_hung_up' },
    })
  },
  async 'the caller hangs up on the person'(t, rig) {
    const call = await begin(rig, { blindTransfers: true })
    await ask(rig, call, 'stays')
    await call.until('blind bridged connected')
    await hangUp(rig, call.caller)
    t.match(await call.ended(), { endedReason: 'caller_hangup', transfer: { status: 'completed' } })
    await rig.service.until(
      'the end of the leg of the person',
      () => !rig.carrier.command('core show channels concise').includes(PERSONS.stays[0]),
    )
  },
  'humming, blind': (t, rig) => humming(t, rig, 'blind'),
  'humming, screened': (t, rig) => humming(t, rig, 'screened'),
  'humming, consult': (t, rig) => humming(t, rig, 'consult'),
  async 'a takeover, and the caller is given back'(t, rig) {
    const { service, session, destinations } = rig
    const call = await begin(rig)
    const taken = () => service.of(call.id, 'monitored').map(({ status, outcome }) => `${status} ${outcome}`)
    const until = (count: number) =>
      service.until(`${count} steps: ${taken().join(', ')}`, () => taken().length === count)
    await session('POST', `/v1/calls/${call.id}/takeover`, { destinationId: destinations.get('helps') })
    await until(1)
    await session('POST', `/v1/calls/${call.id}/release`, { message: 'Offer a refund.' })
    await until(2)
    t.same(taken(), ['begun null', 'over given_back'])
    await service.until('the note', () => service.of(call.id, 'note').length === 1)
    t.match(service.of(call.id, 'note')[0]?.text, /Offer a refund\.$/)
    await agentIsBack(t, rig, call)
  },
}

const options = { skip: installed === null ? HOW_TO_GET_ASTERISK : false, timeout: 900_000 }

t.test('transfers over Asterisk', options, async (t) => {
  const rig = await openRig(t)
  for (const [name, scenario] of Object.entries(SCENARIOS)) await t.test(name, (t) => scenario(t, rig))
  // Every caller was called once.
  const records = () =>
    callRecords(rig.carrier).filter(({ destination }) => destination.startsWith('+919876'))
  await rig.service.until('the records of all callers', () => records().length >= callers)
  t.equal(records().length, callers)
  t.equal(rig.carrier.command('core show channels concise').trim(), '', 'no channel is left')
  t.match(await rig.live('GET', '/v1/wallet'), { heldPaise: 0 })
})
