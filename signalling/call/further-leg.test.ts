import t from 'tap'
import { settle } from '../../fixtures/host/settle.js'
import { PERMIT } from '../../fixtures/sip/open-gate.js'
import { silentLog } from '../../media/base/log.js'
import type { MediaPool, RemoteMedia } from '../../workers/channel/protocol.js'
import type { PeerAnswer } from '../sip/dialog-port.js'
import type { Ending } from './ending.js'
import { FurtherLeg } from './further-leg.js'
import type { Leg, LegEvents } from './leg.js'

const REMOTE: RemoteMedia = {
  address: '127.0.0.1',
  port: 4000,
  codec: 'PCMA',
  payloadType: 8,
  dtmfPayloadType: 101,
  send: true,
  receive: true,
}

/** A person of a call, dialled over a carrier that reports the answer or does not. */
async function dialled(answer: PeerAnswer, reportsAnswer = true) {
  const asked: string[] = []
  const ends: Ending[] = []
  let told: LegEvents | null = null
  const leg: Leg = {
    sipCallId: 'sip-2',
    ring() {},
    early: () => null,
    connect() {},
    async ask() {
      asked.push('ask')
      return answer
    },
    async end() {},
  }
  const pool = { request: async () => ({}) } as unknown as MediaPool
  const dialLeg = (_call: string, _clearance: unknown, events: LegEvents) => {
    told = events
    return { leg, release() {} }
  }
  const events = {
    ringing() {},
    unreported() {},
    answered() {},
    ended: (ending: Ending) => ends.push(ending),
  }
  const person = new FurtherLeg({ pool, log: silentLog, dialLeg }, 'call_1', 'person', events)
  const gateway = {
    host: '127.0.0.1',
    port: 5060,
    transport: 'udp',
    codecs: ['PCMA'],
    reportsAnswer,
  } as const
  person.open(async () => ({ permit: PERMIT, gateway }))
  await settle()
  if (told === null) throw new Error('not dialled')
  return { person, asked, ends, leg: told as LegEvents }
}

t.test('a person that is silent stays in the call as long as its telephone has it', async (t) => {
  const muted = await dialled('exists')
  muted.leg.answered(REMOTE)
  await settle()
  for (const again of [false, true, true]) {
    muted.person.mediaTimeout(again)
    await settle()
  }
  t.equal(muted.asked.length, 3)
  t.strictSame(muted.ends, [])

  await muted.leg.mediaChanged({ ...REMOTE, send: false })
  muted.person.mediaTimeout(false)
  t.equal(muted.asked.length, 3, 'who has us on hold need not send')

  const gone = await dialled('gone')
  gone.leg.answered(REMOTE)
  await settle()
  gone.person.mediaTimeout(false)
  await settle()
  t.match(gone.ends, [{ cause: 'carrier_error', note: 'media timeout' }])

  const failed = await dialled('exists')
  failed.leg.answered(REMOTE)
  await settle()
  failed.person.mediaLost()
  t.match(failed.ends, [{ cause: 'carrier_error' }])
  t.equal(failed.asked.length, 0)
})

t.test('silence alone ends a leg whose answer is never reported', async (t) => {
  const { person, leg, asked, ends } = await dialled('exists', false)
  leg.progress(183, REMOTE)
  await settle()
  person.mediaTimeout(false)
  t.equal(asked.length, 0)
  t.match(ends, [{ note: 'media timeout' }])
})
