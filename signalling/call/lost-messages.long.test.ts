import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import { startSipp } from '../../fixtures/sip/sipp.js'
import { type DatagramHandling, openUdpRelay } from '../../fixtures/sip/udp-relay.js'

/*
 * A basic call over UDP in which each message in turn is lost, repeated, or overtaken by the next one: SIPp
 * at one end, the service at the other, and a relay between them that misbehaves exactly once. RFC 3261 17
 * repairs each case within a second or two, and the call must end as usual.
 */

assertNothingLeft(t)

/** Identifies a message of the call by its first line and, for responses, its CSeq. */
interface Wanted {
  readonly what: string
  readonly start: string
  readonly method?: string
}

const m = (start: string, method?: string): Wanted => ({
  what: method === undefined ? start : `${start} (${method})`,
  start: /^\d/.test(start) ? `SIP/2.0 ${start}` : `${start} `,
  ...(method === undefined ? {} : { method }),
})

/** Returns the fate for the first message that matches, `pass` for all others. */
function once(wanted: Wanted, fate: DatagramHandling): { (text: string): DatagramHandling; met: boolean } {
  const decide = (text: string): DatagramHandling => {
    const cseq = /^CSeq: *\d+ +(\w+)/im.exec(text)?.[1]
    const meant = text.startsWith(wanted.start) && (wanted.method === undefined || cseq === wanted.method)
    if (decide.met || !meant) return 'pass'
    decide.met = true
    return fate
  }
  decide.met = false
  return decide
}

interface Case {
  readonly direction: 'in' | 'out'
  readonly scenario: string
  readonly wanted: Wanted
  readonly fate: DatagramHandling
}

const cases = (
  direction: 'in' | 'out',
  scenario: string,
  fate: DatagramHandling,
  ...wanted: readonly Wanted[]
): Case[] => wanted.map((one) => ({ direction, scenario, fate, wanted: one }))

const CALL_IN = [m('INVITE'), m('100'), m('180'), m('200', 'INVITE'), m('ACK'), m('BYE'), m('200', 'BYE')]
const CALL_OUT = [m('INVITE'), m('183'), m('200', 'INVITE'), m('ACK'), m('BYE'), m('200', 'BYE')]

/**
 * Leaves out the cases that SIPp itself does not support: a 180 after the 200, and a 487 before the 200 to
 * its CANCEL.
 */
const CASES: readonly Case[] = [
  ...cases('in', 'call-bye', 'drop', ...CALL_IN),
  ...cases('in', 'call-bye', 'twice', ...CALL_IN),
  ...cases('in', 'call-bye', 'hold', m('100'), m('ACK')),
  ...cases('in', 'call-byed', 'drop', m('BYE')),
  ...cases('in', 'cancel', 'drop', m('CANCEL'), m('487')),
  ...cases('out', 'answer-bye', 'drop', ...CALL_OUT),
  ...cases('out', 'answer-bye', 'twice', ...CALL_OUT),
  ...cases('out', 'answer-byed', 'drop', m('BYE')),
  ...cases('out', 'answer-cancelled', 'drop', m('CANCEL'), m('200', 'CANCEL'), m('487'), m('ACK')),
]

/** Long enough for a second and a third ACK. */
const TALK_MS = 2000

const FATES = { drop: 'lost', twice: 'sent twice', hold: 'overtaken', pass: '' }

for (const { direction, scenario, wanted, fate } of CASES) {
  t.test(`${scenario}: ${wanted.what} ${FATES[fate]}`, async (t) => {
    const decide = once(wanted, fate)
    const relay = await openUdpRelay(decide)
    const repaired = fate === 'drop' && (wanted.start === 'ACK ' || wanted.method === 'INVITE')
    const talkMs = repaired ? TALK_MS : 100
    const rig = await openSignallingRig()
    t.teardown(async () => {
      await rig.close()
      await relay.close()
    })
    if (scenario === 'call-byed' || scenario === 'answer-byed') {
      rig.pool.onStart = (session) => session.say({ type: 'finished', why: 'agent_hangup' })
    }
    if (direction === 'in') {
      relay.target = rig.udp
      const target = { host: '127.0.0.1', port: relay.port }
      // Media opens only after the caller has cancelled, so the call keeps ringing.
      const make = rig.pool.open.bind(rig.pool)
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      if (scenario === 'cancel') rig.pool.open = (...args) => released.then(() => make(...args))
      const sipp = await startSipp({ scenario, target, talkMs })
      await sipp.done
      release()
    } else {
      const sipp = await startSipp({ scenario, talkMs })
      relay.target = sipp.port
      rig.callManager.dial(rig.permit('call_out', '+919800000001'), {
        party: { kind: 'agent', agent: testAgent },
        gateway: { host: '127.0.0.1', port: relay.port, transport: 'udp', codecs: ['PCMA', 'PCMU'] },
        ringTimeoutMs: 5000,
        recordTo: null,
      })
      if (scenario === 'answer-cancelled') {
        await until(() => rig.types().includes('ringing'))
        rig.callManager.hangUp('call_out', 'operator')
      }
      await sipp.done
    }
    const ended = await rig.ended()
    t.ok(decide.met, 'it happened')
    t.equal(rig.types().filter((type) => type === 'ended').length, 1)
    if (scenario.endsWith('bye') && fate !== 'hold') t.ok(rig.types().includes('answered'))
    t.match(ended.ending, {
      cause: scenario.endsWith('byed')
        ? 'agent_hangup'
        : scenario === 'answer-cancelled'
          ? 'api_hangup'
          : 'caller_hangup',
      fault: 'none',
    })
    await until(() => rig.server.stats().dialogs === 0)
  })
}
