import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { decodeG711 } from '../../../fixtures/audio/g711.js'
import { tone } from '../../../fixtures/audio/tones.js'
import { openBot } from '../../../fixtures/bots/bot.js'
import { BOT_PROTOCOLS, type BotProtocol, encodeFor } from '../../../fixtures/bots/bot-messages.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { HUMS, voicesIn } from '../../../fixtures/rigs/transfer-rig.js'
import { openRtpPeer } from '../../../fixtures/rtp/rtp-peer.js'
import { call } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { offerOf } from '../../../fixtures/sip/phone.js'
import { readSdp } from '../../../fixtures/sip/sdp.js'
import type { SipDialog } from '../../../fixtures/sip/sip-dialog.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'

/*
 * A customer's bot hands its caller to a person over the customer's own trunk, or over that of a carrier: SIP, RTP and
 * WebSocket on real sockets. Caller, bot and person hum, each on a frequency of its own (the bot on that of `second`), which
 * tells whom each of them hears.
 */

const NUMBER = '+911171366900'
const DESK = '+911171366901'
/** Level of all hums. */
const LEVEL = 0.2
/** Longer than a consultation (ms). */
const LONG_WAIT_MS = 120_000

const hum = (hertz: number) => tone(hertz, 1_000, 8_000, LEVEL)

/** The owner of the trunk. Transfers over a trunk of the customer always consult. */
type TrunkOf = 'customer' | 'carrier'
const CARRIER_NAME = 'vobiz'

async function openCalls(t: Test, wire: BotProtocol, trunkOf: TrunkOf) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-byo-transfer-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'trunks.json')
  const ringing: SipDialog[] = []
  const carrier = await openSipPeer({ onInvite: (dialog) => ringing.push(dialog) })
  t.teardown(() => carrier.close())
  const trunk = {
    name: 'carrier',
    ...(trunkOf === 'carrier' ? { carrier: CARRIER_NAME } : {}),
    gateway: { host: '127.0.0.1', port: carrier.port },
    inbound: { auth: 'ip_acl', addresses: ['127.0.0.1'] },
    maxConcurrent: 4,
    numbers: [{ e164: NUMBER }],
  }
  await writeFile(file, JSON.stringify({ trunks: [trunk] }))
  const service = await openService(t, {
    virtual: true,
    fundsPaise: 100_000,
    live: { callerIds: [NUMBER], purpose: 'transactional' },
    env: { PARLEY_TRUNKS_FILE: file, PARLEY_ALLOW_PRIVATE_URLS: 'true' },
  })
  const send = async (method: string, path: string, body?: Json): Promise<Json> => {
    const answer = await service.send(method, path, body, { authorization: `Bearer ${service.keys.live}` })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body.data as Json
  }
  const bot = await openBot(t, { clock: service.clock })
  const [number] = (await send('GET', '/v1/numbers')) as unknown as Json[]
  await send('PATCH', `/v1/numbers/${number?.id}`, {
    routingMode: 'byo_ws',
    recordCalls: true,
    mediaEndpoint: { ...wire.endpoint, url: `${bot.url}/bot` },
  })
  const destination = await send('POST', '/v1/transfer-destinations', {
    key: 'desk',
    label: 'Desk',
    e164: DESK,
  })
  const database = openDatabase(`sqlite:${join(service.dataFolder, 'parley.db')}`, silentLog)
  t.teardown(() => database.close())
  const { organizationId } = await database.db
    .selectFrom('organizations')
    .select('id as organizationId')
    .executeTakeFirstOrThrow()
  await database.db
    .insertInto('destinationVerifications')
    .values({
      ...{ destinationId: String(destination.id), environment: 'live', organizationId, e164: DESK },
      ...{
        codeHash: null,
        codeExpiresAt: null,
        attemptsLeft: 0,
        lastCallAt: null,
        verifiedAt: service.clock.wall(),
      },
    })
    .execute()
  // Bought from a carrier, not on a trunk of the customer.
  if (trunkOf === 'carrier')
    await database.db.updateTable('numbers').set({ provider: CARRIER_NAME, sipTrunkId: null }).execute()
  return { service, send, bot, ringing, carrier }
}

interface Wanted {
  readonly mode: 'blind' | 'screened' | 'consult'
  /** Fields of the frame in which the bot asks for the person. */
  readonly frame: Json
}

/** A call of a bot that has asked for the person, whose telephone rings. */
async function requested(
  t: Test,
  calls: Awaited<ReturnType<typeof openCalls>>,
  wire: BotProtocol,
  { mode, frame }: Wanted,
) {
  const { service, send, bot, ringing, carrier } = calls
  const index = ringing.length
  const { clock } = service
  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
  const caller = await call(t, { ...service, number: NUMBER }, { rtp: { background: hum(HUMS.caller) } })
  await caller.answered()
  const there = await bot.call(index)
  const steps = () => there.messagesOfType('transfer').map(({ json }) => json.transfer as Json)
  const step = (status: string) => {
    return there
      .until(status, () => steps().some((one) => one.status === status), LONG_WAIT_MS)
      .then(() => steps().find((one) => one.status === status))
  }
  // Enough for the whole call.
  const voice = tone(HUMS.second, 300_000, wire.endpoint.sampleRate, LEVEL)
  there.send(wire.play(encodeFor(wire.endpoint.format, voice)))
  await there.until('the caller', () => wire.audio(there).length > 8_000)
  there.send({ event: 'transfer', transfer: { id: 't1', destination: 'desk', ...frame } })
  t.match(await step('accepted'), { mode })
  await carrier.until(() => ringing.length > index, WAIT_LIMIT_MS, 'the call to the person')
  const dialog = ringing[index]
  if (dialog === undefined) throw new Error('nobody was called')
  dialog.ring()
  const person = await openRtpPeer({ codec: 'PCMA', clock, background: hum(HUMS.person) })
  t.teardown(() => person.close())
  const answer = async () => {
    person.start(readSdp(dialog.remoteSdp ?? ''))
    dialog.answer(offerOf(person))
    await step('answered')
  }
  /** Listens for a while, and returns what caller, person and bot hear then. */
  const hear = async () => {
    await wait(500)
    const from = [caller.rtp, person].map((rtp) => rtp.heard().pcm.length)
    const heard = wire.audio(there).length
    await wait(2_400)
    const [byCaller, byPerson] = [caller.rtp, person].map((rtp, i) => rtp.heard().pcm.subarray(from[i]))
    const byBot = decodeG711('PCMU', wire.audio(there).subarray(heard))
    return [byCaller, byPerson, byBot].map((pcm) => (pcm === undefined ? '' : voicesIn(pcm).join('+')))
  }
  /** Returns the call once its end is stored. */
  const record = async (): Promise<Json> => {
    const callId = [...new Set(service.events.map((event) => event.callId))][index]
    for (let waited = 0; waited < LONG_WAIT_MS; waited += 200) {
      const row = await send('GET', `/v1/calls/${callId}`)
      if (row.status === 'ended') return row
      await wait(200)
    }
    throw new Error('the call did not end')
  }
  return { ...calls, mode, caller, there, dialog, person, answer, steps, step, hear, record }
}

/** The person has the call, and the bot was told each step once. */
async function taken(t: Test, call: Awaited<ReturnType<typeof requested>>): Promise<void> {
  const { mode, there, steps, step, hear } = call
  await step('completed')
  const told = ['accepted', 'ringing', 'answered', 'completed'].map((status) => ({ id: 't1', mode, status }))
  t.match(steps(), told)
  t.equal(steps().length, told.length)
  await there.until('the end of the bot', () => there.closed !== null)
  t.same((await hear()).slice(0, 2), ['person', 'caller'])
}

/** A call over the trunk of the customer whose bot has asked for the person, whose telephone was answered. */
async function presented(t: Test, wire: BotProtocol, handoff: 'cold' | 'warm' = 'cold') {
  const calls = await openCalls(t, wire, 'customer')
  const call = await requested(t, calls, wire, { mode: 'consult', frame: { handoff } })
  await call.answer()
  return call
}

// Both speak mu-law, which the helper `hear` reads.
for (const wire of BOT_PROTOCOLS.filter(({ name }) => name === 'static mulaw 8000' || name === 'twilio')) {
  t.test(`${wire.name}: the person takes the call by a key`, { timeout: 250_000 }, async (t) => {
    const { caller, there, dialog, person, step, hear, record } = await presented(t, wire)
    t.same(await hear(), ['music', 'second', 'person'], 'bot and person talk, the caller waits')
    person.press('1')
    await step('completed')
    await there.until('the end of the bot', () => there.closed !== null)
    t.equal(there.closed?.code, 1000)
    const stop = there.messagesOfType('stop').at(-1)?.json
    if (wire.endpoint.type === 'static') t.match(stop, { stop: { reason: 'transferred' } })
    t.same((await hear()).slice(0, 2), ['person', 'caller'])
    dialog.bye()
    await caller.dialog.ended()
    t.match(await record(), {
      endedReason: 'transfer_completed',
      charges: [
        { kind: 'agent', ratePaisePerMinute: 150 },
        { kind: 'human', ratePaisePerMinute: 150 },
      ],
      transfer: { mode: 'consult', trigger: 'byo', status: 'completed', outcome: 'connected' },
    })
  })

  t.test(`${wire.name}: over a carrier, screened and then blind`, { timeout: 500_000 }, async (t) => {
    const calls = await openCalls(t, wire, 'carrier')
    const screened = await requested(t, calls, wire, {
      mode: 'screened',
      frame: { handoff: 'cold', note: 'The order is late.' },
    })
    await screened.answer()
    const waits = await screened.hear()
    // The brief is no hum, so that it reads as music.
    t.same(waits, ['music', 'music', 'nothing'], 'music, a brief, and a bot that hears neither party')
    screened.person.press('1')
    await taken(t, screened)
    screened.dialog.bye()
    await screened.caller.dialog.ended()
    const charges = [
      { kind: 'agent', ratePaisePerMinute: 200 },
      { kind: 'human', ratePaisePerMinute: 200 },
    ]
    t.match(await screened.record(), {
      ...{ endedReason: 'transfer_completed', charges },
      transfer: {
        ...{ mode: 'screened', trigger: 'byo', status: 'completed', outcome: 'connected' },
        brief: /The order is late\.$/,
      },
    })

    const blind = await requested(t, calls, wire, { mode: 'blind', frame: { blind: true } })
    const rings = await blind.hear()
    t.same(rings, ['ringback', 'nothing', 'nothing'], 'the telephone of the person rings')
    await blind.answer()
    await taken(t, blind)
    await blind.caller.hangUp()
    await blind.dialog.ended()
    t.match(await blind.record(), {
      ...{ endedReason: 'caller_hangup', charges },
      transfer: { mode: 'blind', trigger: 'byo', status: 'completed', outcome: 'connected', brief: null },
    })
  })

  if (wire.endpoint.type !== 'twilio') {
    t.test(`${wire.name}: the bot understands the person, who declines`, { timeout: 250_000 }, async (t) => {
      const { caller, there, dialog, step, hear } = await presented(t, wire, 'warm')
      t.same(await hear(), ['music', 'second', 'person'], 'bot and person talk, the caller waits')
      there.send({ event: 'transfer', transfer: { id: 't1', decision: 'decline' } })
      t.match(await step('failed'), { id: 't1', mode: 'consult', code: 'declined' })
      await dialog.ended()
      t.same((await hear())[0], 'second', 'the bot has its caller back')
      await caller.hangUp()
    })
    t.test(`${wire.name}: the bot understands the person, who accepts`, { timeout: 250_000 }, async (t) => {
      const { caller, there, dialog, step, hear } = await presented(t, wire, 'warm')
      there.send({ event: 'transfer', transfer: { id: 't1', decision: 'accept' } })
      t.match(await step('completed'), { id: 't1', mode: 'consult' })
      t.same((await hear()).slice(0, 2), ['person', 'caller'])
      caller.rtp.press('5')
      dialog.bye()
      await caller.dialog.ended()
    })
    continue
  }
  t.test(`${wire.name}: what the person says decides nothing`, { timeout: 250_000 }, async (t) => {
    const { caller, there, dialog, step, hear } = await presented(t, wire)
    // The person hums on and presses no key: only the bot listens to it.
    t.match(await step('failed'), { id: 't1', code: 'no_answer' })
    await dialog.ended()
    t.same(await hear(), ['second', 'nothing', 'caller'], 'the bot has its caller back')
    there.send({ event: 'transfer', transfer: { id: 't2', destination: '+918045000000' } })
    t.match(await step('rejected'), { id: 't2', code: 'destination_not_allowed' })
    await caller.hangUp()
  })
}
